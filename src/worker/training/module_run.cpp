#include "worker/training/module_run.h"

#include <utility>

namespace highwater::worker {
namespace {

thread_local ModuleOutputs* receiving = nullptr;

}  // namespace

ModuleOutputs::ModuleOutputs(Receiver receiver) : receiver_(std::move(receiver)) {
  receiving = this;
}

ModuleOutputs::~ModuleOutputs() {
  receiving = nullptr;
}

ModuleRun::ModuleRun(std::string_view name) : scope_(name), outputs_(receiving) {
  if (!outputs_) return;
  parentPath_ = outputs_->path_.size();
  if (parentPath_ > 0) outputs_->path_ += '.';
  outputs_->path_ += name;
}

ModuleRun::~ModuleRun() {
  if (outputs_) outputs_->path_.resize(parentPath_);
}

torch::Tensor ModuleRun::output(torch::Tensor output) const {
  if (outputs_) outputs_->receiver_(outputs_->path_, output);
  return output;
}

}  // namespace highwater::worker
