#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "core/clock.h"
#include "probe/readings/device_counters.h"
#include "probe/readings/peak_meter.h"
#include "probe/readings/system_readings.h"
#include "probe/stream/recorder.h"

namespace highwater::probe {

/// Computes deadlines on a fixed time grid, so that a late wake-up does not shift later ones.
class DeadlineGrid {
 public:
  /// Makes a grid whose first deadline is `startNs`; the others follow every `periodNs`.
  DeadlineGrid(std::int64_t startNs, std::int64_t periodNs)
      : nextNs_(startNs), periodNs_(periodNs) {}

  /// The next deadline, in nanoseconds.
  [[nodiscard]] std::int64_t nextNs() const { return nextNs_; }
  /// Advances to the first deadline after `nowNs`; returns how many deadlines were skipped.
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

/// Runs work at deadlines on the calling thread, until another thread ends it.
class WakeUps {
 public:
  /// Calls work(nowNs) at the deadline `firstNs` and then at each deadline that work returns, in
  /// nanoseconds since the epoch of `clock`. Returns once end() was called, also if that was before
  /// run().
  template <typename F>
  void run(const RunClock& clock, std::int64_t firstNs, F&& work) {
    std::int64_t nextNs = firstNs;
    while (sleepUntil(clock.monotonicEpochNs + nextNs)) {
      nextNs = work(monotonicNs() - clock.monotonicEpochNs);
    }
  }
  /// Makes run() return. Any thread.
  void end();

 private:
  /// False once end() was called.
  [[nodiscard]] bool sleepUntil(std::int64_t monotonicNs);

  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
};

/// The default sampling rate of the memory counters, in samples a second.
inline constexpr std::uint32_t kDefaultSamplingHz = 50;
/// The highest sampling rate of the memory counters, in samples a second.
inline constexpr std::uint32_t kMaxSamplingHz = 1000;
/// The highest sampling rate of the operating system's readings, in samples a second, and that of
/// the first kShortRunNs: a run that is over so soon would have too few of them to show growth.
inline constexpr std::uint32_t kMaxSystemHz = 10;
inline constexpr std::uint32_t kMaxSystemHzAtFirst = 30;
inline constexpr std::int64_t kShortRunNs = 10'000'000'000;

/// Reads the memory counters of `source`, records them as a MemorySample and updates the recorder's
/// peaks. `origin` says what caused the sample. Records nothing where reading fails. Any thread;
/// with `risenPeak` only the one that trains. A peak that has risen is a sample of its own before.
void recordMemorySample(Recorder& recorder, CounterSource& source, events::SampleOrigin origin,
                        RisenPeak* risenPeak = nullptr);

/// Records samples of the memory counters and, at kMaxSystemHzAtFirst and kMaxSystemHz at most, of
/// the operating system's readings, on a thread of its own.
class Sampler {
 public:
  /// Starts no thread yet. `recorder` and `counters` must outlive the sampler. `counters` may be
  /// nullptr: only the system is sampled then. `hz` is clamped to 1..kMaxSamplingHz.
  Sampler(Recorder& recorder, CounterSource* counters, std::uint32_t hz,
          std::unique_ptr<SystemReader> system = makeSystemReader());
  /// Calls stop().
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  /// Work that is called at the time `nowNs`, and returns how many ns after that it is called next,
  /// at least 1.
  using OtherWork = std::function<std::int64_t(std::int64_t nowNs)>;
  /// Has `work` called on the sampler's thread too. Call before start(). What it uses must outlive
  /// stop().
  void alsoCall(OtherWork work);
  /// Starts the thread; the deadlines count from now.
  void start();
  /// Records a last sample and ends the thread; does nothing if it is not running.
  void stop();

 private:
  void run(std::int64_t startNs);
  void recordSystemSample();

  Recorder& recorder_;
  CounterSource* counters_;
  std::uint32_t hz_;
  std::unique_ptr<SystemReader> system_;
  OtherWork otherWork_;

  WakeUps wakeUps_;
  std::thread thread_;
};

}  // namespace highwater::probe
