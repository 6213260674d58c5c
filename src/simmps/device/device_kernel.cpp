#include <ATen/ATen.h>
#include <ATen/core/Generator.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/record_function.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "simmps/device/deferred_release.h"
#include "simmps/device/device.h"
#include "simmps/device/device_checks.h"
#include "simmps/device/generator.h"
#include "simmps/device/job_arguments.h"
#include "simmps/device/op_graphs.h"
#include "simmps/device/op_traits.h"
#include "simmps/device/registrations.h"
#include "simmps/device/shapes/output_shapes.h"
#include "simmps/device/shapes/shapes.h"
#include "simmps/device/tensors.h"

namespace highwater::simmps {
namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;

bool hasMask(const Stack& arguments) {
  bool found = false;
  for (const c10::IValue& value : arguments) {
    if (!value.isList()) continue;
    forEachTensor(value, [&found](const at::Tensor& index) {
      found |= index.scalar_type() == at::kBool || index.scalar_type() == at::kByte;
    });
  }
  return found;
}

Layout layoutOf(const at::Tensor& tensor) {
  if (!tensor.defined()) return {{}, {}, at::kFloat, /*wanted=*/false};
  return {c10::DimVector(tensor.sizes()), c10::DimVector(tensor.strides()), tensor.scalar_type()};
}

/// Calls the kernel of `key`. libtorch 2.11 and older drop the arguments before they copy the
/// references to them that an op with several out= arguments returns: here they live on.
void callKernel(const c10::OperatorHandle& op, DispatchKey key, Stack& stack) {
  const Stack alive = stack;
  op.redispatchBoxed(DispatchKeySet(key), &stack);
}

/// From invalid lengths, which the kernel reports.
bool hasNegativeSize(const Layouts& layouts) {
  return std::any_of(layouts.begin(), layouts.end(), [](const Layout& layout) {
    return std::any_of(layout.sizes.begin(), layout.sizes.end(),
                       [](std::int64_t size) { return size < 0; });
  });
}

/// A result of a job: the tensor that it is checked against, and copied to if it is fresh.
struct Expected {
  at::Tensor place;
  bool isFresh = false;
};

void take(const c10::OperatorHandle& op, const Expected& expected, const at::Tensor& result) {
  if (!expected.place.defined() || !result.defined()) return;
  TORCH_INTERNAL_ASSERT(result.sizes() == expected.place.sizes() &&
                            result.scalar_type() == expected.place.scalar_type(),
                        op.schema().operator_name(), ": the result is ", result.scalar_type(), " ",
                        result.sizes(), "; the simulated mps device expected ",
                        expected.place.scalar_type(), " ", expected.place.sizes());
  if (expected.isFresh) expected.place.copy_(result);
}

/// One call of an op.
class Call {
 public:
  Call(const c10::OperatorHandle& op, const OpTraits& traits, Stack& stack)
      : op_(op), traits_(traits), stack_(stack) {
    arguments_ = torch::jit::pop(stack, op.schema().arguments().size());
    checkDevices(op, traits, arguments_);
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
    if (traits_.indexesByMasks && hasMask(arguments_)) {
      drainDevice(DrainCause::ResultSize, name());
    }
    if (traits_.sizedByValues) {
      runDrained(DrainCause::ResultSize);
    } else if (!runQueued()) {
      runDrained(DrainCause::NoShape);
    }
  }

 private:
  std::string_view name() const { return op_.schema().name(); }

  /// Enqueues the op; false, with nothing done, if the results' sizes are unknown.
  bool runQueued() {
    if (traits_.returnsOtherThanTensors) return false;
    std::optional<Layouts> layouts;
    if (traits_.hasFreshResults) {
      // An interpreted Meta kernel costs more than most waits, and needs the interpreter's lock.
      if (!traits_.shapes && traits_.metaKernel != MetaKernel::Compiled) return false;
      layouts = infer();
      if (!layouts) return false;
    } else if (traits_.hasOut) {
      if (!sizeOuts()) return false;
    } else {
      if (traits_.isPointwise && !writtenCanHoldResults()) return false;
      checkInPlace();
    }
    enqueue(layouts ? *layouts : Layouts());
    return true;
  }

  /// `fresh` has one layout per result, or none if all results are arguments.
  void enqueue(const Layouts& fresh) {
    const auto& returns = op_.schema().returns();
    c10::SmallVector<Expected, 4> expected;
    Stack results;
    for (std::size_t i = 0; i < returns.size(); ++i) {
      const bool isFresh = !returns[i].alias_info();
      results.push_back(isFresh ? c10::IValue(makeResult(fresh[i])) : writtenArgument(i));
      if (!results[i].isTensor()) continue;
      const at::Tensor& result = results[i].toTensor();
      expected.push_back({result.defined() ? cpuAlias(result) : result, isFresh});
    }
    submitJob(name(), [op = op_, cpu = mapped(arguments_, forJob), expected]() mutable {
      callKernel(op, DispatchKey::CPU, cpu);
      for (std::size_t i = 0; i < expected.size(); ++i) take(op, expected[i], cpu[i].toTensor());
    });
    for (c10::IValue& result : results) torch::jit::push(stack_, std::move(result));
  }

