#pragma once

#include <cmath>

#include "analysis/live_store.h"
#include "core/units.h"
#include "models/tuning_state.h"

namespace highwater::test {

/// A made-up run that trains at several settings, whose peaks are a fixed part, a part a token and
/// a part a token × length, and whose steps get faster a token with the batch.
class TuningRun {
 public:
  static constexpr std::int64_t kMs = 1'000'000;

  explicit TuningRun(std::uint64_t recommended = kGiB, std::uint32_t maxLength = 512) {
    Hello hello;
    hello.device.selected = "mps";
    hello.limits = {
        .recommendedBytes = recommended, .lowWatermarkRatio = 1.4, .highWatermarkRatio = 1.7};
    store_.apply(hello);
    RunDescription run;
    run.parameters = 1000;
    run.dtype = "float32";
    run.maxBatchSize = 1024;
    run.maxSequenceLength = maxLength;
    store_.apply(run);
  }

  /// Trains `count` steps at a setting, after the cache was emptied.
  TuningRun& steps(std::uint32_t batch, std::uint32_t length, int count = 6) {
    mark(events::MarkerKind::CacheEmptied, 0);
    const double tokens = double(batch) * length;
    const double current = 50.0 * kMiB + tokens * 24.0 * kKiB + tokens * length * 48.0;
    const auto peak = static_cast<std::uint64_t>(current);
    const std::uint64_t driver = (peak / (8 * kMiB) + 2) * 8 * kMiB;
    std::vector<events::StepRecord> records;
    for (int i = 0; i < count; ++i) {
      ++step_;
      const auto took = static_cast<std::int64_t>((4 + tokens / 400) * (1 + 0.05 * (i % 3)) * kMs);
      records.emplace_back(nowNs_, took, peak, driver, -1, step_, batch, length,
                           static_cast<std::uint32_t>(tokens), 0, 0, 1);
      nowNs_ += took + kMs / 10;
    }
    EventBatch events;
    events.steps = records;
    events.completeUpToNs = nowNs_;
    store_.apply(events);
    return *this;
  }

  /// Runs out of memory at a batch size.
  TuningRun& outOfMemory(std::uint32_t batch) {
    mark(events::MarkerKind::BatchSize, batch);
    mark(events::MarkerKind::OutOfMemory, 0);
    return *this;
  }

  /// A note, such as one of a sweep.
  TuningRun& note(const std::string& text) {
    store_.apply(Note{nowNs_, step_, text});
    return *this;
  }

  [[nodiscard]] analysis::LiveStore& store() { return store_; }

 private:
  void mark(events::MarkerKind kind, double after) {
    nowNs_ += kMs / 10;
    const std::vector<events::Marker> markers{{nowNs_, 0, after, step_ + 1, kNoId, kind}};
    EventBatch events;
    events.markers = markers;
    events.completeUpToNs = ++nowNs_;
    store_.apply(events);
  }

  analysis::LiveStore store_;
  std::int64_t nowNs_ = kMs;
  std::uint32_t step_ = 0;
};

}  // namespace highwater::test
