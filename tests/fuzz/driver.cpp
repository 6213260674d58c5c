// Runs a fuzz target without libFuzzer, for compilers that have none: each input is one of the
// seeds, or one made before, with some changes. It knows nothing of coverage. It takes libFuzzer's
// options and folders. usage: fuzz_NAME [-runs=N] [-max_total_time=SECONDS] [-seed=N] FOLDER...

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz_target.h"
#include "stream_mutator.h"

/// Of the sanitizers' runtime (sanitizer/common_interface_defs.h); absent in a build without them.
extern "C" [[gnu::weak]] void __sanitizer_set_death_callback(void (*callback)());

namespace {

using highwater::fuzz::Bytes;

// As libFuzzer's -max_len for these seeds.
constexpr std::size_t kMostBytes = 1 << 20;

Bytes current;

/// Called where a sanitizer ends the program.
void keepCurrent() {
  constexpr const char* kName = "crash-input";
  std::ofstream(kName, std::ios::binary)
      .write(reinterpret_cast<const char*>(current.data()),
             static_cast<std::streamsize>(current.size()));
  std::fprintf(stderr, "the input is in %s; run the program with it as its argument\n", kName);
}

/// One input may not take longer, in seconds.
constexpr unsigned kMostSeconds = 30;

extern "C" void tookTooLong(int) {
  keepCurrent();
  std::_Exit(1);
}

std::vector<Bytes> readAll(const std::vector<std::filesystem::path>& paths) {
  std::vector<Bytes> all;
  const auto read = [&all](const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    all.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  };
  for (const auto& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      read(path);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(path)) read(entry.path());
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t runs = ~0ULL, seed = 1;
  double seconds = 1e9;
  std::vector<std::filesystem::path> paths;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto value = [&](std::string_view name) {
      return argument.starts_with(name) ? argv[i] + name.size() : nullptr;
    };
    if (const char* n = value("-runs=")) {
      runs = std::strtoull(n, nullptr, 10);
    } else if (const char* s = value("-max_total_time=")) {
      seconds = std::strtod(s, nullptr);
    } else if (const char* r = value("-seed=")) {
      seed = std::strtoull(r, nullptr, 10);
    } else if (!argument.starts_with('-')) {
      paths.emplace_back(argument);
    }
  }
  std::vector<Bytes> corpus = readAll(paths);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: no seeds; name their folder\n", argv[0]);
    return 2;
  }
  std::signal(SIGALRM, &tookTooLong);
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(&keepCurrent);
  for (const Bytes& each : corpus) {
    current = each;
    LLVMFuzzerTestOneInput(current.data(), current.size());
  }
  const std::size_t seeds = corpus.size();
  std::mt19937_64 random(seed);
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t done = 0;
  for (; done < runs; ++done) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    if (passed.count() > seconds) break;
    current = corpus[random() % corpus.size()];
    highwater::fuzz::mutateStream(current, corpus[random() % corpus.size()], kMostBytes, random);
    ::alarm(kMostSeconds);
    LLVMFuzzerTestOneInput(current.data(), current.size());
    // Some changed inputs are changed further.
    if (random() % 64 != 0) continue;
    if (corpus.size() < 4 * seeds) {
      corpus.push_back(current);
    } else {
      corpus[seeds + random() % (corpus.size() - seeds)] = current;
    }
  }
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  std::printf("%llu runs in %.0f s from %zu seeds, none failed\n",
              static_cast<unsigned long long>(done), passed.count(), seeds);
  return 0;
}