  static at::Tensor makeResult(const Layout& layout) {
    if (!layout.wanted) return {};
    return makeOnDevice(layout.sizes, layout.strides, layout.dtype);
  }

  /// Layouts of all results, including those that are arguments; nullopt if unknown.
  std::optional<Layouts> infer() const {
    Layouts layouts;
    if (traits_.shapes) {
      layouts = traits_.shapes(arguments_);
      if (layouts.empty() || hasNegativeSize(layouts)) return std::nullopt;
      return layouts;
    }
    if (traits_.metaKernel == MetaKernel::None) return std::nullopt;
    Stack meta = mapped(arguments_, forMeta);
    try {
      callKernel(op_, DispatchKey::Meta, meta);
    } catch (const c10::NotImplementedError&) {
      return std::nullopt;
    }
    for (const c10::IValue& value : meta) {
      layouts.push_back(value.isTensor() ? layoutOf(value.toTensor()) : layoutOf({}));
    }
    return layouts;
  }

  /// Reports mismatched sizes to this caller, not to a later op that drains the queue.
  void checkInPlace() const {
    // Integers cannot hold a square root, so one tensor can be enough to fail.
    const bool mayNotFit = tensorCount() > 1 || writesWholeNumbers();
    if (traits_.metaKernel == MetaKernel::Compiled && mayNotFit) infer();
    // Also where there is a compiled one: that of masked_fill_ checks nothing.
    if (traits_.isPointwise && arguments_[0].isTensor()) {
      const at::Tensor& self = arguments_[0].toTensor();
      for (const c10::IValue& value : arguments_) {
        forEachTensor(value, [&self](const at::Tensor& other) {
          if (other.sizes() != self.sizes()) metaOf(other).expand(self.sizes());
        });
      }
    }
  }

  bool writesWholeNumbers() const {
    return arguments_[0].isTensor() &&
           at::isIntegralType(arguments_[0].toTensor().scalar_type(), /*includeBool=*/true);
  }

  std::size_t tensorCount() const {
    std::size_t count = 0;
    for (const c10::IValue& value : arguments_) {
      forEachTensor(value, [&count](const at::Tensor&) { ++count; });
    }
    return count;
  }

  /// Resizes out= arguments to the results' sizes; false if only the run can tell those.
  bool sizeOuts() {
    if (traits_.indexesByMasks && hasMask(arguments_)) return !hasEmptyOut();
    // PyTorch's own composites pass out= tensors that already have the right sizes.
    if (traits_.metaKernel == MetaKernel::Interpreted && !traits_.isPointwise && !traits_.shapes &&
        !hasEmptyOut() && !hasPythonOut()) {
      return true;
    }
    // If the op must fail, the kernel reports it now rather than at the next wait.
    if (traits_.isPointwise && !writtenCanHoldResults()) return false;
    const std::optional<Layouts> layouts = traits_.isPointwise ? broadcastOuts() : infer();
    if (!layouts) return !traits_.shapes && !hasEmptyOut();
    for (std::size_t i = 0; i < op_.schema().returns().size(); ++i) {
      if (writtenArgument(i).isTensor()) resizeOut(writtenArgument(i).toTensor(), (*layouts)[i]);
    }
    return true;
  }

  void resizeOut(const at::Tensor& out, const Layout& layout) const {
    if (!layout.wanted || out.sizes() == layout.sizes) return;
    // Warns, as PyTorch does, if the tensor has elements; a Meta kernel has already done that.
    if (traits_.isPointwise || traits_.shapes) {
      at::native::resize_output_check(out, layout.sizes);
    }
    resizeOnDevice(out, layout.sizes, std::nullopt);
    out.unsafeGetTensorImpl()->set_sizes_and_strides(layout.sizes, layout.strides);
  }

