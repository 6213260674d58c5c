#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "core/events_generated.h"
#include "probe/stream/recorder.h"
#include "probe/stream/spsc_ring.h"

namespace highwater::python {

/// The default number of host samples a second, and the most. At the default the first ones come at
/// kFirstHostSampleHz: a short run would have too few of them to name a line. See
/// kFirstHostSamples.
inline constexpr std::uint32_t kDefaultHostSampleHz = 25, kMostHostSampleHz = 200;
inline constexpr std::uint32_t kFirstHostSampleHz = 100;

/// Records which of the user's lines the thread that trains runs, while that is Python's main
/// thread. One at a time in a process.
///
/// The main thread samples itself: another one asks Python to call us there, between two bytecodes
/// (callOnMainThread()). A thread of ours that read the other's frames would do harm that this
/// cannot do: what it allocates may collect garbage, which would be destroyed on it; without a GIL
/// it may not read frames at all. Reading them without the GIL needs their layout, of each version
/// of Python, and finds them half changed.
///
/// Before Python 3.13 the main thread notices a call that another thread asks for only after it has
/// waited for the GIL. It does so at each op; where it comes to none within a millisecond, a thread
/// of ours that takes the GIL and gives it back makes it wait, after 5 ms of Python code. That
/// thread holds the GIL for a microsecond, runs nothing, and is waited for by nobody: a call into C
/// may keep the GIL, and the interpreter may end.
///
/// The price: a call into C is sampled at its end. So each moment that was asked for is recorded
/// then, with its own time. And Python looks for calls of ours at calls, at the begin of functions
/// and at the end of loops: an operator of C that takes long, such as a @ b on the CPU, has its
/// time at the next of these, mostly on the same line; before 3.13 so have the last 6 ms before an
/// op. A moment that was asked for before a copy to the device has the line of that copy; one
/// before any other wait has none.
class HostSampler {
 public:
  /// Takes up to `hz` samples a second, at least 1. `recorder` and the sampler must outlive the
  /// process's last Python code, as a call of it may come after stop(). Throws std::system_error
  /// where the system gives no thread.
  HostSampler(probe::Recorder& recorder, std::uint32_t hz);
  HostSampler(const HostSampler&) = delete;
  HostSampler& operator=(const HostSampler&) = delete;

  /// Has this moment sampled, unless the training waits for the device, an op runs on the CPU, it
  /// is paused, or nothing but steps is recorded. Takes no lock that the script may hold. Always
  /// the same thread.
  void request(std::int64_t nowNs);
  /// How many ns after a request the next one is due. Any thread.
  [[nodiscard]] std::int64_t periodNs() const;
  /// Nothing is sampled any more. Any thread; without the GIL.
  void stop();
  /// The same in a forked child, which has none of our threads.
  void forget() noexcept;

 private:
  struct Request {
    std::int64_t timeNs = 0;
    std::uint64_t blockedBefore = 0;
    std::uint32_t step = 0;
    events::Phase phase = events::Phase::None;
  };

  static int onMainThread(void*) noexcept;
  void take();
  void passWhenAsked();

  // 80 s at the default rate. What a longer call into C does is sampled in part.
  static constexpr std::size_t kMostRequests = 2048;

  probe::Recorder& recorder_;
  const std::uint32_t hz_;
  std::atomic<std::uint32_t> firstTaken_{0};  ///< of kFirstHostSamples
  probe::SpscRing<Request> requests_{kMostRequests};
  std::atomic<bool> isAsked_{false};  ///< Python is to call onMainThread()

  std::mutex mutex_;
  std::condition_variable wake_;
  bool isToPass_ = false, isStopping_ = false, hasEnded_ = false;
  std::thread passer_;  ///< calls passGil() where Python needs it
};

}  // namespace highwater::python
