#include "worker/checks/dry_check.h"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>

#include "core/definition_table.h"
#include "core/fallback_advice.h"
#include "core/names.h"
#include "core/sim_knobs.h"
#include "probe/observer/op_observer.h"
#include "probe/observer/op_table.h"
#include "process/running_torch.h"

namespace highwater::worker {

using Json = nlohmann::ordered_json;

namespace {

/// The open ops of a thread, outermost first: for each, whether it or an op around it would run as
/// one on `mps` (by a kernel or a fallback), so that the ops beneath it do not count.
struct OpenOps {
  std::vector<bool> covered;
};

OpenOps& openOps() {
  static thread_local OpenOps open;
  return open;
}

bool isFloat64(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.unsafeGetTensorImpl()->is_wrapped_number()) return false;
  return tensor.scalar_type() == at::kDouble || tensor.scalar_type() == at::kComplexDouble;
}

bool hasFloat64(c10::ArrayRef<const c10::IValue> inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [](const c10::IValue& input) {
    if (input.isTensor()) return isFloat64(input.toTensor());
    if (!input.isTensorList()) return false;
    const auto list = input.toTensorVector();
    return std::any_of(list.begin(), list.end(), &isFloat64);
  });
}

/// Collects the ops that would reach `mps`, from its construction to its destruction.
class OpCollector {
 public:
  OpCollector(probe::Recorder& recorder, bool allowFallback)
      : recorder_(recorder), allowFallback_(allowFallback) {
    active_ = this;
    callback_ = at::addGlobalCallback(
        at::RecordFunctionCallback(&OpCollector::onBegin, &OpCollector::onEnd)
            .needsInputs(true)
            .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
  }
  ~OpCollector() {
    at::removeCallback(callback_);
    active_ = nullptr;
  }
  OpCollector(const OpCollector&) = delete;
  OpCollector& operator=(const OpCollector&) = delete;

  [[nodiscard]] DryReport report();

 private:
  struct Seen {
    probe::MpsRow row = probe::MpsRow::kKernel;
    bool float64 = false;
    std::uint32_t lastStep = 0;
    std::map<std::pair<events::Phase, ModuleId>, std::uint32_t> times;  // calls in lastStep
  };

  static std::unique_ptr<at::ObserverContext> onBegin(const at::RecordFunction& function);
  static void onEnd(const at::RecordFunction& function, at::ObserverContext* context);

  /// Notes the op. True where the ops beneath it do not count.
  bool look(const c10::OperatorName& name, c10::ArrayRef<const c10::IValue> inputs);
  void note(const c10::OperatorName& name, probe::MpsRow row, bool float64);
  [[nodiscard]] DryOp describe(const c10::OperatorName& name, const Seen& seen) const;
  void placesOf(const Seen& seen, DryOp& op) const;

  static inline OpCollector* active_ = nullptr;

  probe::Recorder& recorder_;
  bool allowFallback_;
  at::CallbackHandle callback_;
  std::mutex mutex_;
  probe::OpTable table_;
  DefinitionTable modules_;
  std::unordered_map<c10::OperatorName, Seen> seen_;
  std::set<std::string> unseen_;
};

std::unique_ptr<at::ObserverContext> OpCollector::onBegin(const at::RecordFunction& function) {
  auto& covered = openOps().covered;
  const bool outer = !covered.empty() && covered.back();
  const auto name = function.operator_name();
  covered.push_back(outer || (name && active_->look(*name, function.inputs())));
  return nullptr;
}

void OpCollector::onEnd(const at::RecordFunction& /*function*/, at::ObserverContext* /*context*/) {
  auto& covered = openOps().covered;
  if (!covered.empty()) covered.pop_back();
}

bool OpCollector::look(const c10::OperatorName& name, c10::ArrayRef<const c10::IValue> inputs) {
  const events::Phase phase = recorder_.phase();
  if (phase == events::Phase::None || phase == events::Phase::BatchAssembly ||
      phase == events::Phase::DeviceMove) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  const probe::MpsRow row = table_.row(name);
  if (row == probe::MpsRow::kParts) return false;
  if (row == probe::MpsRow::kUnseenParts || row == probe::MpsRow::kChosenByDevice) {
    unseen_.insert(c10::toString(name));
  } else {
    note(name, row, hasFloat64(inputs));
  }
  return true;
}

void OpCollector::note(const c10::OperatorName& name, probe::MpsRow row, bool float64) {
  Seen& seen = seen_[name];
  const std::uint32_t step = recorder_.step();
  if (seen.lastStep != step) seen.times.clear();
  seen.lastStep = step;
  seen.row = row;
  seen.float64 = seen.float64 || float64;
  ++seen.times[{recorder_.phase(), recorder_.currentModule()}];
}

void OpCollector::placesOf(const Seen& seen, DryOp& op) const {
  for (const auto& [place, times] : seen.times) {
    op.times[{place.first, modules_.modulePath(place.second)}] += times;
  }
}

DryOp OpCollector::describe(const c10::OperatorName& name, const Seen& seen) const {
  DryOp op;
  op.name = c10::toString(name);
  placesOf(seen, op);
  op.always = seen.row == probe::MpsRow::kAlwaysFallsBack;
  if (seen.float64) {
    op.fate = OpFate::kFloat64;
    op.why = "it has a float64 argument, and MPS has no float64";
  } else if (op.always) {
    op.fate = OpFate::kFallsBack;
    op.why = "PyTorch always runs it on the CPU, whatever the environment says";
  } else if (seen.row == probe::MpsRow::kFallback) {
    op.fate = allowFallback_ ? OpFate::kFallsBack : OpFate::kFails;
    op.why = "it has no MPS kernel";
  } else if (seen.row == probe::MpsRow::kRefuses) {
    op.fate = OpFate::kFails;
    op.why = "PyTorch has no working kernel for it on mps";
  }
  return op;
}

DryReport OpCollector::report() {
  const std::lock_guard lock(mutex_);
  Definitions definitions;
  while (recorder_.modules().takeNew(definitions)) {
  }
  modules_.add(definitions);
  DryReport report;
  for (const auto& [name, seen] : seen_) {
    DryOp op = describe(name, seen);
    ++report.checked;
    if (seen.row == probe::MpsRow::kKernel) ++report.withKernel;
    if (op.fate != OpFate::kKernel) report.findings.push_back(std::move(op));
  }
  std::sort(report.findings.begin(), report.findings.end(), [](const DryOp& a, const DryOp& b) {
    const bool aFails = a.fate != OpFate::kFallsBack, bFails = b.fate != OpFate::kFallsBack;
    return std::pair(!aFails, a.name) < std::pair(!bFails, b.name);
  });
  report.unseen.assign(unseen_.begin(), unseen_.end());
  return report;
}

/// Turns off the CPU's fast paths (oneDNN, flash attention), so that it calls the ops that other
/// backends call. Restores them at the end.
class PlainCpuPaths {
 public:
  PlainCpuPaths()
      : mkldnn_(at::globalContext().userEnabledMkldnn()),
        flash_(at::globalContext().userEnabledFlashSDP()) {
    at::globalContext().setUserEnabledMkldnn(false);
    at::globalContext().setSDPUseFlash(false);
  }
  ~PlainCpuPaths() {
    at::globalContext().setUserEnabledMkldnn(mkldnn_);
    at::globalContext().setSDPUseFlash(flash_);
  }
  PlainCpuPaths(const PlainCpuPaths&) = delete;
  PlainCpuPaths& operator=(const PlainCpuPaths&) = delete;