  /// False if the inputs' type may be too wide for the tensors that the op writes.
  bool writtenCanHoldResults() const {
    if (traits_.givesBooleans || tensorsAreOfOneType()) return true;
    at::native::ResultTypeState inputs = {};
    const auto& arguments = op_.schema().arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].is_out() || !arguments_[i].isTensor()) continue;
      if (!arguments_[i].toTensor().defined()) continue;
      inputs = at::native::update_result_type_state(arguments_[i].toTensor(), inputs);
    }
    const at::ScalarType computed = at::native::result_type(inputs);
    for (std::size_t i = 0; i < op_.schema().returns().size(); ++i) {
      const c10::IValue& out = writtenArgument(i);
      if (out.isTensor() && !at::canCast(computed, out.toTensor().scalar_type())) return false;
    }
    return true;
  }

  /// Layouts of a pointwise op's results: the broadcast of all tensor arguments.
  Layouts broadcastOuts() const {
    const auto& arguments = op_.schema().arguments();
    c10::SmallVector<at::Tensor, 4> inputs;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].is_out() || !arguments_[i].isTensor()) continue;
      if (arguments_[i].toTensor().defined()) inputs.push_back(arguments_[i].toTensor());
    }
    Layouts layouts;
    for (std::size_t i = 0; i < op_.schema().returns().size(); ++i) {
      layouts.push_back(broadcast(inputs, writtenArgument(i).toTensor().scalar_type()));
    }
    return layouts;
  }

  bool tensorsAreOfOneType() const {
    std::optional<at::ScalarType> first;
    return std::all_of(arguments_.begin(), arguments_.end(), [&first](const c10::IValue& value) {
      if (!value.isTensor() || !value.toTensor().defined()) return true;
      const at::ScalarType type = value.toTensor().scalar_type();
      if (!first) first = type;
      return *first == type;
    });
  }

  bool hasPythonOut() const {
    const auto& arguments = op_.schema().arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].is_out() && arguments_[i].isTensor() &&
          isKnownToPython(arguments_[i].toTensor())) {
        return true;
      }
    }
    return false;
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

  /// Runs on the device and waits for results whose sizes or values the host needs.
  void runDrained(DrainCause cause) {
    Stack cpu = mapped(arguments_, forJob);
    const auto& arguments = op_.schema().arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      // A kernel may resize an out= tensor, which an alias does not allow.
      if (!arguments[i].is_out() || !cpu[i].isTensor()) continue;
      cpu[i] = at::empty({0}, cpu[i].toTensor().options());
    }
    auto results = std::make_shared<Stack>(cpu);
    submitJob(name(), [op = op_, results] {
      op.redispatchBoxed(DispatchKeySet(DispatchKey::CPU), results.get());
    });
    drainDevice(cause, name());
    takeReplacedArguments(cpu);
    const auto& returns = op_.schema().returns();
    for (std::size_t i = 0; i < returns.size(); ++i) {
      if (returns[i].alias_info()) {
        torch::jit::push(stack_, writtenArgument(i));
        continue;
      }
      mapTensors((*results)[i], [this](const at::Tensor& result) { return toDevice(result); });
      torch::jit::push(stack_, std::move((*results)[i]));
    }
  }

  at::Tensor toDevice(const at::Tensor& result) const {
    TORCH_CHECK_NOT_IMPLEMENTED(result.layout() == at::kStrided, op_.schema().operator_name(),
                                ": Sparse tensors are not supported on the simulated MPS device");
    at::Tensor out = makeOnDevice(result.sizes(), result.strides(), result.scalar_type());
    submitJob("aten::copy_", [to = cpuAlias(out), result]() mutable { to.copy_(result); });
    return out;
  }

  /// Copies out= results from the kernel's tensors to the caller's.
  void takeReplacedArguments(const Stack& cpu) {
    const auto& arguments = op_.schema().arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const auto* alias = arguments[i].alias_info();
      if (!alias || !alias->isWrite() || !arguments_[i].isTensor()) continue;
      const at::Tensor ran = cpu[i].toTensor();
      const at::Tensor given = arguments_[i].toTensor();
      if (ran.sizes() != given.sizes()) {
        at::native::resize_output_check(given, ran.sizes());
        resizeOnDevice(given, ran.sizes(), std::nullopt);
      }
      if (ran.numel() == 0 || ran.const_data_ptr() == cpuAlias(given).const_data_ptr()) continue;
      submitJob("aten::copy_", [to = cpuAlias(given), ran]() mutable { to.copy_(ran); });
    }
  }

  /// The argument that is returned as the given result ("(a!)" in both places).
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

/// Runs a view's CPU kernel on the host: it computes sizes and strides and leaves memory alone.
void runView(const c10::OperatorHandle& op, Stack& stack) {
  Stack arguments = torch::jit::pop(stack, op.schema().arguments().size());
  TORCH_CHECK(arguments[0].isTensor() && arguments[0].toTensor().is_mps(),
              op.schema().operator_name(), ": a view's first argument must be an MPS tensor");
  const at::Tensor base = arguments[0].toTensor();
  Stack views = mapped(std::move(arguments), forJob);
  op.redispatchBoxed(DispatchKeySet(DispatchKey::CPU), &views);
  for (c10::IValue& view : views) {
    mapTensors(view, [&base](const at::Tensor& onCpu) { return viewLike(base, onCpu); });
    torch::jit::push(stack, std::move(view));
  }
}

}  // namespace

void runOnDevice(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  releaseDeferred();
  const OpTraits& traits = traitsOf(op);
  if (traits.lacksMpsKernel) {
    fallBack(op, stack);
    return;
  }
  const DeviceCall accounted;
  // Ops called below are the device's, so they are neither recorded nor differentiated.
  const at::DisableRecordFunctionGuard unobserved;
  const at::AutoDispatchBelowADInplaceOrView belowAutograd;
  if (traits.returnsView) {
    runView(op, *stack);
  } else {
    Call(op, traits, *stack).run();
  }
}

}  // namespace highwater::simmps
