#pragma once

#include "probe/observer/watched_thread.h"
#include "probe/stream/recorder.h"

namespace highwater::probe {

/// Records a NamedSpan of the calling thread, from construction to destruction: an evaluation, or a
/// phase that a script names itself. At the probe level off it records nothing. The ops of the
/// thread are watched (WatchedThread).
class NamedScope {
 public:
  /// Begins the span `name`, or goes on with it after an interruption if `continued`. `recorder`
  /// must outlive the scope.
  NamedScope(Recorder& recorder, NameId name, bool continued = false)
      : recorder_(recorder),
        watched_(recorder),
        name_(name),
        continued_(continued),
        recorded_(recorder.level() != events::ProbeLevel::Off),
        beginNs_(recorder.now()) {
    recorder_.lane().openSpans().push(beginNs_, name_);
  }
  ~NamedScope() {
    recorder_.lane().openSpans().pop();
    if (!recorded_) return;
    recorder_.record([this](std::int64_t nowNs) {
      return events::NamedSpan(beginNs_, Recorder::lengthNs(beginNs_, nowNs), recorder_.step(),
                               name_, recorder_.lane().id(), static_cast<std::uint8_t>(continued_));
    });
  }
  NamedScope(const NamedScope&) = delete;
  NamedScope& operator=(const NamedScope&) = delete;

 private:
  Recorder& recorder_;
  WatchedThread watched_;
  NameId name_;
  bool continued_;
  bool recorded_;
  std::int64_t beginNs_;
};

}  // namespace highwater::probe
