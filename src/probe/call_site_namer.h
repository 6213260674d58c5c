#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>

#include "core/messages.h"
#include "probe/call_sites.h"

namespace highwater::probe {

/// Looks up what call sites are called, on a thread of its own and of low priority: the first place
/// of a process costs hundreds of milliseconds, which whoever sends samples cannot wait.
class CallSiteNamer {
 public:
  explicit CallSiteNamer(CallSites& sites) : sites_(sites) {}
  /// Waits for the place that is being looked up.
  ~CallSiteNamer() { endThread(); }
  CallSiteNamer(const CallSiteNamer&) = delete;
  CallSiteNamer& operator=(const CallSiteNamer&) = delete;

  /// Sees to it that the new call sites are looked up. The first one starts the thread.
  void lookUpNew();
  /// Whether some of those are not ready yet.
  [[nodiscard]] bool isBusy();
  /// Moves what is ready to the end of `out`, a parent before its child: as many as fit into
  /// `maxBytes` of a frame, but at least one. True where some are left for the next call.
  bool takeReady(Definitions& out, std::size_t maxBytes);
  /// Ends the thread with the place that it is at. Whatever is new from then on is ready at once,
  /// as an unknown place.
  void finish();

 private:
  void run();
  void lookUpAll(std::unique_lock<std::mutex>& lock);
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
