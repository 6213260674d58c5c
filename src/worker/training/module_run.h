#pragma once

#include <torch/torch.h>

#include <functional>
#include <string>
#include <string_view>

#include "probe/observer/module_scope.h"

namespace highwater::worker {

/// Receives the output of each module that this thread runs, from construction to destruction; one
/// at a time. Modules of C++ have no forward hooks.
class ModuleOutputs {
 public:
  /// Called with the module's path in the model, "layers.0.attention.query", and its output.
  using Receiver = std::function<void(const std::string& path, const torch::Tensor& output)>;

  explicit ModuleOutputs(Receiver receiver);
  ~ModuleOutputs();
  ModuleOutputs(const ModuleOutputs&) = delete;
  ModuleOutputs& operator=(const ModuleOutputs&) = delete;

 private:
  friend class ModuleRun;
  Receiver receiver_;
  std::string path_;
};

/// A module of the model that runs, under the name that its parent gave it: for the probe, and for
/// a ModuleOutputs, if there is one.
class ModuleRun {
 public:
  explicit ModuleRun(std::string_view name);
  ~ModuleRun();
  ModuleRun(const ModuleRun&) = delete;
  ModuleRun& operator=(const ModuleRun&) = delete;

  /// Passes the module's output on, and returns it.
  [[nodiscard]] torch::Tensor output(torch::Tensor output) const;

 private:
  probe::ModuleScope scope_;
  ModuleOutputs* outputs_;
  std::size_t parentPath_ = 0;  ///< length of the parent's path
};

}  // namespace highwater::worker
