#include "views/timeline_lanes.h"

#include <algorithm>
#include <cmath>

#include "views/event_text.h"

namespace highwater::views {

using analysis::SpanIndex;
using analysis::VisibleSpan;

namespace {

constexpr double kGlyphGap = 9;  ///< glyphs closer than this would cover each other
constexpr std::uint8_t kDeliberateBit = 0x80;

QStringList phaseForms(events::Phase phase) {
  switch (phase) {
    case events::Phase::BatchAssembly:
      return {"batch assembly", "batch"};
    case events::Phase::DeviceMove:
      return {"device move", "move"};
    case events::Phase::Forward:
      return {"forward", "fwd"};
    case events::Phase::LossRead:
      return {"loss read", "loss"};
    case events::Phase::Backward:
      return {"backward", "bwd"};
    case events::Phase::OptimizerStep:
      return {"optimizer step", "opt"};
    case events::Phase::None:
      break;
  }
  return {};
}

QColor shaded(QColor color, double share) {
  color.setAlphaF(static_cast<float>(std::clamp(0.25 + 0.75 * share, 0.0, 1.0)));
  return color;
}

}  // namespace

LaneRows LaneRows::from(double top, bool small) {
  const double flat = small ? 21 : 24, tall = small ? 24 : 26;
  LaneRows rows;
  double y = top;
  const std::pair<Lane, double> order[] = {{Lane::kSteps, flat},
                                           {Lane::kPhases, flat},
                                           {Lane::kSyncPoints, tall},
                                           {Lane::kFallbacks, tall},
                                           {Lane::kMarkers, tall}};
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    rows.rows[i] = {order[i].first, y, order[i].second};
    y += order[i].second;
  }
  return rows;
}

const LaneRows::Row& LaneRows::of(Lane lane) const {
  return *std::find_if(rows.begin(), rows.end() - 1,
                       [lane](const Row& row) { return row.lane == lane; });
}

struct TimelineLanes::Frame {
  QPainter& painter;
  const Theme& theme;
  TimeScale scale;
  double left, right;

  /// Calls f(span, x, width) with whole pixels for what the lane shows; width is 1 at least.
  template <typename F>
  void eachVisible(const SpanIndex& lane, F&& f) const {
    lane.visible(scale.range.beginNs, scale.range.endNs, scale.nsPerPixel(),
                 [&](const VisibleSpan& span) {
                   const double x = std::max(std::round(scale.pixelAt(span.beginNs)), left);
                   const double end = std::min(std::round(scale.pixelAt(span.endNs)), right);
                   f(span, x, std::max(end - x, 1.0));
                 });
  }
};

void TimelineLanes::draw(QCPPainter* painter) {
  const QRect rect = keyAxis()->axisRect()->rect();
  const Frame frame{*painter, Theme::of(parentPlot()), timeScale(), double(rect.left()),
                    double(rect.right() + 1)};
  for (const LaneRows::Row& row : rows_.rows) {
    painter->fillRect(QRectF(frame.left, row.top - 1, frame.right - frame.left, 1),
                      frame.theme.grid);
  }
  drawSteps(frame);
  drawRunningStep(frame);
  drawPhases(frame);
  drawSyncPoints(frame);
  drawFallbacks(frame);
  drawMarkers(frame);
  drawFocus(frame);
}

void TimelineLanes::drawSteps(const Frame& f) const {
  const auto& row = rows_.of(Lane::kSteps);
  const auto& records = store_->steps().records;
  f.painter.setFont(textFont(kSmallText));
  f.eachVisible(store_->steps().lane, [&](const VisibleSpan& span, double x, double width) {
    const QRectF box(x, row.top + 2, std::max(width - 1, 1.0), row.height - 5);
    f.painter.fillRect(box, span.count == 1 ? f.theme.stepBox : shaded(f.theme.stepBox, 1));
    if (span.count == 1 && width > 12) {
      const QString number = QString::number(records[span.firstPayload].step());
      f.painter.setPen(f.theme.text2);
      f.painter.drawText(box, Qt::AlignCenter, fitText(f.painter, {number}, box.width() - 4));
    }
  });
}

