#include "bench/both_observers.h"

#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "bench/recorded_frames.h"

namespace highwater::bench {
namespace {

/// What the frames of one recording say of ops.
class ProbeOps {
 public:
  void take(const Definitions& definitions) {
    for (const NameDefinition& each : definitions.names) names_[each.id] = each.text;
  }
  void take(const EventBatch& batch) {
    for (const events::OpSpan& op : batch.ops) ops_[op.thread()].push_back(op);
    for (const events::DropRecord& drop : batch.drops) dropped_ += drop.count();
  }
  template <typename T>
  void take(const T&) {}

  /// Depths as they were recorded; a problem where the times say otherwise.
  void into(BothTraces& traces) const {
    if (dropped_ > 0) traces.problem = std::to_string(dropped_) + " events were dropped";
    for (const auto& [thread, spans] : ops_) {
      OpTrace trace;
      for (const events::OpSpan& span : spans) {
        trace.push_back({names_.at(span.op()), span.begin_ns(), span.duration_ns(), span.depth()});
      }
      traces.probe.push_back(nested(std::move(trace), traces.problem));
    }
  }

 private:
  static OpTrace nested(OpTrace trace, std::string& problem) {
    std::stable_sort(trace.begin(), trace.end(), [](const TracedOp& a, const TracedOp& b) {
      return a.beginNs != b.beginNs ? a.beginNs < b.beginNs : a.depth < b.depth;
    });
    OpTrace byTime = trace;
    nestByTime(byTime);
    const std::string difference = firstDifference(trace, byTime);
    if (!difference.empty())
      problem = "the probe's depths are not those of its times: " + difference;
    return byTime;
  }

  std::map<NameId, std::string> names_;
  std::map<ThreadId, std::vector<events::OpSpan>> ops_;
  std::uint64_t dropped_ = 0;
};

void readProbe(int fd, BothTraces& traces) {
  ProbeOps ops;
  forEachMessage(fd, [&ops](const auto& each) { ops.take(each); });
  ops.into(traces);
}

void readKineto(const torch::autograd::profiler::ProfilerResult& result, BothTraces& traces) {
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
  for (auto& [thread, trace] : threads) {
    nestByTime(trace);
    traces.kineto.push_back(std::move(trace));
  }
}

void orderThreads(std::vector<OpTrace>& threads) {
  std::sort(threads.begin(), threads.end(), [](const OpTrace& a, const OpTrace& b) {
    return a.front().beginNs < b.front().beginNs;
  });
}

}  // namespace

BothTraces recordWithBoth(ClassifierStep& step, const DeviceReport& device, int steps) {
  using namespace torch::autograd::profiler;
  BothTraces traces;
  const TemporaryFile file = makeTemporaryFile();
  if (!file) {
    traces.problem = "no temporary file can be made";
    return traces;
  }
  const int fd = ::fileno(file.get());
  const ProfilerConfig config(ProfilerState::KINETO);
  const std::set<ActivityType> activities{ActivityType::CPU};
  std::unique_ptr<ProfilerResult> result;
  {
    WorkerProbe probe(device, fd, events::ProbeLevel::Ops);
    prepareProfiler(config, activities);
    enableProfiler(config, activities);
    for (int i = 1; i <= steps; ++i) step.run(&probe, static_cast<std::uint32_t>(i));
    result = disableProfiler();
    step.finish();
  }
  readProbe(fd, traces);
  readKineto(*result, traces);
  orderThreads(traces.probe);
  orderThreads(traces.kineto);
  return traces;
}

std::string firstDifference(const BothTraces& traces) {
  if (traces.probe.size() != traces.kineto.size()) {
    return "the probe saw ops on " + std::to_string(traces.probe.size()) + " threads, kineto on " +
           std::to_string(traces.kineto.size());
  }
  for (std::size_t i = 0; i < traces.probe.size(); ++i) {
    const std::string difference = firstDifference(traces.probe[i], traces.kineto[i]);
    if (!difference.empty()) return "thread " + std::to_string(i) + ": " + difference;
  }
  return {};
}

}  // namespace highwater::bench
