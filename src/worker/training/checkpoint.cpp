#include "worker/training/checkpoint.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>

#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>

#include "core/plain_text.h"
#include "worker/training/training_errors.h"

namespace highwater::worker {
namespace {

using torch::optim::AdamWParamState;

constexpr std::uint64_t kLongestText = std::uint64_t{1} << 28;

/// Thrown within this file, and caught at its edges.
struct CheckpointError {
  Error error;
};

[[noreturn]] void refuse(const std::string& why) {
  throw CheckpointError{{ErrorCode::kMalformed, "the checkpoint " + why}};
}

void must(Result<void> done) {
  if (!done) throw CheckpointError{std::move(done).error()};
}

std::string sizesText(const torch::Tensor& tensor) {
  std::string text;
  for (const std::int64_t size : tensor.sizes()) {
    text += (text.empty() ? "" : " × ") + std::to_string(size);
  }
  return text.empty() ? "a number" : text;
}

/// The state of the optimizer for a parameter; nullptr before its first step.
AdamWParamState* adamState(torch::optim::Optimizer& optimizer, const torch::Tensor& parameter) {
  auto& states = optimizer.state();
  const auto found = states.find(parameter.unsafeGetTensorImpl());
  return found == states.end() ? nullptr : dynamic_cast<AdamWParamState*>(found->second.get());
}

std::string stateOf(at::Generator generator) {
  const std::lock_guard lock(generator.mutex());
  const torch::Tensor state = generator.get_state().contiguous();
  return {static_cast<const char*>(state.data_ptr()), state.nbytes()};
}

/// Sets the generator's state, unless that is of another kind of generator.
void setState(at::Generator generator, const std::string& bytes) {
  const std::lock_guard lock(generator.mutex());
  if (generator.get_state().nbytes() != bytes.size()) return;
  torch::Tensor state = torch::empty({static_cast<std::int64_t>(bytes.size())}, torch::kUInt8);
  std::memcpy(state.data_ptr(), bytes.data(), bytes.size());
  generator.set_state(state);
}

class Writer {
 public:
  explicit Writer(CheckpointSlots::Writer& file) : file_(file) {}

  void number(std::uint64_t value) { must(file_.append(&value, sizeof value)); }
  void text(const std::string& value) {
    number(value.size());
    must(file_.append(value.data(), value.size()));
  }
  void tensor(const torch::Tensor& value) {
    const torch::Tensor host = value.detach().to(torch::kCPU).contiguous();
    text(c10::toString(host.scalar_type()));
    text(sizesText(host));
    must(file_.append(host.data_ptr(), host.nbytes()));
  }

 private:
  CheckpointSlots::Writer& file_;
};

class Reader {
 public:
  explicit Reader(CheckpointSlots::Reader& file) : file_(file) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    must(file_.read(&value, sizeof value));
    return value;
  }
  std::string text() {
    const std::uint64_t size = number();
    if (size > kLongestText || size > file_.left()) refuse("has a text that is too long");
    std::string value(size, 0);
    must(file_.read(value.data(), size));
    return value;
  }
  /// Reads a tensor into `target`, which has its type and sizes.
  void tensor(const std::string& name, const torch::Tensor& target) {
    const std::string type = text(), sizes = text();
    if (type != c10::toString(target.scalar_type()) || sizes != sizesText(target)) {
      refuse("is of another model: " + plainText(name) + " is " + plainText(sizes) + " of " +
             plainText(type) + " there, and " + sizesText(target) + " of " +
             c10::toString(target.scalar_type()) + " here");
    }
    torch::Tensor host = torch::empty(target.sizes(), target.options().device(torch::kCPU));
    must(file_.read(host.data_ptr(), host.nbytes()));
    target.copy_(host);
  }