void TimelineLanes::drawRunningStep(const Frame& f) const {
  const auto& steps = store_->steps();
  if (store_->end() || store_->runningStep() == 0 || steps.lane.empty() ||
      store_->runningStep() <= steps.records.back().step()) {
    return;
  }
  const auto& row = rows_.of(Lane::kSteps);
  const double begin =
      std::max(std::round(f.scale.pixelAt(steps.lane[steps.lane.size() - 1].endNs)) + 1, f.left);
  const double end = std::min(f.scale.pixelAt(store_->completeUpToNs()), f.right - 1);
  if (end - begin < 4) {
    return;
  }
  const QRectF box(begin, row.top + 2, std::floor(end - begin), row.height - 6);
  QPen pen(f.theme.text3, 1);
  pen.setDashPattern({2, 2});
  f.painter.setPen(pen);
  f.painter.setBrush(Qt::NoBrush);
  f.painter.drawRect(box);
  f.painter.setPen(f.theme.text3);
  f.painter.drawText(box, Qt::AlignCenter,
                     fitText(f.painter, {QString::number(store_->runningStep())}, box.width() - 4));
}

void TimelineLanes::drawPhases(const Frame& f) const {
  const auto& row = rows_.of(Lane::kPhases);
  f.painter.setFont(textFont(kSmallText));
  f.eachVisible(store_->phaseLane(), [&](const VisibleSpan& span, double x, double width) {
    const auto phase = static_cast<events::Phase>(span.category);
    const QColor color = f.theme.phase(phase);
    const QRectF box(x, row.top + 3, width > 3 ? width - 1 : width, row.height - 7);
    f.painter.fillRect(box, span.count == 1 ? color : shaded(color, span.busyShare));
    if (span.count == 1 && width > 20) {
      const bool onDark = phase == events::Phase::Forward || phase == events::Phase::Backward;
      f.painter.setPen(onDark ? QColor(Qt::white) : QColor(0x12, 0x14, 0x17));
      f.painter.drawText(box, Qt::AlignCenter, fitText(f.painter, phaseForms(phase), width - 6));
    }
  });
}

void TimelineLanes::drawSyncPoints(const Frame& f) const {
  const auto& row = rows_.of(Lane::kSyncPoints);
  const double glyphY = row.top + 5.5, top = row.top + 11, height = row.height - 14;
  double free = -1e9;
  f.eachVisible(store_->syncLane(), [&](const VisibleSpan& span, double x, double width) {
    const bool planned = (span.category & kDeliberateBit) != 0;
    const QColor color = planned ? f.theme.sky : f.theme.orange;
    const double drawn = span.count == 1 ? std::max(width, 2.0) : width;
    if (planned && drawn >= 3) {
      f.painter.setPen(QPen(color, 1));
      f.painter.setBrush(Qt::NoBrush);
      f.painter.drawRect(QRectF(x, top, drawn - 1, height - 1));
    } else {
      f.painter.fillRect(QRectF(x, top, drawn, height),
                         span.count == 1 ? color : shaded(color, span.busyShare));
    }
    const double middle = std::floor(x + drawn / 2) + 0.5;
    if (middle >= free) {
      drawGlyph(f.painter, planned ? Glyph::kHollowTriangle : Glyph::kTriangle, {middle, glyphY},
                color, f.theme.plot);
      free = middle + kGlyphGap;
    }
  });
}

