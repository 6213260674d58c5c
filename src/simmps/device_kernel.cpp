#include <ATen/ATen.h>
#include <ATen/core/Generator.h>
#include <ATen/record_function.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "simmps/allocator.h"
#include "simmps/device.h"
#include "simmps/generator.h"
#include "simmps/op_graphs.h"
#include "simmps/op_traits.h"
#include "simmps/output_shapes.h"
#include "simmps/registrations.h"
#include "simmps/tensors.h"

namespace highwater::simmps {
namespace {

using Stack = torch::jit::Stack;
using c10::DispatchKey;
using c10::DispatchKeySet;
using MapTensor = at::Tensor (*)(const at::Tensor&);

bool isWrappedNumber(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->is_wrapped_number();
}

at::Tensor forJob(const at::Tensor& tensor) {
  if (tensor.is_mps()) return cpuAlias(tensor);
  // The caller may change its tensor before the job runs; wrapped numbers are nobody's.
  if (isWrappedNumber(tensor)) return tensor;
  return tensor.dim() == 0 ? scalarForJob(tensor) : tensor.clone();
}

at::Tensor forMeta(const at::Tensor& tensor) {
  return isWrappedNumber(tensor) ? tensor : metaOf(tensor);
}

void mapTensors(c10::IValue& value, MapTensor map) {
  const auto mapped = [map](const at::Tensor& tensor) {
    return tensor.defined() ? map(tensor) : tensor;
  };
  if (value.isTensor()) {
    value = mapped(value.toTensor());
  } else if (value.isTensorList()) {
    c10::List<at::Tensor> out;
    for (const at::Tensor& tensor : value.toTensorVector()) out.push_back(mapped(tensor));
    value = out;
  } else if (value.isList()) {
    const auto elements = value.toListRef();
    const bool hasTensors = std::any_of(elements.begin(), elements.end(),
                                        [](const c10::IValue& each) { return each.isTensor(); });
    if (!hasTensors) return;
    c10::List<std::optional<at::Tensor>> out;
    for (const c10::IValue& each : elements) {
      if (each.isNone()) {
        out.push_back(std::nullopt);
      } else {
        out.push_back(mapped(each.toTensor()));
      }
    }
    value = out;
  }
}

Stack mapped(Stack arguments, MapTensor map) {
  for (c10::IValue& value : arguments) mapTensors(value, map);
  return arguments;
}

void forEachTensor(const c10::IValue& value, const std::function<void(const at::Tensor&)>& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& each : value.toListRef()) {
      if (each.isTensor() && each.toTensor().defined()) visit(each.toTensor());
    }
  }
}

void checkDevices(const OpTraits& traits, const Stack& arguments) {
  if (traits.takesHostTensors) return;
  for (const c10::IValue& value : arguments) {
    forEachTensor(value, [](const at::Tensor& tensor) {
      TORCH_CHECK(tensor.is_mps() || tensor.dim() == 0,
                  "Expected all tensors to be on the same device, but found at least two devices, "
                  "mps:0 and ",
                  tensor.device(), "!");
    });
  }
}

/// One call of an op: its arguments as given, and how its results get back on the stack.
class Call {
 public:
  Call(const c10::OperatorHandle& op, const OpTraits& traits, Stack& stack)
      : op_(op), traits_(traits), stack_(stack) {
    arguments_ = torch::jit::pop(stack, op.schema().arguments().size());
    checkDevices(traits, arguments_);
    if (traits.deviceArgument >= 0 && !arguments_[traits.deviceArgument].isNone()) {
      arguments_[traits.deviceArgument] = c10::IValue(c10::Device(c10::DeviceType::CPU));
    }
    if (traits.generatorArgument >= 0) {
      const c10::IValue& given = arguments_[traits.generatorArgument];
      arguments_[traits.generatorArgument] =
          c10::IValue(generatorForJobs(given.isNone() ? at::Generator() : given.toGenerator()));
    }
  }

