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
              tr("%1 on the CPU").arg(text(formatDuration(fallback.duration_ns()))),
              {}};
  t.details << tr("%1 there, %2 back")
                   .arg(text(formatBytes(fallback.bytes_to_cpu())),
                        text(formatBytes(fallback.bytes_to_device())))
            << inStep(fallback.step(), fallback.phase());
  addPlace(t.details, store, fallback.module_id(), fallback.call_site());
  return t;
}

}  // namespace

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
    default:
      return {full};
  }
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
  }
  return {};
}

}  // namespace highwater::views