void TimelineLanes::drawFallbacks(const Frame& f) const {
  const auto& row = rows_.of(Lane::kFallbacks);
  const double glyphY = row.top + 6, top = row.top + 11, height = row.height - 14;
  QColor line = f.theme.plot;
  line.setAlphaF(0.6f);
  double free = -1e9;
  f.eachVisible(store_->fallbackLane(), [&](const VisibleSpan& span, double x, double width) {
    const double drawn = span.count == 1 ? std::max(width, 2.0) : width;
    const QRectF box(x, top, drawn, height);
    f.painter.fillRect(
        box, span.count == 1 ? f.theme.vermillion : shaded(f.theme.vermillion, span.busyShare));
    if (drawn >= 5) {
      f.painter.fillRect(box, hatchBrush(line, Qt::transparent, 5));
    }
    const double middle = std::floor(x + drawn / 2) + 0.5;
    if (middle >= free) {
      drawGlyph(f.painter, Glyph::kDiamond, {middle, glyphY}, f.theme.vermillion, f.theme.plot);
      free = middle + kGlyphGap;
    }
  });
}

void TimelineLanes::drawMarkers(const Frame& f) const {
  const auto& row = rows_.of(Lane::kMarkers);
  const double y = row.top + row.height / 2;
  const auto& markers = store_->markers();
  const auto visible = [&](const events::Marker& marker) {
    return marker.time_ns() >= f.scale.range.beginNs && marker.time_ns() <= f.scale.range.endNs;
  };
  double free = -1e9;
  f.painter.setFont(textFont(kSmallText));
  for (std::size_t i = 0; i < markers.size(); ++i) {
    if (!visible(markers[i])) {
      continue;
    }
    const double x = std::round(f.scale.pixelAt(markers[i].time_ns())) + 0.5;
    if (x < free) {
      continue;
    }
    drawGlyph(f.painter, markerGlyph(markers[i].kind()), {x, y},
              markerColor(markers[i].kind(), f.theme), f.theme.plot);
    const double next = i + 1 < markers.size() && visible(markers[i + 1])
                            ? f.scale.pixelAt(markers[i + 1].time_ns()) - 8
                            : f.right;
    f.painter.setPen(f.theme.text1);
    f.painter.drawText(QRectF(x + 10, row.top, std::max(next - x, 0.0), row.height),
                       Qt::AlignVCenter,
                       fitText(f.painter, markerForms(*store_, markers[i]), next - x - 12));
    free = x + kGlyphGap;
  }
}

void TimelineLanes::drawFocus(const Frame& f) const {
  if (focus_->op()) {
    const Lane lane = focus_->op()->lane;
    const auto& row = rows_.of(lane);
    const SpanIndex& spans =
        lane == Lane::kSyncPoints ? store_->syncLane() : store_->fallbackLane();
    const auto [first, last] = spans.touching(f.scale.range.beginNs, f.scale.range.endNs);
    // A mark a span only makes sense while spans can be told apart.
    if (static_cast<double>(last - first) < f.scale.width) {
      for (std::size_t i = first; i < last; ++i) {
        if (opOf(*store_, {lane, spans[i].payload}) == focus_->op()) {
          const double x = std::round(f.scale.pixelAt(spans[i].beginNs));
          const double end = std::max(std::round(f.scale.pixelAt(spans[i].endNs)), x + 2);
          f.painter.fillRect(QRectF(x, row.top + row.height - 2, end - x, 1), f.theme.accent);
        }
      }
    }
  }
  if (!focus_->picked() || focus_->picked()->lane == Lane::kMarkers) {
    return;
  }
  const TimeRange range = timeRangeOf(*store_, *focus_->picked());
  const auto& row = rows_.of(focus_->picked()->lane);
  const bool tall = row.lane == Lane::kSyncPoints || row.lane == Lane::kFallbacks;
  const double x = std::round(f.scale.pixelAt(range.beginNs)) - 2;
  const double end = std::max(std::round(f.scale.pixelAt(range.endNs)), x + 4) + 2;
  const double top = row.top + (tall ? 9 : 1), bottom = row.top + row.height - 1;
  f.painter.setPen(Qt::NoPen);
  const QRectF edges[] = {{x, top, end - x, 2},
                          {x, bottom - 2, end - x, 2},
                          {x, top, 2, bottom - top},
                          {end - 2, top, 2, bottom - top}};
  for (const QRectF& edge : edges) {
    f.painter.fillRect(edge, f.theme.accent);
  }
}

}  // namespace highwater::views