 private:
  bool mkldnn_, flash_;
};

std::string adviceFor(const DryOp& op) {
  if (op.fate == OpFate::kFloat64)
    return "convert its tensors to float32 before they go to the device";
  const std::string advice(fallbackAdvice(op.name));
  if (op.fate == OpFate::kFallsBack) {
    return advice + ", or accept it: each call waits for the queue and copies to the CPU and back";
  }
  return advice + ", or start with PYTORCH_ENABLE_MPS_FALLBACK=1 (highwater's --fallback)";
}

const char* fateKey(OpFate fate) {
  switch (fate) {
    case OpFate::kKernel:
      return "runs";
    case OpFate::kFallsBack:
      return "falls_back";
    default:
      return "fails";
  }
}

Json findingJson(const DryOp& op) {
  Json places = Json::array();
  std::uint32_t times = 0;
  for (const auto& [place, count] : op.times) {
    times += count;
    places.push_back(
        {{"phase", phaseKey(place.first)}, {"module", place.second}, {"times", count}});
  }
  Json json = {{"op", op.name}, {"happens", fateKey(op.fate)}};
  if (op.fate == OpFate::kFails) json["error"] = "NotImplementedError";
  if (op.fate == OpFate::kFloat64) json["error"] = "TypeError";
  json["why"] = op.why;
  json["always"] = op.always;
  json["times_a_step"] = times;
  json["places"] = std::move(places);
  json["advice"] = adviceFor(op);
  return json;
}

Json workloadJson(const TrainingSetup& setup) {
  return {{"name", kBuiltInWorkload},
          {"scenario", setup.options->scenario},
          {"preset", setup.sizes.model.preset},
          {"batch", setup.sizes.knobs.batchSize},
          {"seq", setup.sizes.knobs.sequenceLength}};
}

}  // namespace

