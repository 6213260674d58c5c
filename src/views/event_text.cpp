#include "views/event_text.h"

#include <QCoreApplication>

#include "core/names.h"
#include "core/units.h"
#include "models/op_totals_model.h"

namespace highwater::views {

using analysis::LiveStore;

namespace {

QString text(const std::string& s) {
  return QString::fromStdString(s);
}
QString text(std::string_view s) {
  return QString::fromUtf8(s.data(), qsizetype(s.size()));
}
QString tr(const char* s) {
  return QCoreApplication::translate("EventText", s);
}

/// Ops last microseconds.
QString opDuration(std::int64_t ns) {
  return ns < 1'000'000 ? tr("%1 µs").arg(static_cast<double>(ns) / 1e3, 0, 'f', 1)
                        : text(formatDuration(ns));
}

QString inStep(std::uint32_t step, events::Phase phase) {
  return tr("step %1, %2").arg(step).arg(text(phaseName(phase)));
}

void addPlace(QStringList& details, const LiveStore& store, ModuleId module, CallSiteId site) {
  for (const QString& place : {text(store.modulePath(module)), text(store.callSite(site))}) {
    if (!place.isEmpty()) {
      details << place;
    }
  }
}

EventText stepText(const LiveStore& store, std::uint32_t index, const Theme& theme) {
  const auto& step = store.steps().records[index];
  EventText t{Glyph::kSquare,
              theme.neutralBar,
              tr("step %1").arg(step.step()),
              text(formatDuration(step.duration_ns())),
              {}};
  t.details
      << tr("batch size %1, sequence length %2").arg(step.batch_size()).arg(step.sequence_length())
      << tr("%1 tokens/s").arg(text(formatRate(store.steps().tokensPerS[index])));
  if (store.hasMemoryCounters()) {
    t.details << tr("peak %1 (%2)")
                     .arg(text(formatBytes(step.peak_current_bytes())),
                          step.peak_current_exact() ? tr("exact") : tr("sampled"));
  }
  if (step.loss_read()) {
    t.details << tr("loss %1").arg(double(step.loss()), 0, 'f', 3);
  }
  return t;
}

EventText syncText(const LiveStore& store, std::uint32_t index, const Theme& theme) {
  const auto& sync = store.syncPoints()[index];
  const bool planned = sync.deliberate() != 0;
  EventText t{planned ? Glyph::kHollowTriangle : Glyph::kTriangle,
              planned ? theme.sky : theme.orange,
              models::shortOpName(store.name(sync.op())),
              tr("waited %1").arg(text(formatDuration(sync.duration_ns()))),
              {}};
  t.details << tr("%1, %2").arg(text(syncKindName(sync.kind())),
                                planned ? tr("planned") : tr("unplanned"));
  if (sync.bytes() > 0) {
    t.details << text(formatBytes(sync.bytes()));
  }
  t.details << inStep(sync.step(), sync.phase());
  addPlace(t.details, store, sync.module_id(), sync.call_site());
  return t;
}

EventText fallbackText(const LiveStore& store, std::uint32_t index, const Theme& theme) {
  const auto& fallback = store.fallbacks()[index];
  EventText t{Glyph::kDiamond,
              theme.vermillion,
              models::shortOpName(store.name(fallback.op())),
              tr("%1 in the fallback").arg(text(formatDuration(fallback.duration_ns()))),
              {}};
  t.details << tr("%1 there, %2 back")
                   .arg(text(formatBytes(fallback.bytes_to_cpu())),
                        text(formatBytes(fallback.bytes_to_device())))
            << inStep(fallback.step(), fallback.phase());
  addPlace(t.details, store, fallback.module_id(), fallback.call_site());
  return t;
}

EventText opText(const LiveStore& store, std::uint32_t row, const Theme& theme) {
  const events::OpSpan& op = *store.ops().at(row);
  EventText t{Glyph::kSquare,
              theme.phase(op.phase()),
              opForms(store.name(op.op())).back(),
              opDuration(op.duration_ns()),
              {}};
  t.details << inStep(op.step(), op.phase());
  addPlace(t.details, store, op.module_id(), kNoId);
  if (op.shapes() != kNoId) {
    t.details << text(store.name(op.shapes()));
  }
  if (op.current_bytes() >= 0) {
    t.details << tr("%1 after").arg(text(formatBytes(std::uint64_t(op.current_bytes()))));
  }
  const QString thread = text(store.threadName(op.thread()));
  t.details << (thread.startsWith(QLatin1String("thread ")) ? thread : tr("thread %1").arg(thread));
  return t;
}

QString atTime(std::int64_t ns) {
  return text(formatRunTime(ns, 6));
}

/// What sync points, fallbacks and ops have in common.
template <typename Event>
std::vector<EventFact> callFacts(const LiveStore& store, const Event& event) {
  return {{tr("Op"), text(store.name(event.op()))},
          {tr("Host time"), opDuration(event.duration_ns())},
          {tr("At"), atTime(event.begin_ns())},
          {tr("Step"), QString::number(event.step())},
          {tr("Phase"), text(phaseName(event.phase()))},
          {tr("Module"), text(store.modulePath(event.module_id()))},
          {tr("Thread"), text(store.threadName(event.thread()))}};
}

std::vector<EventFact> opFacts(const LiveStore& store, const events::OpSpan& op) {
  std::vector<EventFact> facts = callFacts(store, op);
  facts.insert(facts.begin() + 2, {tr("Self time"), opDuration(store.ops().selfNs(op))});
  facts.push_back({tr("Backward"), op.backward() != 0 ? tr("yes") : tr("no")});
  facts.push_back({tr("Shapes"), text(store.name(op.shapes()))});
  if (op.grown_bytes() > 0) {
    facts.push_back({tr("Allocated"), text(formatBytes(op.grown_bytes()))});
  }
  if (op.current_bytes() >= 0) {
    facts.push_back(
        {tr("Memory after"), text(formatBytes(static_cast<std::uint64_t>(op.current_bytes())))});
  }
  return facts;
}

std::vector<EventFact> syncFacts(const LiveStore& store, const events::SyncPoint& sync) {
  std::vector<EventFact> facts = callFacts(store, sync);
  facts[1].name = tr("Waited");
  facts.push_back({tr("Kind"), text(syncKindName(sync.kind()))});
  facts.push_back({tr("Planned"), sync.deliberate() != 0 ? tr("yes") : tr("no")});
  facts.push_back({tr("Bytes"), sync.bytes() > 0 ? text(formatBytes(sync.bytes())) : QString()});
  facts.push_back({tr("Call site"), text(store.callStack(sync.call_site()))});
  return facts;
}

std::vector<EventFact> fallbackFacts(const LiveStore& store,
                                     const events::FallbackEvent& fallback) {
  std::vector<EventFact> facts = callFacts(store, fallback);
  facts[1].name = tr("Held up");
  facts.push_back({tr("Wait in it"), text(formatDuration(fallback.wait_ns()))});
  facts.push_back({tr("To the CPU"), text(formatBytes(fallback.bytes_to_cpu()))});
  facts.push_back({tr("To the device"), text(formatBytes(fallback.bytes_to_device()))});
  if (const FallbackAcceptance* accepted = store.acceptanceOf(store.name(fallback.op()))) {
    facts.push_back(
        {tr("Accepted"), accepted->reason.empty() ? tr("yes") : text(accepted->reason)});
  }
  facts.push_back({tr("Call site"), text(store.callStack(fallback.call_site()))});
  return facts;
}

std::vector<EventFact> endFacts(const LiveStore& store, const RunEnd& end) {
  return {{tr("End of the run"), endMarkText(end)},
          {tr("At"), atTime(store.completeUpToNs())},
          {tr("Message"), text(end.message)},
          {tr("Open op"), text(end.openOp)}};
}

/// The facts of an event that exists, also such as are not known.
std::vector<EventFact> allFacts(const LiveStore& store, const EventRef& event) {
  const std::uint32_t i = event.index;
  switch (event.lane) {
    case Lane::kSyncPoints:
      return syncFacts(store, store.syncPoints()[i]);
    case Lane::kFallbacks:
      return fallbackFacts(store, store.fallbacks()[i]);
    case Lane::kOps:
      return opFacts(store, *store.ops().at(i));
    case Lane::kPhases: {
      const auto& phase = store.phases()[i];
      return {{tr("Phase"), text(phaseName(phase.phase()))},
              {tr("Host time"), text(formatDuration(phase.duration_ns()))},
              {tr("At"), atTime(phase.begin_ns())},
              {tr("Step"), QString::number(phase.step())}};
    }
    case Lane::kSteps: {
      const auto& step = store.steps().records[i];
      return {{tr("Step"), QString::number(step.step())},
              {tr("Host time"), text(formatDuration(step.duration_ns()))},
              {tr("At"), atTime(step.begin_ns())},
              {tr("Batch size"), QString::number(step.batch_size())},
              {tr("Sequence length"), QString::number(step.sequence_length())},
              {tr("Loss"),
               step.loss_read() ? QString::number(double(step.loss()), 'f', 3) : tr("not read")}};
    }
    case Lane::kMarkers: {
      if (i == store.markers().size()) {
        return endFacts(store, *store.end());
      }
      const auto& marker = store.markers()[i];
      return {{tr("Marker"), text(store.markerText(marker))},
              {tr("At"), atTime(marker.time_ns())},
              {tr("From step"), QString::number(marker.step())}};
    }
  }
  return {};
}

}  // namespace

QStringList opForms(const std::string& name) {
  const QString full = text(name);
  // "autograd::engine::evaluate_function: MulBackward0"
  if (const auto node = full.lastIndexOf(QLatin1String(": ")); node >= 0) {
    return {full, full.mid(node + 2)};
  }
  const QString own = models::shortOpName(name);
  return own == full ? QStringList{full} : QStringList{full, own};
}

std::vector<EventFact> eventFacts(const LiveStore& store, const EventRef& event) {
  if (!exists(store, event)) {
    return {};
  }
  std::vector<EventFact> facts = allFacts(store, event);
  std::erase_if(facts, [](const EventFact& fact) { return fact.value.isEmpty(); });
  return facts;
}

QString EventText::joined() const {
  QStringList lines{length.isEmpty() ? name : name + QStringLiteral(": ") + length};
  return (lines + details).join(QLatin1Char('\n'));
}

QStringList markerForms(const LiveStore& store, const events::Marker& marker) {
  const QString full = text(store.markerText(marker));
  const QString after = QString::number(marker.value_after(), 'g', 6);
  switch (marker.kind()) {
    case events::MarkerKind::BatchSize:
      return {full, tr("batch %1").arg(after)};
    case events::MarkerKind::SequenceLength:
      return {full, tr("sequence %1").arg(after), tr("seq %1").arg(after)};
    case events::MarkerKind::LossInterval:
      return {full, tr("loss every %1").arg(after)};
    case events::MarkerKind::ProbeLevel:
      return {full, full.section(QLatin1Char(' '), -1)};
    default:
      return {full};
  }
}

QString eventTitle(const LiveStore& store, const EventRef& event) {
  const QString name = eventText(store, event).name;
  const auto withStep = [&name](std::uint32_t step) {
    return step > 0 ? tr("%1, step %2").arg(name).arg(step) : name;
  };
  if (!exists(store, event)) {
    return name;
  }
  switch (event.lane) {
    case Lane::kPhases:
      return withStep(store.phases()[event.index].step());
    case Lane::kSyncPoints:
      return withStep(store.syncPoints()[event.index].step());
    case Lane::kFallbacks:
      return withStep(store.fallbacks()[event.index].step());
    case Lane::kOps:
      return withStep(store.ops().at(event.index)->step());
    case Lane::kSteps:
    case Lane::kMarkers:
      break;
  }
  return name;
}

EventText eventText(const LiveStore& store, const EventRef& event, const Theme& theme) {
  const std::uint32_t i = event.index;
  switch (event.lane) {
    case Lane::kSteps:
      return i < store.steps().records.size() ? stepText(store, i, theme) : EventText{};
    case Lane::kPhases: {
      if (i >= store.phases().size()) {
        return {};
      }
      const auto& phase = store.phases()[i];
      return {Glyph::kSquare,
              theme.phase(phase.phase()),
              text(phaseName(phase.phase())),
              text(formatDuration(phase.duration_ns())),
              {tr("step %1").arg(phase.step())}};
    }
    case Lane::kSyncPoints:
      return i < store.syncPoints().size() ? syncText(store, i, theme) : EventText{};
    case Lane::kFallbacks:
      return i < store.fallbacks().size() ? fallbackText(store, i, theme) : EventText{};
    case Lane::kMarkers: {
      if (i == store.markers().size() && endMark(store)) {
        const RunEnd& end = *endMark(store);
        return {Glyph::kOctagon, theme.vermillion, endMarkText(end), {}, {text(end.message)}};
      }
      if (i >= store.markers().size()) {
        return {};
      }
      const auto& marker = store.markers()[i];
      return {markerGlyph(marker.kind()),
              markerColor(marker.kind(), theme),
              text(store.markerText(marker)),
              {},
              {tr("from step %1").arg(marker.step())}};
    }
    case Lane::kOps:
      return store.ops().at(i) ? opText(store, i, theme) : EventText{};
  }
  return {};
}

}  // namespace highwater::views
