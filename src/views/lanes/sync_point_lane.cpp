#include "analysis/op_label.h"
#include "models/op_totals_model.h"
#include "views/lanes/event_lane.h"
#include "views/lanes/event_words.h"

namespace highwater::views {
namespace {

class SyncPointLane final : public LostTimeLane<events::SyncPoint> {
 public:
  SyncPointLane()
      : LostTimeLane(Lane::kSyncPoints, tr("Sync points"),
                     tr("Where the host waits for the device\n▽ planned, ▼ unplanned")) {}

  QString partName(std::uint8_t category) const override {
    return isPlanned(category) ? tr("planned") : tr("unplanned");
  }
  EventText text(const Store& store, std::uint32_t index, const Theme& theme) const override {
    const events::SyncPoint& sync = events(store)[index];
    const bool planned = sync.deliberate() != 0;
    EventText t{planned ? Glyph::kHollowTriangle : Glyph::kTriangle,
                planned ? theme.sky : theme.orange,
                models::shortOpName(analysis::opLabel(store.name(sync.op()), sync.kind())),
                tr("waited %1").arg(highwater::text(formatDuration(sync.duration_ns()))),
                {}};
    t.details << tr("%1, %2").arg(highwater::text(syncKindName(sync.kind())),
                                  planned ? tr("planned") : tr("unplanned"));
    if (sync.bytes() >= kMiB) {
      t.details << highwater::text(formatBytes(sync.bytes()));
    }
    t.details << inStep(sync.step(), sync.phase());
    addPlace(t.details, store, sync.module_id(), sync.call_site());
    return t;
  }

  std::vector<EventFact> facts(const Store& store, std::uint32_t index) const override {
    const events::SyncPoint& sync = events(store)[index];
    std::vector<EventFact> facts = callFacts(store, sync, tr("Wait"));
    facts.push_back({tr("Kind"), highwater::text(syncKindName(sync.kind()))});
    facts.push_back({tr("Planned"), sync.deliberate() != 0 ? tr("yes") : tr("no")});
    facts.push_back({tr("Bytes"), sync.bytes() >= kMiB ? highwater::text(formatBytes(sync.bytes()))
                                                       : QString()});
    facts.push_back({tr("Call site"), highwater::text(store.callStack(sync.call_site()))});
    return facts;
  }

 protected:
  const std::vector<events::SyncPoint>& events(const Store& store) const override {
    return store.syncPoints();
  }
  const analysis::SpanIndex& lane(const Store& store) const override { return store.syncLane(); }
  Mark markOf(std::uint8_t category, const Theme& theme) const override {
    return isPlanned(category) ? Mark{Glyph::kHollowTriangle, theme.sky, 5.5, 0}
                               : Mark{Glyph::kTriangle, theme.orange, 5.5, 1};
  }
  void drawBar(const LaneFrame& f, const analysis::VisibleSpan& span, const QRectF& box,
               const QColor& color) const override {
    if (isPlanned(span.category) && box.width() >= 3) {
      f.painter.setPen(QPen(color, 1));
      f.painter.setBrush(Qt::NoBrush);
      f.painter.drawRect(box.adjusted(0, 0, -1, -1));
    } else {
      f.painter.fillRect(box, color);
    }
  }

 private:
  static bool isPlanned(std::uint8_t category) {
    return (category & analysis::kDeliberateBit) != 0;
  }
};

}  // namespace

const LaneKind& syncPointLane() {
  static const SyncPointLane kLane;
  return kLane;
}

}  // namespace highwater::views