bool fallbackAllowed() {
  const char* text = std::getenv(kMpsFallbackVariable);
  return text && std::atoi(text) != 0;
}

DryReport dryCheck(probe::Recorder& recorder, bool allowFallback,
                   const std::function<void()>& program) {
  const PlainCpuPaths plain;
  // Needed for the modules of forward and backward; its events are discarded.
  const probe::OpObserver observer(recorder);
  OpCollector collector(recorder, allowFallback);
  program();
  return collector.report();
}

Result<DryReport> dryCheckWorkload(TrainingSetup setup) {
  constexpr std::uint32_t kSteps = 2;
  Options options = *setup.options;
  options.steps = kSteps;
  options.probeLevel = events::ProbeLevel::Monitor;
  setup.options = &options;
  setup.device.selected = "cpu";
  process::RunControl control(setup.sizes.knobs,
                              {.sequenceLength = setup.sizes.model.maxSequenceLength}, kSteps);
  probe::Recorder recorder(RunClock::startingNow());
  // Skips the evaluation after the last step.
  const auto endAfterLast = [&] {
    if (recorder.step() == kSteps) control.hostGone();
  };
  auto training = Training::make(std::move(setup), {&recorder, nullptr, nullptr, endAfterLast});
  if (!training) return training.error();
  Training::Outcome outcome;
  DryReport report =
      dryCheck(recorder, fallbackAllowed(), [&] { outcome = (*training)->run(control); });
  if (outcome.failure) {
    return failure("the training step does not run on the CPU either: " + outcome.failure->message);
  }
  return report;
}

Json dryCheckJson(const DryReport& report, const TrainingSetup& setup) {
  Json findings = Json::array(), unseen = Json::array();
  for (const DryOp& each : report.findings) findings.push_back(findingJson(each));
  for (const std::string& each : report.unseen) unseen.push_back({{"op", each}});
  const char* verdict = report.fails() ? "fails" : findings.empty() ? "fine" : "falls_back";
  return {{"schema", 1},
          {"device", setup.device.selected},
          {"simulated", setup.device.simulated},
          {"torch", process::torchVersion()},
          {"fallback_allowed", fallbackAllowed()},
          {"workload", workloadJson(setup)},
          {"verdict", verdict},
          {"ops_checked", report.checked},
          {"ops_with_mps_kernel", report.withKernel},
          {"findings", std::move(findings)},
          {"unseen", std::move(unseen)}};
}

}  // namespace highwater::worker
