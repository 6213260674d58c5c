#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>

#include "core/messages.h"
#include "probe/call_sites/call_sites.h"

namespace highwater::probe {

/// Symbolizes the call sites of a CallSites on a low-priority thread of its own: finds the
/// function, file and line of their addresses. The first symbolization of a process takes hundreds
/// of milliseconds, so the sender thread must not wait for it. All methods are for the sender
/// thread.
class CallSiteNamer {
 public:
  /// Starts no thread yet. `sites` must outlive the namer.
  explicit CallSiteNamer(CallSites& sites) : sites_(sites) {}
  /// Blocks until the symbolization in progress has ended.
  ~CallSiteNamer() { endThread(); }
  CallSiteNamer(const CallSiteNamer&) = delete;
  CallSiteNamer& operator=(const CallSiteNamer&) = delete;

  /// Queues new call sites for symbolization. The first one starts the thread.
  void lookUpNew();
  /// Returns true while a queued call site is not symbolized yet.
  [[nodiscard]] bool isBusy();
  /// Appends symbolized call sites to `out`, a parent before its children: as many as fit into
  /// `maxBytes` of a frame, but at least one. Returns true where some are left for the next call.
  bool takeReady(Definitions& out, std::size_t maxBytes);
  /// Ends the thread after the symbolization in progress. Call sites that are not symbolized by
  /// then, and all later ones, are defined as unknown places, without function, file or line.
  void finish();

 private:
  void run();
  void lookUpAll(std::unique_lock<std::mutex>& lock);
  /// False where the system gives no thread.
  [[nodiscard]] bool startThread();
  /// Defines all call sites that wait, and all later ones, as unknown. With `mutex_` held.
  void giveNoNames();
  void endThread();

  CallSites& sites_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<CallSiteDefinition> ready_;
  bool busy_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace highwater::probe
