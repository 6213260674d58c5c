// Trains the classifier on the simulated device for 20 steps, observed by the probe at level ops
// and at the same time by PyTorch's own profiler (kineto, CPU activities, no shapes). Both must see
// the same ops on each thread, in the same order and nesting. A process of its own, because torch's
// headers do not compile together with Qt's.

#include <torch/csrc/autograd/profiler_kineto.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <utility>
#include <variant>

#include "core/clock.h"
#include "op_trace.h"
#include "probe/observer/op_observer.h"
#include "probe/stream/frame_writer.h"
#include "probe/stream/sender.h"
#include "process/device.h"
#include "support/recorded_frames.h"
#include "worker/training/model.h"

using namespace highwater;
using test::OpTrace;
using test::TracedOp;
using torch::autograd::profiler::ProfilerResult;

namespace {

constexpr int kSteps = 20;
constexpr int kWarmUpSteps = 2;

/// The classifier with a batch on the simulated device.
class Training {
 public:
  Training() : model_(worker::ModelSize{"small", 64, 2, 4, 64}, kVocabulary, kLabels) {
    torch::manual_seed(1);
    const torch::Device device(torch::kMPS, 0);
    model_->to(device);
    optimizer_ = std::make_unique<torch::optim::AdamW>(model_->parameters(),
                                                       torch::optim::AdamWOptions(1e-3));
    ids_ = torch::randint(2, kVocabulary, {kBatch, kLength}, torch::kInt64).to(device);
    labels_ = torch::randint(0, kLabels, {kBatch}, torch::kInt64).to(device);
  }
  void step() {
    const torch::Tensor loss = torch::nn::functional::cross_entropy(model_(ids_), labels_);
    optimizer_->zero_grad();
    loss.backward();
    optimizer_->step();
  }

 private:
  static constexpr std::int64_t kVocabulary = 2000, kLabels = 5, kBatch = 8, kLength = 32;

  worker::IssueClassifier model_;
  std::unique_ptr<torch::optim::AdamW> optimizer_;
  torch::Tensor ids_, labels_;
};

/// The ops in the probe's frames.
class ProbeOps {
 public:
  void take(const Message& message) {
    if (const auto* definitions = std::get_if<Definitions>(&message)) {
      for (const NameDefinition& each : definitions->names) names_[each.id] = each.text;
    }
    if (const auto* batch = std::get_if<EventBatch>(&message)) {
      for (const events::OpSpan& op : batch->ops) ops_[op.thread()].push_back(op);
      for (const events::DropRecord& drop : batch->drops) dropped_ += drop.count();
    }
  }

  /// Throws if events were dropped, or where the recorded depths are not those of the times.
  [[nodiscard]] std::vector<OpTrace> traces() const {
    if (dropped_ > 0) throw std::runtime_error(std::to_string(dropped_) + " events were dropped");
    std::vector<OpTrace> traces;
    for (const auto& [thread, spans] : ops_) {
      OpTrace trace;
      for (const events::OpSpan& span : spans) {
        trace.push_back({names_.at(span.op()), span.begin_ns(), span.duration_ns(), span.depth()});
      }
      std::stable_sort(trace.begin(), trace.end(), [](const TracedOp& a, const TracedOp& b) {
        return a.beginNs != b.beginNs ? a.beginNs < b.beginNs : a.depth < b.depth;
      });
      OpTrace byTime = trace;
      test::nestByTime(byTime);
      const std::string difference = test::firstDifference(trace, byTime);
      if (!difference.empty()) {
        throw std::runtime_error("the probe's depths are not those of its times: " + difference);
      }
      traces.push_back(std::move(byTime));
    }
    return traces;
  }

 private:
  std::map<NameId, std::string> names_;
  std::map<ThreadId, std::vector<events::OpSpan>> ops_;
  std::uint64_t dropped_ = 0;
};

std::vector<OpTrace> kinetoTraces(const ProfilerResult& result) {
  std::map<std::uint64_t, OpTrace> threads;
  for (const auto& event : result.events()) {
    // Ops and nodes of backward: kineto knows scopes of users, too, and activities of its own.
    const auto scope = static_cast<at::RecordScope>(event.scope());
    if (event.isAsync() || event.isPythonFunction() ||
        (scope != at::RecordScope::FUNCTION && scope != at::RecordScope::BACKWARD_FUNCTION)) {
      continue;
    }
    threads[event.startThreadId()].push_back({event.name(),
                                              static_cast<std::int64_t>(event.startNs()),
                                              static_cast<std::int64_t>(event.durationNs())});
  }
  std::vector<OpTrace> traces;
  for (auto& [thread, trace] : threads) {
    test::nestByTime(trace);
    traces.push_back(std::move(trace));
  }
  return traces;
}

/// What two observers saw of the same steps, the threads in the order of their first op.
struct BothTraces {
  std::vector<OpTrace> probe, kineto;
};

BothTraces recordWithBoth(Training& training, int steps) {
  using namespace torch::autograd::profiler;
  const test::OpenFile file(std::tmpfile());
  if (!file) throw std::runtime_error("no temporary file can be made");
  const ProfilerConfig config(ProfilerState::KINETO);
  const std::set<ActivityType> activities{ActivityType::CPU};
  std::unique_ptr<ProfilerResult> result;
  {
    probe::Recorder recorder(RunClock::startingNow());
    recorder.setLevel(events::ProbeLevel::Ops);
    probe::FrameWriter writer(::fileno(file.get()));
    probe::Sender sender(recorder, writer);
    sender.start();
    {
      const probe::OpObserver observer(recorder);
      prepareProfiler(config, activities);
      enableProfiler(config, activities);
      for (int i = 0; i < steps; ++i) training.step();
      result = disableProfiler();
      torch::mps::synchronize();
    }
    sender.stop();
  }
  std::rewind(file.get());
  ProbeOps ops;
  test::forEachFrame(file.get(), [&ops](const Message& message) { ops.take(message); });
  BothTraces traces{ops.traces(), kinetoTraces(*result)};
  for (auto* threads : {&traces.probe, &traces.kineto}) {
    std::sort(threads->begin(), threads->end(), [](const OpTrace& a, const OpTrace& b) {
      return a.front().beginNs < b.front().beginNs;
    });
  }
  return traces;
}

void compare() {
  Training training;
  (void)recordWithBoth(training, kWarmUpSteps);
  const BothTraces traces = recordWithBoth(training, kSteps);
  // Forward and optimizer on one thread, backward on the other.
  if (traces.probe.size() != 2 || traces.kineto.size() != 2) {
    throw std::runtime_error("the probe saw ops on " + std::to_string(traces.probe.size()) +
                             " threads, kineto on " + std::to_string(traces.kineto.size()) +
                             "; 2 are expected");
  }
  for (std::size_t thread = 0; thread < 2; ++thread) {
    const OpTrace& trace = traces.probe[thread];
    const std::string difference = test::firstDifference(trace, traces.kineto[thread]);
    if (!difference.empty()) throw std::runtime_error(difference);
    std::uint32_t deepest = 0;
    for (const TracedOp& op : trace) deepest = std::max(deepest, op.depth);
    std::printf("%zu ops, %u deep\n", trace.size(), deepest);
    // Hundreds of ops a step on each thread.
    if (trace.size() < std::size_t{100} * kSteps || deepest < 2) {
      throw std::runtime_error("too few for 20 steps of training");
    }
  }
}

}  // namespace

int main() {
  try {
    const auto device = process::chooseDevice("sim");
    if (!device) throw std::runtime_error(device.error().message);
    compare();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ops_trace_check: %s\n", error.what());
    return 1;
  }
}
