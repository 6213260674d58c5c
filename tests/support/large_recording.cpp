#include "support/large_recording.h"

#include <algorithm>
#include <array>
#include <random>

#include "store/recording_writer.h"
#include "support/sample_run.h"
#include "wire/codec.h"

namespace highwater::test {
namespace {

constexpr std::array kPhases = {events::Phase::BatchAssembly, events::Phase::DeviceMove,
                                events::Phase::Forward, events::Phase::Backward,
                                events::Phase::OptimizerStep};
/// Nothing may be lost where the disk is slower than this.
constexpr std::size_t kMostQueued = std::size_t{8} << 30;
constexpr std::uint64_t kSamplesAFrame = 50'000;
constexpr std::array kOps = {kLinear, kMm, kCopy};

void addStep(OwnedBatch& batch, std::uint32_t step, const LargeRecordingOptions& options,
             std::mt19937_64& random) {
  const std::int64_t begin = (step - 1) * options.stepNs;
  const std::int64_t phaseNs = options.stepNs / static_cast<std::int64_t>(kPhases.size());
  for (std::size_t i = 0; i < kPhases.size(); ++i) {
    batch.phases.emplace_back(begin + static_cast<std::int64_t>(i) * phaseNs, phaseNs, step,
                              kTrainingThread, kPhases[i]);
  }
  const std::int64_t sampleNs = options.stepNs / std::max(options.samplesAStep, 1U);
  for (std::uint32_t i = 0; i < options.samplesAStep; ++i) {
    const std::uint64_t current = (1ULL << 30) + random() % (1ULL << 29);
    batch.memorySamples.emplace_back(begin + i * sampleNs, current, 2ULL << 30, 8ULL << 30,
                                     events::SampleOrigin::Timer);
  }
  const std::int64_t opNs = options.stepNs / std::max(options.opsAStep, 1U);
  for (std::uint32_t i = 0; i < options.opsAStep; ++i) {
    const std::int64_t offset = static_cast<std::int64_t>(random() % (opNs / 2 + 1));
    const std::int64_t length = static_cast<std::int64_t>(random() % (opNs / 2 + 1)) + 1;
    const std::int64_t at = begin + i * opNs + offset;
    const auto phase = static_cast<std::size_t>((at - begin) / phaseNs);
    batch.ops.emplace_back(at, length, static_cast<std::int64_t>(random() % (1ULL << 30)),
                           random() % 4096, step, kOps[random() % kOps.size()], kLayer1, kShapes,
                           kTrainingThread, static_cast<std::uint16_t>(0),
                           kPhases[std::min(phase, kPhases.size() - 1)],
                           static_cast<std::uint8_t>(0));
  }
  batch.steps.emplace_back(begin, options.stepNs, 3ULL << 29, 2ULL << 30, options.stepNs / 2, step,
                           16U, 64U, 1024U, 0.5F, static_cast<std::uint8_t>(0),
                           static_cast<std::uint8_t>(0));
  batch.completeUpToNs = begin + options.stepNs;
}

/// Writes what a sample run says of itself before its first event, then the batches that
/// `addBatches` puts, and an end.
template <typename F>
Result<void> writeBatches(const std::filesystem::path& path, F&& addBatches) {
  auto writer = store::RecordingWriter::create(path, {.maxQueuedBytes = kMostQueued});
  if (!writer) return writer.error();
  const auto put = [&](const Message& message) {
    const wire::FrameBytes frame = wire::encode(message);
    (*writer)->take(frame, message);
  };
  forEachMessage(makeSampleRun({.steps = 1}), [&](const Message& message) {
    if (std::holds_alternative<Hello>(message) || std::holds_alternative<RunDescription>(message) ||
        std::holds_alternative<Definitions>(message)) {
      put(message);
    }
  });
  addBatches(put);
  put(Goodbye{});
  RunEnd end;
  end.reason = RunEnd::Reason::kFinished;
  put(end);
  return (*writer)->close();
}

}  // namespace

Result<void> writeLargeRecording(const std::filesystem::path& path,
                                 const LargeRecordingOptions& options) {
  return writeBatches(path, [&options](const auto& put) {
    std::mt19937_64 random(options.steps);
    for (std::uint32_t step = 1; step <= options.steps; ++step) {
      OwnedBatch batch;
      addStep(batch, step, options, random);
      put(batch.view());
    }
  });
}

Result<void> writeEqualSamples(const std::filesystem::path& path, std::uint64_t count) {
  return writeBatches(path, [count](const auto& put) {
    OwnedBatch batch;
    batch.completeUpToNs = 1;
    for (std::uint64_t left = count; left > 0; left -= batch.memorySamples.size()) {
      batch.memorySamples.resize(
          std::min(left, kSamplesAFrame),
          {1, 1ULL << 30, 2ULL << 30, 8ULL << 30, events::SampleOrigin::Timer});
      put(batch.view());
    }
  });
}

}  // namespace highwater::test
