#pragma once

#include <string_view>

#include "probe/recorder.h"

namespace highwater::probe {

/// Work beside the steps whose waits for the device are meant, as an evaluation's: they are
/// recorded as deliberate. Its name is on the stack of open spans, so that a hang in it is seen.
class DeliberateScope {
 public:
  DeliberateScope(Recorder& recorder, std::string_view name) : recorder_(recorder) {
    const NameId id = recorder_.names().intern(name).id;
    recorder_.lane().openSpans().push(recorder_.now(), id);
    recorder_.setDeliberate(true);
  }
  ~DeliberateScope() {
    recorder_.setDeliberate(false);
    recorder_.lane().openSpans().pop();
  }
  DeliberateScope(const DeliberateScope&) = delete;
  DeliberateScope& operator=(const DeliberateScope&) = delete;

 private:
  Recorder& recorder_;
};

}  // namespace highwater::probe
