#include "probe/observer/census_ops.h"

#include <ATen/core/TensorBody.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/evaluation_ops.h"
#include "probe/observer/op_tensors.h"
#include "probe/observer/thread_op_stack.h"

#ifndef NDEBUG
#error "RecordFunction::inputs() asserts against a release libtorch: compile this with NDEBUG"
#endif

namespace highwater::probe {
namespace {

/// How the bytes of an op follow from its tensors.
enum class Traffic : std::uint8_t {
  kAll,       ///< reads its arguments, writes its results
  kWrites,    ///< does not read what it writes over: fill_
  kGathers,   ///< reads as much as it writes, out of something larger
  kScatters,  ///< writes as much as it reads, into something larger
  kNone       ///< changes how a tensor is looked at
};
/// How the floating-point operations of an op follow from its tensors.
enum class Arithmetic : std::uint8_t {
  kLittle,        ///< the bytes take longer
  kProduct,       ///< each value of the result is a dot product with a row of the first argument
  kAddedProduct,  ///< the same with a row of the second argument: the first one is added
  kConvolution,   ///< all filters at each place
  kConvolutionGradients,  ///< the same for each gradient that it computes
  kLinearGradients,       ///< of the input, the result's gradient and the weight: a product each
  kRecurrent,             ///< the first argument's rows with each matrix
  kRecurrentGradients,    ///< the same for two gradients
  kAttention              ///< each query with each key, and with each value
};

struct OpRule {
  std::string_view name;  ///< without "aten::"
  Traffic traffic = Traffic::kAll;
  Arithmetic arithmetic = Arithmetic::kLittle;
};
/// Ops whose work is not the bytes of their arguments and results. Views need no rule.
constexpr std::array kOpRules = {
    OpRule{"_convolution", Traffic::kAll, Arithmetic::kConvolution},
    OpRule{"_index_put_impl_", Traffic::kScatters},
    OpRule{"_lstm_mps", Traffic::kAll, Arithmetic::kRecurrent},
    OpRule{"_mps_convolution", Traffic::kAll, Arithmetic::kConvolution},
    OpRule{"_mps_convolution_transpose", Traffic::kAll, Arithmetic::kConvolution},
    OpRule{"_scaled_dot_product_attention_math_for_mps", Traffic::kAll, Arithmetic::kAttention},
    OpRule{"addbmm", Traffic::kAll, Arithmetic::kAddedProduct},
    OpRule{"addmm", Traffic::kAll, Arithmetic::kAddedProduct},
    OpRule{"addmm_", Traffic::kAll, Arithmetic::kAddedProduct},
    OpRule{"as_strided_", Traffic::kNone},
    OpRule{"baddbmm", Traffic::kAll, Arithmetic::kAddedProduct},
    OpRule{"baddbmm_", Traffic::kAll, Arithmetic::kAddedProduct},
    OpRule{"bernoulli_", Traffic::kWrites},
    OpRule{"bmm", Traffic::kAll, Arithmetic::kProduct},
    OpRule{"convolution", Traffic::kAll, Arithmetic::kConvolution},
    OpRule{"convolution_backward", Traffic::kAll, Arithmetic::kConvolutionGradients},
    OpRule{"convolution_backward_overrideable", Traffic::kAll, Arithmetic::kConvolutionGradients},
    OpRule{"convolution_overrideable", Traffic::kAll, Arithmetic::kConvolution},
    OpRule{"copy_", Traffic::kWrites},
    OpRule{"detach_", Traffic::kNone},
    OpRule{"embedding", Traffic::kGathers},
    OpRule{"empty", Traffic::kNone},
    OpRule{"empty_like", Traffic::kNone},
    OpRule{"empty_permuted", Traffic::kNone},
    OpRule{"empty_strided", Traffic::kNone},
    OpRule{"exponential_", Traffic::kWrites},
    OpRule{"fill_", Traffic::kWrites},
    OpRule{"gather", Traffic::kGathers},
    OpRule{"index", Traffic::kGathers},
    OpRule{"index_add_", Traffic::kScatters},
    OpRule{"index_copy_", Traffic::kScatters},
    OpRule{"index_put_", Traffic::kScatters},
    OpRule{"index_select", Traffic::kGathers},
    OpRule{"linear", Traffic::kAll, Arithmetic::kProduct},
    OpRule{"linear_backward", Traffic::kAll, Arithmetic::kLinearGradients},
    OpRule{"lstm_mps_backward", Traffic::kAll, Arithmetic::kRecurrentGradients},
    OpRule{"mm", Traffic::kAll, Arithmetic::kProduct},
    OpRule{"mps_convolution_backward", Traffic::kAll, Arithmetic::kConvolutionGradients},
    OpRule{"mps_convolution_transpose_backward", Traffic::kAll, Arithmetic::kConvolutionGradients},
    OpRule{"new_empty", Traffic::kNone},
    OpRule{"new_empty_strided", Traffic::kNone},
    OpRule{"normal_", Traffic::kWrites},
    OpRule{"random_", Traffic::kWrites},
    OpRule{"record_stream", Traffic::kNone},
    OpRule{"requires_grad_", Traffic::kNone},
    OpRule{"resize_", Traffic::kNone},
    OpRule{"scatter_", Traffic::kScatters},
    OpRule{"scatter_add_", Traffic::kScatters},
    OpRule{"set_", Traffic::kNone},
    OpRule{"squeeze_", Traffic::kNone},
    OpRule{"t_", Traffic::kNone},
    OpRule{"take", Traffic::kGathers},
    OpRule{"transpose_", Traffic::kNone},
    OpRule{"uniform_", Traffic::kWrites},
    OpRule{"unsqueeze_", Traffic::kNone},
    OpRule{"zero_", Traffic::kWrites},
};

constexpr std::string_view kAtenPrefix = "aten::";

OpRule ruleOf(std::string_view name) {
  if (name.starts_with(kAtenPrefix)) name.remove_prefix(kAtenPrefix.size());
  const auto* found = std::find_if(kOpRules.begin(), kOpRules.end(),
                                   [name](const OpRule& each) { return each.name == name; });
  return found == kOpRules.end() ? OpRule{name} : *found;
}

/// A tensor of an op on the device.
struct SeenTensor {
  const void* storage = nullptr;
  double bytes = 0;  ///< of memory: an expanded tensor has no more than what it repeats
  std::vector<std::int64_t> sizes;
};

void see(const at::Tensor& tensor, std::vector<SeenTensor>& into) {
  if (!saysItsSizes(tensor) || !isOnDevice(tensor) || !tensor.has_storage()) return;
  const auto all = static_cast<double>(tensor.numel()) * static_cast<double>(tensor.itemsize());
  into.push_back({tensor.storage().unsafeGetStorageImpl(),
                  std::min(all, static_cast<double>(tensor.storage().nbytes())),
                  tensor.sizes().vec()});
}

std::vector<SeenTensor> tensorsOf(c10::ArrayRef<const c10::IValue> values) {
  std::vector<SeenTensor> seen;
  for (const c10::IValue& value : values) {
    if (value.isTensor()) {
      see(value.toTensor(), seen);
    } else if (value.isList()) {
      for (const c10::IValue& each : value.toListRef()) {
        if (each.isTensor()) see(each.toTensor(), seen);
      }
    }
  }
  return seen;
}

double sumOfBytes(const std::vector<SeenTensor>& tensors) {
  double bytes = 0;
  for (const SeenTensor& each : tensors) bytes += each.bytes;
  return bytes;
}

double numberOfValues(const std::vector<std::int64_t>& sizes) {
  double number = 1;
  for (const std::int64_t size : sizes) number *= static_cast<double>(size);
  return number;
}

/// The places of a batch of pictures, whose second size is that of the channels.
double placesOf(const std::vector<std::int64_t>& sizes) {
  return sizes.size() < 2 || sizes[1] == 0 ? 0
                                           : numberOfValues(sizes) / static_cast<double>(sizes[1]);
}

/// The sizes of one of the tensors; of one that is missing those of an empty tensor.
const std::vector<std::int64_t>& sizesOf(const std::vector<SeenTensor>& tensors,
                                         std::size_t index) {
  static const std::vector<std::int64_t> kNothing{0};
  return index < tensors.size() ? tensors[index].sizes : kNothing;
}

/// A size, counted from the last, which is 1; 0 where there is none.
double sizeFromEnd(const std::vector<std::int64_t>& sizes, std::size_t index) {
  return sizes.size() < index ? 0 : static_cast<double>(sizes[sizes.size() - index]);
}

double flopsOf(Arithmetic arithmetic, const std::vector<SeenTensor>& arguments,
               const std::vector<SeenTensor>& results) {
  const auto argument = [&](std::size_t i) -> const auto& {
    return sizesOf(arguments, i);
  };
  const std::vector<std::int64_t>& result = sizesOf(results, 0);
  // A backward computes the gradients of the input, which may not be needed, and of the weight.
  const auto gradients = static_cast<double>(std::min<std::size_t>(2, results.size()));
  switch (arithmetic) {
    case Arithmetic::kLittle:
      return 0;
    case Arithmetic::kProduct:
      return 2 * numberOfValues(result) * sizeFromEnd(argument(0), 1);
    case Arithmetic::kAddedProduct:
      return 2 * numberOfValues(result) * sizeFromEnd(argument(1), 1);
    // At each place of the smaller one, input or output: a transposed one goes the other way.
    case Arithmetic::kConvolution:
      return 2 * std::min(placesOf(argument(0)), placesOf(result)) * numberOfValues(argument(1));
    case Arithmetic::kConvolutionGradients:
      return gradients * 2 * std::min(placesOf(argument(0)), placesOf(argument(1))) *
             numberOfValues(argument(2));
    case Arithmetic::kLinearGradients:
      return gradients * 2 * numberOfValues(argument(1)) * sizeFromEnd(argument(2), 1);
    case Arithmetic::kRecurrent:
    case Arithmetic::kRecurrentGradients: {
      const double width = sizeFromEnd(argument(0), 1);
      double weights = 0;
      for (const SeenTensor& each : arguments) {
        if (each.sizes.size() == 2) weights += numberOfValues(each.sizes);
      }
      const double rows = width > 0 ? numberOfValues(argument(0)) / width : 0;
      return (arithmetic == Arithmetic::kRecurrent ? 2 : 4) * rows * weights;
    }
    case Arithmetic::kAttention:
      return 4 * numberOfValues(argument(0)) * sizeFromEnd(argument(1), 2);
  }
  return 0;
}

/// An op that runs. Ops inside it count in its place; but what some kernels of MPS copy or add
/// inside a product does not count in place of the product.
struct OpenOpWork : at::ObserverContext {
  OpenOpWork* outer = nullptr;
  bool isCounted = false;  ///< or an op inside it was
  bool hasFlops = false;   ///< of them
  OpCensus::Key key;
  OpRule rule;
  bool writesOver = false;  ///< one of its arguments
  bool hasOut = false;      ///< it is given the tensors that it writes to
  std::vector<SeenTensor> arguments;
  NameId shapes = kNoId;
};

// The innermost op of the calling thread.
thread_local OpenOpWork* openWork = nullptr;
// The census that counts now; null outside of its step and its evaluation.
std::atomic<OpCensus*> counting{nullptr};
// Whether it counts an evaluation, and how many ops it may yet count.
std::atomic<bool> ofEvaluation{false};
std::atomic<std::int32_t> opsLeft{0};

/// Never destroyed: another thread may still be in the callback.
OpCensus& theCensus() {
  static auto& census = *std::make_unique<OpCensus>().release();
  return census;
}

CallSiteId siteOfWork(Recorder& recorder, OpCensus& census, const RunningNode& node) {
  if (node.node) return census.forwardSite({node.forwardThread, node.sequence});
  const CallSites::Interpreter ask = recorder.callSites().interpreter();
  return ask ? ask(recorder.callSites()) : kNoId;
}

std::unique_ptr<at::ObserverContext> beginWork(const at::RecordFunction& function) {
  Recorder* recorder = Recorder::active();
  OpCensus* census = counting.load(std::memory_order_acquire);
  OpStack* thread = threadOpStack();
  if (!recorder || !census || !thread) return nullptr;
  const bool isEvaluation = ofEvaluation.load(std::memory_order_relaxed);
  if (recorder->deliberate() && !isEvaluation) return nullptr;
  if (isEvaluation && opsLeft.fetch_sub(1, std::memory_order_relaxed) <= 0) {
    opsLeft.store(0, std::memory_order_relaxed);
    return nullptr;
  }
  auto work = std::make_unique<OpenOpWork>();
  work->outer = openWork;
  const std::string_view name = function.name();
  work->rule = ruleOf(name);
  work->writesOver = name.ends_with('_') && !name.ends_with("__");
  // overload_name(), which copies nothing, is of PyTorch 2.7.
  const auto called = function.operator_name();
  work->hasOut =
      called && (called->overload_name == "out" || called->overload_name.ends_with("_out"));
  if (work->outer) {
    work->key = work->outer->key;
  } else {
    const RunningNode node = recorder->autograd().runningNode();
    work->key.site = siteOfWork(*recorder, *census, node);
    work->key.module = recorder->currentModule();
    work->key.phase = recorder->phase();
    work->key.isBackward = node.node != nullptr;
  }
  work->key.op = thread->name(name).id;
  // Also of an op of a backward with create_graph, whose own gradient belongs to the same line.
  if (function.seqNr() >= 0) {
    census->noteForward({function.threadId(), function.seqNr()}, work->key.site);
  }
  work->arguments = tensorsOf(function.inputs());
  work->shapes = detailOf(function.inputs(), thread->shapeTexts()).shapes;
  openWork = work.get();
  return work;
}

void countWork(Recorder& recorder, OpCensus& census, OpenOpWork& work,
               c10::ArrayRef<const c10::IValue> outputs) {
  const std::vector<SeenTensor> results = tensorsOf(outputs);
  const bool writesArguments = work.writesOver || work.hasOut;
  const bool isNothing = results.empty() && (work.arguments.empty() || !writesArguments);
  if (work.rule.traffic == Traffic::kNone || isNothing) return;
  double written = 0;
  bool isView = !writesArguments;
  for (const SeenTensor& each : results) {
    const bool isArgument =
        std::any_of(work.arguments.begin(), work.arguments.end(),
                    [&each](const SeenTensor& other) { return other.storage == each.storage; });
    isView = isView && isArgument;
    if (!isArgument || writesArguments) written += each.bytes;
  }
  if (isView) return;
  double read = sumOfBytes(work.arguments);
  // Ops over lists return nothing.
  if (results.empty()) written = work.hasOut ? read / 2 : read;
  if (work.rule.traffic == Traffic::kWrites || work.hasOut) read = std::max(read - written, 0.0);
  if (work.rule.traffic == Traffic::kGathers) read = std::min(read, 2 * written);
  if (work.rule.traffic == Traffic::kScatters) {
    const double into = work.arguments.empty() ? 0 : work.arguments[0].bytes;
    read = std::max(read - into, 0.0);
    written = read;
  }
  const double flops = flopsOf(work.rule.arithmetic, work.arguments, results);
  if (work.arguments.empty()) {
    work.shapes = recorder.names().internBulk(writeShapes(outputs));
  }
  work.isCounted = true;
  work.hasFlops = flops > 0;
  census.add(work.key,
             {static_cast<std::uint64_t>(read + written), static_cast<std::uint64_t>(flops)},
             work.shapes);
}

std::unique_ptr<at::ObserverContext> beginCounted(const at::RecordFunction& function) {
  try {
    return beginWork(function);
  } catch (const std::exception&) {
    return nullptr;
  }
}

void endCounted(const at::RecordFunction& function, at::ObserverContext* context) {
  auto* work = static_cast<OpenOpWork*>(context);
  if (!work) return;
  openWork = work->outer;
  Recorder* recorder = Recorder::active();
  OpCensus* census = counting.load(std::memory_order_acquire);
  try {
    const bool lacksFlops = work->rule.arithmetic != Arithmetic::kLittle && !work->hasFlops;
    if (recorder && census && (!work->isCounted || lacksFlops)) {
      // Of a boxed call they are the whole stack, whose end are its results.
      const std::vector<c10::IValue>& stack = function.outputs();
      const std::size_t number = std::min(function.num_outputs(), stack.size());
      countWork(*recorder, *census, *work,
                c10::ArrayRef<const c10::IValue>(stack.data() + stack.size() - number, number));
    }
  } catch (const std::exception&) {
    // The op is not counted.
  }
  if (!work->outer) return;
  work->outer->isCounted |= work->isCounted;
  work->outer->hasFlops |= work->hasFlops;
}

}  // namespace

CensusOps::CensusOps(Recorder& recorder) : recorder_(recorder) {
  callback_ = at::addGlobalCallback(at::RecordFunctionCallback(&beginCounted, &endCounted)
                                        .needsInputs(true)
                                        .needsOutputs(true)
                                        .scopes({at::RecordScope::FUNCTION}));
  at::disableCallback(callback_);
}

CensusOps::~CensusOps() {
  end(true);
  at::removeCallback(callback_);
}

void CensusOps::silence() noexcept {
  counting.store(nullptr, std::memory_order_release);
}

void CensusOps::noteBorder(std::uint32_t step, StepBorder border) {
  if (border == StepBorder::kMayEnd) {
    if (step + 1 == counted_) begin();
    if (counting.load(std::memory_order_acquire)) theCensus().nextMayBegin();
    return;
  }
  if (isInEvaluation_ || (isInStep_ && step != counted_)) return end(border == StepBorder::kBegins);
  const auto next = std::lower_bound(kSteps.begin(), kSteps.end(), step);
  if (next != kSteps.end()) counted_ = *next;
  if (step != counted_) return;
  begin();
  isInStep_ = isCounting_;
  if (counting.load(std::memory_order_acquire)) {
    theCensus().dropBefore(border == StepBorder::kBeganEarlier);
  }
}

void CensusOps::noteEvaluation() {
  if (hadEvaluation_ || isCounting_ || recorder_.step() < kFirstStep) return;
  ofEvaluation.store(true, std::memory_order_relaxed);
  opsLeft.store(kMostEvaluationOps, std::memory_order_relaxed);
  begin();
  isInEvaluation_ = hadEvaluation_ = isCounting_;
}

void CensusOps::noteEvaluationPart() {
  if (isInEvaluation_ && opsLeft.load(std::memory_order_relaxed) <= 0) end(true);
}

void CensusOps::begin() {
  if (isCounting_ || recorder_.level() == events::ProbeLevel::Off) return;
  isCounting_ = true;
  counting.store(&theCensus(), std::memory_order_release);
  at::reenableCallback(callback_);
}

void CensusOps::end(bool withNext) {
  if (!isCounting_) return;
  isCounting_ = false;
  at::disableCallback(callback_);
  // Of a silenced one another thread of the process before a fork may have held the lock.
  const bool isSilenced = counting.exchange(nullptr, std::memory_order_acq_rel) == nullptr;
  const bool isOfStep = std::exchange(isInStep_, false);
  const bool isOfEvaluation = std::exchange(isInEvaluation_, false);
  ofEvaluation.store(false, std::memory_order_relaxed);
  if (isSilenced) return;
  if (isOfStep || isOfEvaluation) {
    theCensus().record(recorder_, isOfStep ? counted_ : 0, withNext);
  } else {
    theCensus().dropBefore(false);
  }
}

}  // namespace highwater::probe
