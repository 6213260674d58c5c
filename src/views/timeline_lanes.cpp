#include "views/timeline_lanes.h"

#include <QCoreApplication>
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

QColor mixed(const QColor& a, const QColor& b, double shareOfB) {
  const auto mix = [shareOfB](int x, int y) {
    return static_cast<int>(std::lround(x + (y - x) * shareOfB));
  };
  return {mix(a.red(), b.red()), mix(a.green(), b.green()), mix(a.blue(), b.blue())};
}

/// How much of the ground shows through an op in its phase's colour: it must not outshine stalls.
constexpr double kOpDimming = 0.52;

/// Of ops: a stall in the colour of its kind, any other in its phase's, dimmed.
QColor opColor(std::uint8_t look, const Theme& theme) {
  if (look & analysis::OpLook::kFallback) {
    return theme.vermillion;
  }
  if (look & analysis::OpLook::kUnplannedWait) {
    return theme.orange;
  }
  if (look & analysis::OpLook::kPlannedWait) {
    return theme.sky;
  }
  const auto phase = static_cast<events::Phase>(look & analysis::OpLook::kPhaseMask);
  return mixed(theme.phase(phase), theme.plot, kOpDimming);
}

QColor shaded(QColor color, double share) {
  color.setAlphaF(static_cast<float>(std::clamp(0.25 + 0.75 * share, 0.0, 1.0)));
  return color;
}

}  // namespace

std::vector<OpLane> opLanes(const analysis::OpColumns& ops, int most) {
  struct Thread {
    ThreadId id = 0;
    std::size_t count = 0;
    std::vector<std::uint16_t> depths;
    std::size_t shown = 0;
  };
  std::vector<Thread> threads;
  for (const auto& [key, spans] : ops.lanes) {
    if (spans.empty()) {
      continue;
    }
    if (threads.empty() || threads.back().id != key.first) {
      threads.push_back({key.first, 0, {}, 0});
    }
    threads.back().count += spans.size();
    threads.back().depths.push_back(key.second);
  }
  std::stable_sort(threads.begin(), threads.end(),
                   [](const Thread& a, const Thread& b) { return a.count > b.count; });
  bool more = true;
  for (std::size_t depth = 0; more && most > 0; ++depth) {
    more = false;
    for (Thread& thread : threads) {
      if (thread.depths.size() > depth && most > 0) {
        ++thread.shown;
        --most;
        more = true;
      }
    }
  }
  std::vector<OpLane> lanes;
  for (const Thread& thread : threads) {
    for (std::size_t i = 0; i < thread.shown; ++i) {
      const bool last = i + 1 == thread.shown;
      lanes.push_back({{thread.id, thread.depths[i]},
                       last ? static_cast<int>(thread.depths.size() - thread.shown) : 0});
    }
  }
  return lanes;
}