 private:
  CheckpointSlots::Reader& file_;
};

void write(Writer& out, const Workload& workload, const torch::Device& device) {
  const auto model = workload.modelState();
  out.number(model.size());
  for (const auto& [name, tensor] : model) {
    out.text(name);
    out.tensor(tensor);
  }
  const auto parameters = workload.parameters();
  auto& optimizer = const_cast<Workload&>(workload).optimizer();
  out.number(parameters.size());
  for (const torch::Tensor& parameter : parameters) {
    AdamWParamState* state = adamState(optimizer, parameter);
    out.number(state ? 1 : 0);
    if (!state) continue;
    out.number(static_cast<std::uint64_t>(state->step()));
    out.tensor(state->exp_avg());
    out.tensor(state->exp_avg_sq());
  }
  out.text(deviceName(device));
  out.text(stateOf(at::detail::getDefaultCPUGenerator()));
  out.text(device.is_cpu() ? "" : stateOf(at::globalContext().defaultGenerator(device)));
  std::ostringstream position;
  workload.savePosition(position);
  out.text(position.str());
}

void restoreGenerators(Reader& in, const torch::Device& device) {
  const std::string writtenOn = in.text(), host = in.text(), other = in.text();
  // What the model draws is drawn on its device.
  const std::string& ofDevice = writtenOn == "cpu" ? host : other;
  if (device.is_cpu()) {
    setState(at::detail::getDefaultCPUGenerator(), ofDevice);
  } else {
    setState(at::detail::getDefaultCPUGenerator(), host);
    setState(at::globalContext().defaultGenerator(device), ofDevice);
  }
}

void restore(Reader& in, Workload& workload, const torch::Device& device) {
  const auto model = workload.modelState();
  if (const std::uint64_t count = in.number(); count != model.size()) {
    refuse("is of another model: it has " + std::to_string(count) + " tensors, and this one " +
           std::to_string(model.size()));
  }
  for (const auto& [name, tensor] : model) {
    if (const std::string there = in.text(); there != name) {
      refuse("is of another model: it has " + plainText(there) + " in the place of " + name);
    }
    in.tensor(name, tensor);
  }
  const auto parameters = workload.parameters();
  AtomicAdamW& optimizer = workload.optimizer();
  if (in.number() != parameters.size()) refuse("is of another model: it trains other parameters");
  for (const torch::Tensor& parameter : parameters) {
    if (in.number() == 0) continue;
    auto state = std::make_unique<AdamWParamState>();
    state->step(static_cast<std::int64_t>(in.number()));
    state->exp_avg(torch::zeros_like(parameter, torch::MemoryFormat::Preserve));
    state->exp_avg_sq(torch::zeros_like(parameter, torch::MemoryFormat::Preserve));
    in.tensor("the mean of a gradient", state->exp_avg());
    in.tensor("the variance of a gradient", state->exp_avg_sq());
    optimizer.state()[parameter.unsafeGetTensorImpl()] = std::move(state);
  }
  restoreGenerators(in, device);
  std::istringstream position(in.text());
  workload.loadPosition(position);
  if (position.fail()) refuse("is of other data");
}

}  // namespace

Result<void> writeCheckpoint(const CheckpointSlots& files, std::uint32_t step,
                             const Workload& workload, const torch::Device& device) {
  try {
    const torch::NoGradGuard noGrad;
    auto file = CheckpointSlots::Writer::begin(files, step);
    if (!file) return file.error();
    Writer out(*file);
    write(out, workload, device);
    return file->commit();
  } catch (const CheckpointError& refused) {
    return refused.error;
  } catch (const std::exception& error) {
    return failure("the checkpoint cannot be written: " + firstLine(error));
  }
}

Result<std::uint32_t> restoreCheckpoint(const CheckpointSlots& files, Workload& workload,
                                        const torch::Device& device) {
  try {
    const torch::NoGradGuard noGrad;
    auto file = CheckpointSlots::Reader::open(files);
    if (!file) return file.error();
    Reader in(*file);
    restore(in, workload, device);
    if (file->left() > 0) refuse("is of another model: it is longer");
    return file->head().step;
  } catch (const CheckpointError& refused) {
    return refused.error;
  } catch (const std::exception& error) {
    const ErrorCode code = isOutOfMemory(error) ? ErrorCode::kOutOfMemory : ErrorCode::kFailed;
    return Error{code, "the checkpoint cannot be restored: " + firstLine(error)};
  }
}

}  // namespace highwater::worker
