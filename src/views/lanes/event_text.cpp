#include "views/lanes/event_text.h"

#include "models/op_totals_model.h"
#include "views/lanes/event_words.h"
#include "views/lanes/lane_kind.h"

namespace highwater::views {

using analysis::LiveStore;

QString EventText::joined() const {
  QStringList lines{length.isEmpty() ? name : name + QStringLiteral(": ") + length};
  return (lines + details).join(QLatin1Char('\n'));
}

EventText eventText(const LiveStore& store, const EventRef& event, const Theme& theme) {
  return exists(store, event) ? laneKind(event.lane).text(store, event.index, theme) : EventText{};
}

std::vector<EventFact> eventFacts(const LiveStore& store, const EventRef& event) {
  if (!exists(store, event)) {
    return {};
  }
  std::vector<EventFact> facts = laneKind(event.lane).facts(store, event.index);
  std::erase_if(facts, [](const EventFact& fact) { return fact.value.isEmpty(); });
  return facts;
}

QString eventTitle(const LiveStore& store, const EventRef& event) {
  const QString name = eventText(store, event).name;
  if (!exists(store, event) || !laneKind(event.lane).look().titleNamesStep) {
    return name;
  }
  const std::uint32_t step = laneKind(event.lane).step(store, event.index);
  return step > 0 ? tr("%1, step %2").arg(name).arg(step) : name;
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

QStringList opForms(const std::string& name) {
  const QString full = text(name);
  // "autograd::engine::evaluate_function: MulBackward0"
  if (const auto node = full.lastIndexOf(QLatin1String(": ")); node >= 0) {
    return {full, full.mid(node + 2)};
  }
  const QString own = models::shortOpName(name);
  return own == full ? QStringList{full} : QStringList{full, own};
}

const RunEnd* endMark(const LiveStore& store) {
  using Reason = RunEnd::Reason;
  const auto& end = store.end();
  if (!end || end->reason == Reason::kFinished || end->reason == Reason::kAborted) {
    return nullptr;
  }
  // A worker that had to be killed after a stop request did not stop by itself.
  return end->reason == Reason::kStopped && end->signal == 0 ? nullptr : &*end;
}

QString endMarkText(const RunEnd& end) {
  using Reason = RunEnd::Reason;
  switch (end.reason) {
    case Reason::kCrashed:
      return tr("crashed, signal %1").arg(end.signal);
    case Reason::kExited:
      return tr("exited with code %1").arg(end.exitCode);
    case Reason::kHung:
      return tr("stopped responding");
    case Reason::kProtocolViolation:
      return tr("ended: sent invalid data");
    case Reason::kStopped:
      return tr("killed, signal %1").arg(end.signal);
    default:
      return tr("failed");
  }
}

}  // namespace highwater::views
