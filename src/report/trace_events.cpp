#include "report/trace_events.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/names.h"
#include "core/plain_text.h"
#include "report/report_values.h"

namespace highwater::report {
namespace {

constexpr std::int64_t kBaseEveryNs = std::int64_t{7'889'238} * 1'000'000'000;

/// A span of a thread. The name is set apart.
template <typename Event>
TraceEvent spanOf(const Event& event, TraceLane lane, std::string_view category, ThreadId thread) {
  TraceEvent span;
  span.lane = lane;
  span.category = category;
  span.thread = thread;
  span.durationNs = event.duration_ns();
  return span;
}

TraceEvent instant(TraceLane lane, std::string_view category, ThreadId thread) {
  TraceEvent event;
  event.kind = TraceEvent::Kind::kInstant;
  event.lane = lane;
  event.category = category;
  event.thread = thread;
  return event;
}

}  // namespace

TraceEvents::TraceEvents(TraceFormat& format, std::optional<analysis::TimeRange> range)
    : format_(format), range_(range) {}

void TraceEvents::take(std::span<const std::uint8_t>, const Message& message) {
  if (const auto* hello = std::get_if<Hello>(&message)) {
    run_.hello = *hello;
    const std::int64_t startNs = hello->clock.unixEpochNs;
    run_.epochNs = startNs - startNs % kBaseEveryNs;
  } else if (const auto* run = std::get_if<RunDescription>(&message)) {
    run_.program = run->workload;
  } else if (const auto* defined = std::get_if<Definitions>(&message)) {
    definitions_.add(*defined);
    for (const ThreadDefinition& thread : defined->threads) {
      const std::string name = plainText(thread.name);
      format_.thread(run_, thread.id, {0, name});
      if (thread.name == "training") training_ = thread.id;
    }
  } else if (const auto* batch = std::get_if<EventBatch>(&message)) {
    takeBatch(*batch);
  } else if (const auto* note = std::get_if<Note>(&message)) {
    if (!isAsked(range_, note->timeNs, note->timeNs)) return;
    const std::string text = plainText(note->text);
    ++written_;
    TraceEvent event = instant(TraceLane::kMarkers, "note", training_);
    event.name = {0, text};
    giveEvent(event, note->timeNs);
  }
  format_.endBatch();
}

void TraceEvents::finish() {
  format_.finish(run_);
}

void TraceEvents::takeBatch(const EventBatch& batch) {
  for (const events::DropRecord& drop : batch.drops) {
    run_.dropped += drop.count();
  }
  giveAll(batch.steps);
  giveAll(batch.phases);
  giveAll(batch.namedSpans);
  giveAll(batch.ops);
  giveAll(batch.syncPoints);
  giveAll(batch.fallbacks);
  giveAll(batch.markers);
  giveAll(batch.evaluations);
  giveAll(batch.hostSamples);
  giveAll(batch.memorySamples);
  giveAll(batch.systemSamples);
  giveAll(batch.machineSamples);
}

template <typename Event>
void TraceEvents::giveAll(std::span<const Event> events) {
  for (const Event& event : events) {
    if (!isAsked(range_, beginNsOf(event), endNsOf(event))) continue;
    give(event);
    ++written_;
  }
}

void TraceEvents::give(const events::StepRecord& step) {
  const std::string name = "ProfilerStep#" + std::to_string(step.step());
  TraceEvent span = spanOf(step, TraceLane::kSteps, "user_annotation", training_);
  span.name = {0, name};
  arguments_ = {{"batch_size", std::uint64_t{step.batch_size()}}};
  if (step.sequence_length() > 0) {
    arguments_.push_back({"sequence_length", std::uint64_t{step.sequence_length()}});
    arguments_.push_back({"tokens", std::uint64_t{step.tokens()}});
  }
  if (step.loss_read() != 0) arguments_.push_back({"loss", static_cast<double>(step.loss())});
  arguments_.push_back({"peak_current_bytes", step.peak_current_bytes()});
  arguments_.push_back({"peak_driver_bytes", step.peak_driver_bytes()});
  giveEvent(span, step.begin_ns());
}

void TraceEvents::give(const events::PhaseSpan& phase) {
  TraceEvent span = spanOf(phase, TraceLane::kPhases, "phase", phase.thread());
  span.name = intern(phaseName(phase.phase()));
  arguments_ = {{"step", std::uint64_t{phase.step()}}};
  giveEvent(span, phase.begin_ns());
}

void TraceEvents::give(const events::NamedSpan& named) {
  TraceEvent span = spanOf(named, TraceLane::kRegions, "user_annotation", named.thread());
  span.name = textOfName(named.name());
  arguments_ = {{"step", std::uint64_t{named.step()}}};
  giveEvent(span, named.begin_ns());
}

void TraceEvents::give(const events::OpSpan& op) {
  TraceEvent span = spanOf(op, TraceLane::kOps, "cpu_op", op.thread());
  span.depth = op.depth();
  span.name = textOfName(op.op());
  arguments_ = {{"step", std::uint64_t{op.step()}}};
  if (op.shapes() != kNoId) arguments_.push_back({"shapes", textOfName(op.shapes())});
  addPlace(op.module_id(), kNoId);
  if (op.phase() != events::Phase::None) {
    arguments_.push_back({"phase", intern(phaseName(op.phase()))});
  }
  if (op.grown_bytes() > 0) {
    arguments_.push_back({"grown_bytes", static_cast<std::uint64_t>(op.grown_bytes())});
  }
  giveEvent(span, op.begin_ns());
}

void TraceEvents::give(const events::SyncPoint& sync) {
  TraceEvent span = spanOf(sync, TraceLane::kWaits, "wait", sync.thread());
  span.name = intern("wait: " + std::string(syncKindName(sync.kind())));
  arguments_ = {{"step", std::uint64_t{sync.step()}},
                {"op", textOfName(sync.op())},
                {"bytes", std::uint64_t{sync.bytes()}}};
  addPlace(sync.module_id(), sync.call_site());
  giveEvent(span, sync.begin_ns());
}

void TraceEvents::give(const events::FallbackEvent& fallback) {
  TraceEvent span = spanOf(fallback, TraceLane::kFallbacks, "fallback", fallback.thread());
  span.name = intern("on the CPU: " + definitions_.name(fallback.op()));
  arguments_ = {{"step", std::uint64_t{fallback.step()}},
                {"wait_ms", static_cast<double>(fallback.wait_ns()) / 1e6},
                {"bytes_to_cpu", std::uint64_t{fallback.bytes_to_cpu()}},
                {"bytes_to_device", std::uint64_t{fallback.bytes_to_device()}}};
  addPlace(fallback.module_id(), fallback.call_site());
  giveEvent(span, fallback.begin_ns());
}

void TraceEvents::give(const events::Marker& marker) {
  const std::string text = plainText(definitions_.markerText(marker));
  TraceEvent event = instant(TraceLane::kMarkers, "marker", training_);
  event.name = {0, text};
  arguments_ = {{"step", std::uint64_t{marker.step()}},
                {"kind", intern(markerKindKey(marker.kind()))}};
  giveEvent(event, marker.time_ns());
}

void TraceEvents::give(const events::Evaluation& evaluation) {
  TraceEvent event = instant(TraceLane::kSamples, "evaluation", training_);
  event.name = intern("evaluation");
  arguments_ = {{"step", std::uint64_t{evaluation.step()}},
                {"samples", std::uint64_t{evaluation.samples()}},
                {"accuracy", static_cast<double>(evaluation.accuracy())},
                {"loss", static_cast<double>(evaluation.loss())}};
  giveEvent(event, evaluation.time_ns());
}

void TraceEvents::give(const events::HostSample& sample) {
  TraceEvent event = instant(TraceLane::kSamples, "host_sample", sample.thread());
  event.name = textOfSite(sample.call_site());
  arguments_ = {{"step", std::uint64_t{sample.step()}}};
  giveEvent(event, sample.time_ns());
}

void TraceEvents::give(const events::MemorySample& sample) {
  TraceEvent event;
  event.kind = TraceEvent::Kind::kCounter;
  event.lane = TraceLane::kCounters;
  event.category = "memory";
  event.name = intern("device memory");
  event.unit = "bytes";
  event.thread = training_;
  const std::uint64_t current = sample.current_bytes();
  // Chrome stacks the values of a counter.
  const std::uint64_t cached = sample.driver_bytes() - std::min(current, sample.driver_bytes());
  arguments_ = {{"current", current}, {"cached", cached}};
  giveEvent(event, sample.time_ns());
}

void TraceEvents::give(const events::SystemSample& sample) {
  counter("process footprint", "bytes", "footprint", sample.time_ns(),
          static_cast<double>(sample.footprint_bytes()));
  counter("swap", "bytes", "used", sample.time_ns(), static_cast<double>(sample.swap_used_bytes()));
  counter("GPU", "%", "busy", sample.time_ns(), static_cast<double>(sample.gpu_percent()));
}

void TraceEvents::give(const events::MachineSample& sample) {
  counter("compressor", "bytes", "occupied", sample.time_ns(),
          static_cast<double>(sample.compressor_bytes()));
  counter("GPU memory", "bytes", "in use", sample.time_ns(),
          static_cast<double>(sample.gpu_bytes()));
}

void TraceEvents::counter(std::string_view name, std::string_view unit, std::string_view key,
                          std::int64_t ns, double value) {
  if (!(value >= 0)) return;  // unknown
  TraceEvent event;
  event.kind = TraceEvent::Kind::kCounter;
  event.lane = TraceLane::kCounters;
  event.category = "system";
  event.name = intern(name);
  event.unit = unit;
  event.thread = training_;
  arguments_ = {{key, value}};
  giveEvent(event, ns);
}

void TraceEvents::giveEvent(TraceEvent event, std::int64_t ns) {
  event.beginNs = run_.hello.clock.unixEpochNs - run_.epochNs + ns;
  event.arguments = arguments_;
  format_.event(run_, event);
  arguments_.clear();
}

void TraceEvents::addPlace(ModuleId module, CallSiteId site) {
  if (module != kNoId) arguments_.push_back({"module", textOfModule(module)});
  if (site != kNoId) arguments_.push_back({"line", textOfSite(site)});
}

TraceText TraceEvents::intern(std::string_view text) {
  const auto id = static_cast<std::uint32_t>(interned_.size() + 1);
  const auto [found, isNew] = interned_.try_emplace(plainText(text), id);
  return {found->second, found->first};
}

TraceText TraceEvents::textOfName(NameId id) {
  const auto [found, isNew] = names_.try_emplace(id);
  if (isNew) found->second = intern(definitions_.name(id));
  return found->second;
}

TraceText TraceEvents::textOfModule(ModuleId id) {
  const auto [found, isNew] = modules_.try_emplace(id);
  if (isNew) found->second = intern(definitions_.modulePath(id));
  return found->second;
}

TraceText TraceEvents::textOfSite(CallSiteId id) {
  const auto [found, isNew] = sites_.try_emplace(id);
  if (isNew) found->second = intern(siteText(definitions_.callSiteParts(id)));
  return found->second;
}

}  // namespace highwater::report
