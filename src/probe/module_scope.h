#pragma once

#include <string_view>

#include "probe/recorder.h"

namespace highwater::probe {

/// One module of the model while it runs, by the name that its parent gave it: what happens in here
/// on this thread, and the nodes of backward that it makes, belong to it. Nothing where nobody
/// observes. The observer must not be exchanged for another while a scope is open.
class ModuleScope {
 public:
  explicit ModuleScope(std::string_view name) : ModuleScope(Recorder::active(), name) {}
  /// `recorder` may be nullptr.
  ModuleScope(Recorder* recorder, std::string_view name) {
    if (!recorder) return;
    stack_ = &recorder->lane().modules();
    stack_->enter(recorder->modules(), name);
  }
  ~ModuleScope() {
    if (stack_) stack_->leave();
  }
  ModuleScope(const ModuleScope&) = delete;
  ModuleScope& operator=(const ModuleScope&) = delete;

 private:
  ModuleStack* stack_ = nullptr;
};

}  // namespace highwater::probe
