#pragma once

#include <string_view>

#include "probe/stream/recorder.h"

namespace highwater::probe {

/// Marks work between steps whose waits are intended, such as an evaluation, from construction to
/// destruction: waits in it are recorded as deliberate. Pushes an open span, so that a hang in it
/// is visible. Training thread only.
class DeliberateScope {
 public:
  /// Opens the scope under `name`, which its open span shows. `recorder` must outlive it.
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
