#pragma once

#include <string_view>

#include "probe/stream/recorder.h"

namespace highwater::probe {

/// Marks a module of the model as running on this thread, under the name that its parent gave it.
/// Ops in the scope, and the backward nodes they create, belong to the module. Does nothing without
/// an active recorder. No other observer may be installed while a scope is open.
class ModuleScope {
 public:
  /// Enters the module `name` with the active recorder, if there is one.
  explicit ModuleScope(std::string_view name) : ModuleScope(Recorder::active(), name) {}
  /// Enters the module `name` with `recorder`; does nothing where that is nullptr.
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