LaneRows LaneRows::from(double top, bool small, const std::vector<OpLane>& ops) {
  const double flat = small ? 21 : 24, tall = small ? 24 : 26;
  LaneRows rows;
  const auto add = [&rows, &top](Lane lane, double height, const OpLane& opLane = {}) {
    rows.rows.push_back({lane, top, height, opLane});
    top += height;
  };
  add(Lane::kSteps, flat);
  add(Lane::kPhases, flat);
  for (const OpLane& lane : ops) {
    add(Lane::kOps, opRowHeight(small), lane);
  }
  for (const Lane lane : {Lane::kSyncPoints, Lane::kFallbacks, Lane::kMarkers}) {
    add(lane, tall);
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
  drawForgotten(frame);
  for (const LaneRows::Row& row : rows_.rows) {
    // Depths of one thread stand on each other.
    if (row.lane != Lane::kOps || row.ops.key.second == 0) {
      painter->fillRect(QRectF(frame.left, row.top - 1, frame.right - frame.left, 1),
                        frame.theme.grid);
    }
    if (row.lane == Lane::kOps) {
      drawOps(frame, row);
    }
  }
  drawSteps(frame);
  drawRunningStep(frame);
  drawPhases(frame);
  drawSyncPoints(frame);
  drawFallbacks(frame);
  drawMarkers(frame);
  drawEnd(frame);
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

/// One row of pixels, copied down: a thousand spans cost a thousand writes and one drawImage. What
/// is wide enough for more than a colour comes on top of it.
void TimelineLanes::drawOps(const Frame& f, const LaneRows::Row& row) const {
  const auto lane = store_->ops().lanes.find(row.ops.key);
  const int width = static_cast<int>(f.right - f.left);
  if (lane == store_->ops().lanes.end() || width <= 0) {
    return;
  }
  struct Wide {
    QRectF box;
    std::uint32_t row;
    std::uint8_t look;
  };
  std::vector<Wide> wide;
  QImage line(width, 1, QImage::Format_ARGB32_Premultiplied);
  line.fill(Qt::transparent);
  auto* pixels = reinterpret_cast<QRgb*>(line.scanLine(0));
  const double top = row.top + 1, height = row.height - 2;
  f.eachVisible(lane->second, [&](const VisibleSpan& span, double x, double spanWidth) {
    const QColor color = opColor(span.category, f.theme);
    const QRgb rgb = span.count == 1
                         ? color.rgb()
                         : mixed(f.theme.plot, color, 0.25 + 0.75 * span.busyShare).rgb();
    // The gap tells neighbours apart.
    const double drawn = spanWidth >= 4 ? spanWidth - 1 : spanWidth;
    const int first = std::clamp(static_cast<int>(x - f.left), 0, width);
    const int last = std::clamp(static_cast<int>(x - f.left + drawn), first, width);
    std::fill(pixels + first, pixels + last, rgb);
    if (span.count == 1 && drawn >= 5) {
      wide.push_back({QRectF(x, top, drawn, height), span.firstPayload, span.category});
    }
  });
  f.painter.drawImage(QRectF(f.left, top, width, height), line, QRectF(0, 0, width, 1));
  f.painter.setFont(textFont(kSmallText));
  QColor hatch = f.theme.plot;
  hatch.setAlphaF(0.45f);
  for (const Wide& span : wide) {
    const bool stall = span.look & ~analysis::OpLook::kPhaseMask;
    if (span.look & analysis::OpLook::kFallback) {
      f.painter.fillRect(span.box, hatchBrush(hatch, Qt::transparent, 5));
    }
    const events::OpSpan* op = store_->ops().at(span.row);
    if (!op || span.box.width() < 22) {
      continue;
    }
    const QStringList forms = opForms(store_->name(op->op()));
    QString text = fitText(f.painter, forms, span.box.width() - 8);
    if (text.isEmpty() && span.box.width() >= 48) {
      text = f.painter.fontMetrics().elidedText(forms.back(), Qt::ElideRight,
                                                static_cast<int>(span.box.width() - 8));
    }
    if (text.isEmpty()) {
      continue;
    }
    if (stall) {  // on a hatch nobody could read it
      const double textWidth = f.painter.fontMetrics().horizontalAdvance(text);
      f.painter.fillRect(QRectF(span.box.left(), top, textWidth + 8, height),
                         opColor(span.look, f.theme));
    }
    f.painter.setPen(stall ? QColor(0x12, 0x14, 0x17) : f.theme.text1);
    f.painter.drawText(span.box.adjusted(4, 0, -2, 0), Qt::AlignVCenter | Qt::AlignLeft, text);
  }
}

void TimelineLanes::drawForgotten(const Frame& f) const {
  const auto& rows = rows_.rows;
  const auto isOps = [](const LaneRows::Row& row) { return row.lane == Lane::kOps; };
  const auto first = std::find_if(rows.begin(), rows.end(), isOps);
  const double right =
      std::min(std::round(f.scale.pixelAt(store_->ops().forgottenUpToNs)), f.right);
  if (first == rows.end() || store_->ops().forgottenUpToNs == 0 || right <= f.left) {
    return;
  }
  const auto behind = std::find_if_not(first, rows.end(), isOps);
  const QRectF box(f.left, first->top, right - f.left, behind->top - first->top);
  f.painter.fillRect(box, hatchBrush(f.theme.grid, f.theme.plot));
  f.painter.setFont(textFont(kSmallText));
  f.painter.setPen(f.theme.text3);
  const QString text =
      QCoreApplication::translate("TimelineLanes", "Older ops are kept in the recording only");
  f.painter.drawText(box.adjusted(8, 0, -8, 0), Qt::AlignVCenter | Qt::AlignRight,
                     fitText(f.painter, {text}, box.width() - 16));
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

void TimelineLanes::drawEnd(const Frame& f) const {
  const RunEnd* end = endMark(*store_);
  const double x = std::round(f.scale.pixelAt(store_->completeUpToNs())) + 0.5;
  if (!end || x < f.left || x > f.right) {
    return;
  }
  const auto& row = rows_.of(Lane::kMarkers);
  const double y = row.top + row.height / 2;
  drawGlyph(f.painter, Glyph::kOctagon, {std::min(x, f.right - 7), y}, f.theme.vermillion,
            f.theme.plot);
  // Most often the run's end stands at the right edge: the word goes to its other side then.
  f.painter.setFont(textFont(kSmallText));
  const QString text = endMarkText(*end);
  const double width = f.painter.fontMetrics().horizontalAdvance(text) + 2;
  const bool right = x + 12 + width < f.right;
  const QRectF box(right ? x + 11 : std::min(x, f.right - 7) - 11 - width, row.top + 2, width,
                   row.height - 4);
  f.painter.fillRect(box, f.theme.plot);
  f.painter.setPen(f.theme.vermillionText);
  f.painter.drawText(box, Qt::AlignVCenter, text);
}

void TimelineLanes::drawFocus(const Frame& f) const {
  const auto& lanes = store_->ops().lanes;
  for (const LaneRows::Row& row : rows_.rows) {
    if (focus_->op() && focus_->op()->lane == row.lane) {
      const auto ops = lanes.find(row.ops.key);
      if (row.lane == Lane::kSyncPoints) {
        markOp(f, row, store_->syncLane());
      } else if (row.lane == Lane::kFallbacks) {
        markOp(f, row, store_->fallbackLane());
      } else if (row.lane == Lane::kOps && ops != lanes.end()) {
        markOp(f, row, ops->second);
      }
    }
    drawPicked(f, row);
  }
}

void TimelineLanes::markOp(const Frame& f, const LaneRows::Row& row, const SpanIndex& spans) const {
  const auto [first, last] = spans.touching(f.scale.range.beginNs, f.scale.range.endNs);
  // A mark a span only makes sense while spans can be told apart.
  if (static_cast<double>(last - first) >= f.scale.width) {
    return;
  }
  for (std::size_t i = first; i < last; ++i) {
    if (opOf(*store_, {row.lane, spans[i].payload}) == focus_->op()) {
      const double x = std::max(std::round(f.scale.pixelAt(spans[i].beginNs)), f.left);
      const double end = std::max(std::round(f.scale.pixelAt(spans[i].endNs)), x + 2);
      f.painter.fillRect(QRectF(x, row.top + row.height - 2, end - x, 1), f.theme.accent);
    }
  }
}

void TimelineLanes::drawPicked(const Frame& f, const LaneRows::Row& row) const {
  const auto& picked = focus_->picked();
  if (!picked || picked->lane != row.lane || row.lane == Lane::kMarkers ||
      !exists(*store_, *picked)) {
    return;
  }
  if (row.lane == Lane::kOps) {
    const events::OpSpan& op = *store_->ops().at(picked->index);
    if (row.ops.key != analysis::OpColumns::LaneKey{op.thread(), op.depth()}) {
      return;
    }
  }
  const TimeRange range = timeRangeOf(*store_, *picked);
  const bool tall = row.lane == Lane::kSyncPoints || row.lane == Lane::kFallbacks;
  const double x = std::round(f.scale.pixelAt(range.beginNs)) - 2;
  const double end = std::max(std::round(f.scale.pixelAt(range.endNs)), x + 4) + 2;
  const double top = row.top + (tall                     ? 9
                                : row.lane == Lane::kOps ? 0
                                                         : 1),
               bottom = row.top + row.height - (row.lane == Lane::kOps ? 0 : 1);
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
