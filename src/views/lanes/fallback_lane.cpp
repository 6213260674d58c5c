#include "models/op_totals_model.h"
#include "views/lanes/event_lane.h"
#include "views/lanes/event_words.h"

namespace highwater::views {
namespace {

class FallbackLane final : public LostTimeLane<events::FallbackEvent> {
 public:
  FallbackLane()
      : LostTimeLane(Lane::kFallbacks, tr("Fallbacks"),
                     tr("◆ Ops that run on the CPU because the device has no kernel for them")) {}

  QString partName(std::uint8_t /*category*/) const override { return tr("in fallbacks"); }
  EventText text(const Store& store, std::uint32_t index, const Theme& theme) const override {
    const events::FallbackEvent& fallback = events(store)[index];
    EventText t{
        Glyph::kDiamond,
        theme.vermillion,
        models::shortOpName(store.name(fallback.op())),
        tr("%1 in the fallback").arg(highwater::text(formatDuration(fallback.duration_ns()))),
        {}};
    t.details << tr("%1 to the CPU, %2 back")
                     .arg(highwater::text(formatBytes(fallback.bytes_to_cpu())),
                          highwater::text(formatBytes(fallback.bytes_to_device())))
              << inStep(fallback.step(), fallback.phase());
    addPlace(t.details, store, fallback.module_id(), fallback.call_site());
    return t;
  }

  std::vector<EventFact> facts(const Store& store, std::uint32_t index) const override {
    const events::FallbackEvent& fallback = events(store)[index];
    std::vector<EventFact> facts = callFacts(store, fallback, tr("Host time"));
    facts.push_back({tr("Of it waiting"), highwater::text(formatDuration(fallback.wait_ns()))});
    facts.push_back({tr("To the CPU"), highwater::text(formatBytes(fallback.bytes_to_cpu()))});
    facts.push_back(
        {tr("To the device"), highwater::text(formatBytes(fallback.bytes_to_device()))});
    if (const FallbackAcceptance* accepted = store.acceptanceOf(store.name(fallback.op()))) {
      facts.push_back({tr("Accepted"),
                       accepted->reason.empty() ? tr("yes") : highwater::text(accepted->reason)});
    }
    facts.push_back({tr("Call site"), highwater::text(store.callStack(fallback.call_site()))});
    return facts;
  }

 protected:
  const std::vector<events::FallbackEvent>& events(const Store& store) const override {
    return store.fallbacks();
  }
  const analysis::SpanIndex& lane(const Store& store) const override {
    return store.fallbackLane();
  }
  Mark markOf(std::uint8_t /*category*/, const Theme& theme) const override {
    return {Glyph::kDiamond, theme.vermillion, 6};
  }
  void drawBar(const LaneFrame& f, const analysis::VisibleSpan& /*span*/, const QRectF& box,
               const QColor& color) const override {
    f.painter.fillRect(box, color);
    if (box.width() >= 5) {
      f.painter.fillRect(box, texture(f.theme));
    }
  }
  void drawTexture(const LaneFrame& f, const ShareColumns& columns,
                   const QRectF& place) const override {
    for (int first = 0; first < columns.count(); ++first) {
      int last = first;
      while (last < columns.count() && columns.isMerged(last)) ++last;
      if (last - first >= 5) {
        f.painter.fillRect(QRectF(columns.xOf(first), place.top(), last - first, place.height()),
                           texture(f.theme));
      }
      first = std::max(first, last);
    }
  }

 private:
  static QBrush texture(const Theme& theme) {
    QColor line = theme.plot;
    line.setAlphaF(0.6f);
    return hatchBrush(line, Qt::transparent, 5);
  }
};

}  // namespace

const LaneKind& fallbackLane() {
  static const FallbackLane kLane;
  return kLane;
}

}  // namespace highwater::views
