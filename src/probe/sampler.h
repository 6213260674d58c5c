#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "core/clock.h"
#include "probe/device_counters.h"
#include "probe/recorder.h"
#include "probe/system_readings.h"

namespace highwater::probe {

/// Deadlines on a fixed grid: a late wake-up moves none of those that follow.
class DeadlineGrid {
 public:
  DeadlineGrid(std::int64_t startNs, std::int64_t periodNs)
      : nextNs_(startNs), periodNs_(periodNs) {}

  [[nodiscard]] std::int64_t nextNs() const { return nextNs_; }
  /// Moves on to the first deadline after `nowNs`; returns how many were missed in between.
  std::int64_t advance(std::int64_t nowNs) {
    if (nowNs < nextNs_) return 0;
    const std::int64_t passed = (nowNs - nextNs_) / periodNs_ + 1;
    nextNs_ += passed * periodNs_;
    return passed - 1;
  }

 private:
  std::int64_t nextNs_;
  std::int64_t periodNs_;
};

/// What a thread sleeps in between its deadlines, and is ended by.
class WakeUps {
 public:
  /// Calls work(nowNs) at each deadline, in ns of `clock`; work returns the next one. Returns where
  /// end() was called, before or since.
  template <typename F>
  void run(const RunClock& clock, std::int64_t firstNs, F&& work) {
    std::int64_t nextNs = firstNs;
    while (sleepUntil(clock.monotonicEpochNs + nextNs)) {
      nextNs = work(monotonicNs() - clock.monotonicEpochNs);
    }
  }
  /// Any thread.
  void end();

 private:
  /// False where it is to end.
  [[nodiscard]] bool sleepUntil(std::int64_t monotonicNs);

  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
};

inline constexpr std::uint32_t kDefaultSamplingHz = 50;
inline constexpr std::uint32_t kMaxSamplingHz = 1000;
inline constexpr std::uint32_t kMaxSystemHz = 10;

/// Reads `source`, records the sample and notes its peaks. Nothing where there are no counters.
void recordMemorySample(Recorder& recorder, CounterSource& source, events::SampleOrigin origin);

/// The thread that samples the counters, and the system's readings more slowly.
class Sampler {
 public:
  /// `counters` may be nullptr: then only the system is read. `hz` in 1..kMaxSamplingHz.
  Sampler(Recorder& recorder, CounterSource* counters, std::uint32_t hz,
          std::unique_ptr<SystemReader> system = makeSystemReader());
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  /// The deadlines count from now.
  void start();
  void stop();

 private:
  void run(std::int64_t startNs);
  void recordSystemSample();

  Recorder& recorder_;
  CounterSource* counters_;
  std::uint32_t hz_;
  std::unique_ptr<SystemReader> system_;

  WakeUps wakeUps_;
  std::thread thread_;
};

}  // namespace highwater::probe
