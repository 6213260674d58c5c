// Writes streams of frames for a fuzzer to begin with: pieces of made-up runs, and of recordings.
// usage: fuzz_seeds FOLDER [RECORDING...]

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <variant>
#include <vector>

#include "store/recording_reader.h"
#include "stream_mutator.h"
#include "support/sample_run.h"
#include "wire/codec.h"

using namespace highwater;
using fuzz::Bytes;

namespace {

// Small inputs are changed where it matters, and are run fast.
constexpr std::size_t kMostBytes = 48 << 10;
constexpr std::size_t kPieces = 12;

struct Stream {
  Bytes head;  ///< what the events need: Hello, description, definitions
  std::vector<Bytes> rest;
};

void add(Stream& stream, std::span<const std::uint8_t> frame, const Message& message) {
  const bool isHead = std::holds_alternative<Hello>(message) ||
                      std::holds_alternative<RunDescription>(message) ||
                      std::holds_alternative<Definitions>(message);
  if (isHead) {
    stream.head.insert(stream.head.end(), frame.begin(), frame.end());
  } else {
    stream.rest.emplace_back(frame.begin(), frame.end());
  }
}

/// Pieces spread over the run, each with the head and its last frame: how it ended.
void write(const Stream& stream, const std::filesystem::path& folder, const std::string& name) {
  const std::size_t every = std::max<std::size_t>(stream.rest.size() / kPieces, 1);
  for (std::size_t first = 0, piece = 0; first < stream.rest.size(); first += every, ++piece) {
    Bytes bytes = stream.head;
    for (std::size_t i = first; i < stream.rest.size(); ++i) {
      if (i != first && bytes.size() + stream.rest[i].size() > kMostBytes) break;
      bytes.insert(bytes.end(), stream.rest[i].begin(), stream.rest[i].end());
    }
    const Bytes& last = stream.rest.back();
    bytes.insert(bytes.end(), last.begin(), last.end());
    std::ofstream(folder / (name + "-" + std::to_string(piece)), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
}

Stream madeUp(const test::SampleRunOptions& options) {
  Stream stream;
  test::forEachMessage(test::makeSampleRun(options), [&stream](const Message& message) {
    add(stream, wire::encode(message), message);
    const auto* batch = std::get_if<EventBatch>(&message);
    if (!batch) return;
    const events::HostSample sample(batch->completeUpToNs, 1, kNoId, 0, events::Phase::None);
    EventBatch sampled;
    sampled.completeUpToNs = batch->completeUpToNs;
    sampled.hostSamples = {&sample, 1};
    const events::OpWork work(batch->completeUpToNs, 1, 1, 1, 1, kNoId, kNoId, kNoId, kNoId,
                              events::Phase::None, 0);
    sampled.opWork = {&work, 1};
    add(stream, wire::encode(sampled), sampled);
  });
  return stream;
}

Result<Stream> recorded(const std::filesystem::path& path) {
  const auto reader = store::RecordingReader::open(path);
  if (!reader) return reader.error();
  Stream stream;
  const auto read =
      reader->forEachFrame([&stream](std::span<const std::uint8_t> frame) -> Result<void> {
        const auto message = wire::decode(frame);
        if (!message) return message.error();
        add(stream, frame, *message);
        return {};
      });
  if (!read) return read.error();
  return stream;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: fuzz_seeds FOLDER [RECORDING...]\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  write(madeUp({.steps = 20}), folder, "plain");
  write(madeUp({.steps = 20, .doubleBatchAtStep = 5, .gpuPercent = 40, .opsFromStep = 3}), folder,
        "ops");
  for (int i = 2; i < argc; ++i) {
    const auto stream = recorded(argv[i]);
    if (!stream) {
      std::fprintf(stderr, "fuzz_seeds: %s: %s\n", argv[i], stream.error().message.c_str());
      return 1;
    }
    write(*stream, folder, std::filesystem::path(argv[i]).filename().string());
  }
  return 0;
}