  void run() {
    useGraph(name(), arguments_);
    if (traits_.needsDrainedQueue) {
      runDrained();
    } else if (traits_.writesArguments) {
      runWriting();
    } else {
      runFunctional();
    }
  }

 private:
  std::string_view name() const { return op_.schema().name(); }

  /// Runs on the device and waits: for results whose sizes only the run can tell.
  void runDrained() {
    Stack cpu = mapped(arguments_, forJob);
    const auto& arguments = op_.schema().arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      // A kernel may resize what it is given as out=, which an alias cannot be.
      if (!arguments[i].is_out() || !cpu[i].isTensor()) continue;
      cpu[i] = at::empty({0}, cpu[i].toTensor().options());
    }
    auto results = std::make_shared<Stack>(cpu);
    submitJob(name(), [op = op_, results] {
      op.redispatchBoxed(DispatchKeySet(DispatchKey::CPU), results.get());
    });
    drainDevice(traits_.sizedByValues ? DrainCause::ResultSize : DrainCause::NoShape, name());
    takeReplacedArguments(cpu);
    const auto& returns = op_.schema().returns();
    for (std::size_t i = 0; i < returns.size(); ++i) {
      if (returns[i].alias_info()) {
        torch::jit::push(stack_, writtenArgument(i));
        continue;
      }
      mapTensors((*results)[i], &toDevice);
      torch::jit::push(stack_, std::move((*results)[i]));
    }
  }

  static at::Tensor toDevice(const at::Tensor& result) {
    at::Tensor out = makeOnDevice(result.sizes(), result.strides(), result.scalar_type());
    submitJob("aten::copy_", [to = cpuAlias(out), result]() mutable { to.copy_(result); });
    return out;
  }

  /// Copies out= results, which the kernel wrote elsewhere, to where the caller wants them.
  void takeReplacedArguments(const Stack& cpu) {
    const auto& arguments = op_.schema().arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const auto* alias = arguments[i].alias_info();
      if (!alias || !alias->isWrite() || !arguments_[i].isTensor()) continue;
      const at::Tensor ran = cpu[i].toTensor();
      const at::Tensor given = arguments_[i].toTensor();
      if (ran.sizes() != given.sizes()) resizeOnDevice(given, ran.sizes(), std::nullopt);
      if (ran.numel() == 0 || ran.const_data_ptr() == cpuAlias(given).const_data_ptr()) continue;
      submitJob("aten::copy_", [to = cpuAlias(given), ran]() mutable { to.copy_(ran); });
    }
  }

  /// In place and out=: results go where the arguments are.
  void runWriting() {
    if (traits_.hasOut && hasEmptyOut() && !sizeOuts()) {
      runDrained();
      return;
    }
    submitJob(name(), [op = op_, cpu = mapped(arguments_, forJob), sizes = outSizes()]() mutable {
      // libtorch 2.6 drops the arguments before it returns references to them: for an op with
      // several out= they would be gone.
      const Stack alive = cpu;
      op.redispatchBoxed(DispatchKeySet(DispatchKey::CPU), &cpu);
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        TORCH_CHECK(cpu[i].toTensor().numel() == sizes[i], op.schema().operator_name(),
                    ": out= has ", sizes[i], " elements, the result has ",
                    cpu[i].toTensor().numel(), "; the simulated mps device cannot resize it here");
      }
    });
    for (std::size_t i = 0; i < op_.schema().returns().size(); ++i) {
      torch::jit::push(stack_, writtenArgument(i));
    }
  }

  /// Elements of each result that is an out= tensor; empty for ops without.
  c10::SmallVector<std::int64_t, 4> outSizes() const {
    c10::SmallVector<std::int64_t, 4> sizes;
    if (!traits_.hasOut) return sizes;
    for (std::size_t i = 0; i < op_.schema().returns().size(); ++i) {
      const c10::IValue& out = writtenArgument(i);
      if (!out.isTensor()) return {};
      sizes.push_back(out.toTensor().numel());
    }
    return sizes;
  }

  bool hasEmptyOut() const {
    const auto& arguments = op_.schema().arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].is_out() && arguments_[i].isTensor() &&
          arguments_[i].toTensor().numel() == 0) {
        return true;
      }
    }
    return false;
  }

  /// Sizes out= arguments as the Meta kernel would; false where there is none that works.
  bool sizeOuts() {
    Stack meta = mapped(arguments_, forMeta);
    const Stack sized = meta;
    if (!runMeta(meta)) return false;
    const auto& arguments = op_.schema().arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (!arguments[i].is_out() || !arguments_[i].isTensor()) continue;
      resizeOnDevice(arguments_[i].toTensor(), sized[i].toTensor().sizes(), std::nullopt);
    }
    return true;
  }

  bool runMeta(Stack& meta) const {
    if (!traits_.hasMetaKernel) return false;
    try {
      op_.redispatchBoxed(DispatchKeySet(DispatchKey::Meta), &meta);
      return true;
    } catch (const c10::NotImplementedError&) {
      traits_.hasMetaKernel = false;
      return false;
    }
  }

  /// Fresh results: sized on the host, written by the job.
  void runFunctional() {
    auto outputs = outputsFor(name(), arguments_);
    if (!outputs) outputs = outputsFromMeta();
    if (!outputs) {
      runDrained();
      return;
    }
    std::vector<at::Tensor> aliases;
    aliases.reserve(outputs->size());
    for (const at::Tensor& output : *outputs) {
      aliases.push_back(output.defined() ? cpuAlias(output) : output);
    }
    submitJob(name(),
              [op = op_, cpu = mapped(arguments_, forJob), outs = std::move(aliases)]() mutable {
                op.redispatchBoxed(DispatchKeySet(DispatchKey::CPU), &cpu);
                for (std::size_t i = 0; i < outs.size(); ++i) {
                  const at::Tensor result = cpu[i].toTensor();
                  if (!outs[i].defined() || !result.defined()) continue;
                  TORCH_INTERNAL_ASSERT(result.sizes() == outs[i].sizes(), op.schema(), ": ",
                                        result.sizes(), " instead of ", outs[i].sizes());
                  outs[i].copy_(result);
                }
              });
    for (at::Tensor& output : *outputs) torch::jit::push(stack_, std::move(output));
  }

  std::optional<std::vector<at::Tensor>> outputsFromMeta() const {
    Stack meta = mapped(arguments_, forMeta);
    if (!runMeta(meta)) return std::nullopt;
    std::vector<at::Tensor> outputs;
    for (const c10::IValue& value : meta) {
      const at::Tensor& like = value.toTensor();
      outputs.push_back(
          like.defined() ? makeOnDevice(like.sizes(), like.strides(), like.scalar_type()) : like);
    }
    return outputs;
  }

  /// The argument that the given result is ("(a!)" in both places).
  const c10::IValue& writtenArgument(std::size_t result) const {
    const auto* wanted = op_.schema().returns()[result].alias_info();
    const auto& arguments = op_.schema().arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const auto* alias = arguments[i].alias_info();
      if (alias && *alias == *wanted) return arguments_[i];
    }
    TORCH_INTERNAL_ASSERT(false, op_.schema(), ": result ", result, " aliases no argument");
  }

  const c10::OperatorHandle op_;
  const OpTraits& traits_;
  Stack& stack_;
  Stack arguments_;
};

}  // namespace

void runOnDevice(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  const OpTraits& traits = traitsOf(op);
  if (traits.lacksMpsKernel) {
    fallBack(op, stack);
    return;
  }
  TORCH_CHECK(!traits.returnsView, "The operator '", op.schema().operator_name(),
              "' makes a view and has no kernel on the simulated MPS device yet");
  // Beneath this call nothing is an op of the process: neither recorded nor differentiated.
  const at::DisableRecordFunctionGuard unobserved;
  const at::AutoDispatchBelowADInplaceOrView belowAutograd;
  Call(op, traits, *stack).run();
}

}  // namespace highwater::simmps
