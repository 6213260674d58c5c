#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "probe/batch_collector.h"
#include "probe/call_site_namer.h"
#include "probe/frame_writer.h"
#include "probe/recorder.h"

namespace highwater::probe {

/// The thread that drains every lane and sends what it finds: definitions before their first use,
/// then the events, a heartbeat several times a second, and what is open for too long. Waits and
/// fallbacks whose call site is still being looked up leave once it is known.
class Sender {
 public:
  struct Options {
    std::chrono::nanoseconds drainEvery = std::chrono::milliseconds(20);
    std::chrono::nanoseconds heartbeatEvery = std::chrono::milliseconds(200);
    /// A span older than this is published while it is open, as often as a heartbeat.
    std::chrono::nanoseconds openSpanAfter = std::chrono::milliseconds(100);
    /// At the end of a run, how long the call sites that are not known yet are waited for, and then
    /// for the one that is being looked up; the others are sent as unknown. Well under the time
    /// that the session gives a worker to stop (session.cpp, kStopGrace).
    std::chrono::nanoseconds lookUpFor = std::chrono::seconds(2);
  };

  Sender(Recorder& recorder, FrameWriter& writer, Options options);
  Sender(Recorder& recorder, FrameWriter& writer) : Sender(recorder, writer, Options()) {}
  ~Sender();
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  void start();
  /// Sends what is left, then ends the thread. Everything recorded before the call has been sent
  /// when it returns, unless the host is gone.
  void stop();

 private:
  void run();
  void sendOnce();
  void sendLast();
  /// False where the host is gone.
  [[nodiscard]] bool sendDefinitions();
  [[nodiscard]] std::int64_t drainLanes();
  void collectDrops(ThreadLane& lane);
  void collectOpenSpans(const ThreadLane& lane, std::int64_t nowNs);

  Recorder& recorder_;
  FrameWriter& writer_;
  Options options_;
  BatchCollector collector_;
  CallSiteNamer callSites_;
  std::vector<bool> sentCallSites_;
  std::int64_t completeUpToNs_ = 0;
  std::int64_t lastHeartbeatNs_ = INT64_MIN / 2;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace highwater::probe
