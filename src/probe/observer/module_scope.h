#pragma once

#include <optional>
#include <string_view>

#include "probe/observer/watched_thread.h"
#include "probe/stream/recorder.h"

namespace highwater::probe {

/// Marks a module of the model as running on this thread, under the name that its parent gave it.
/// Ops in the scope, and the backward nodes they create, belong to the module. The ops of the
/// thread are watched (WatchedThread). Does nothing without an active recorder. No other observer
/// may be installed while a scope is open.
class ModuleScope {
 public:
  /// Enters the module `name` with the active recorder, if there is one.
  explicit ModuleScope(std::string_view name) : ModuleScope(Recorder::active(), name) {}
  /// Enters the module `name` with `recorder`; does nothing where that is nullptr.
  ModuleScope(Recorder* recorder, std::string_view name) : recorder_(recorder) {
    if (!recorder) return;
    watched_.emplace(*recorder);
    const AutogradPlace place = recorder->autograd().place();
    // In a node of backward, as when a checkpoint computes again, the node's module is around it.
    recorder->lane().modules().enter(recorder->modules(), recorder->currentModule(place.node), name,
                                     place.node);
    noteBorder(place);
  }
  ~ModuleScope() {
    if (!recorder_) return;
    recorder_->lane().modules().leave();
    noteBorder(recorder_->autograd().place());
  }
  ModuleScope(const ModuleScope&) = delete;
  ModuleScope& operator=(const ModuleScope&) = delete;

 private:
  void noteBorder(const AutogradPlace& place) {
    if (auto* borders = recorder_->sequenceModules().borders(place.thread)) {
      borders->note(place.nextSequence, recorder_->currentModule(place.node));
    }
  }

  Recorder* recorder_;
  std::optional<WatchedThread> watched_;
};

}  // namespace highwater::probe
