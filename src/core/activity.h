#pragma once

namespace highwater {

/// Asks the system not to slow this process down and not to fall asleep, as long as the object
/// lives: a run goes on while nobody touches the machine, and a window behind others still receives
/// it. Does nothing where the system refuses or, as Linux, needs no such request. The display may
/// sleep. Begin and end it on any thread.
///
/// macOS: an activity of NSProcessInfo with NSActivityUserInitiated, which keeps App Nap away and
/// includes NSActivityIdleSystemSleepDisabled. It is not NSActivityLatencyCritical: that is for
/// audio and video, and keeps processors awake, which would change the temperatures and the times
/// that are measured; nothing in a run waits for a timer of Highwater's, and samples have times.
class Activity {
 public:
  /// Begins it. `reason` is what `pmset -g assertions` shows, in a few words; UTF-8.
  explicit Activity(const char* reason);
  /// Ends it.
  ~Activity();
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  /// Whether the system has accepted the request.
  [[nodiscard]] bool held() const { return token_ != nullptr; }

 private:
  void* token_ = nullptr;
};

}  // namespace highwater
