#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "probe/call_sites/call_site_namer.h"
#include "probe/stream/batch_collector.h"
#include "probe/stream/frame_writer.h"
#include "probe/stream/recorder.h"

namespace highwater::probe {

/// The thread that drains the event queues (lanes) of all threads and sends their events to the
/// host. Each round it sends definitions, then the events that use them, then heartbeats and long
/// open spans. Sync points and fallbacks are held back until their call site is symbolized.
class Sender {
 public:
  /// How often the sender works and how long it waits.
  struct Options {
    std::chrono::nanoseconds drainEvery = std::chrono::milliseconds(20);
    std::chrono::nanoseconds heartbeatEvery = std::chrono::milliseconds(200);
    /// Spans that are open for longer than this are sent with each heartbeat.
    std::chrono::nanoseconds openSpanAfter = std::chrono::milliseconds(100);
    /// How long the end of a run waits for call sites to be symbolized. Those that are not done by
    /// then are sent as unknown. Well below the time in which a worker must stop (kStopGrace in
    /// session.cpp).
    std::chrono::nanoseconds symbolizeFor = std::chrono::seconds(2);
  };

  /// Starts no thread yet. `recorder` and `writer` must outlive the sender.
  Sender(Recorder& recorder, FrameWriter& writer, Options options);
  Sender(Recorder& recorder, FrameWriter& writer) : Sender(recorder, writer, Options()) {}
  /// Calls stop().
  ~Sender();
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  /// Starts the thread.
  void start();
  /// Sends all events recorded before the call, then ends the thread. Waits up to
  /// Options::symbolizeFor for call sites. Sends nothing if the host is gone.
  void stop();

 private:
  void run();
  void sendOnce();
  void sendLast();
  /// False if the host is gone.
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
