#include "views/panes/timeline_lanes.h"

#include <QCoreApplication>
#include <algorithm>

#include "views/panes/in_parallel.h"

namespace highwater::views {

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

LaneRows LaneRows::from(double top, bool small, const analysis::LiveStore& store,
                        const std::vector<OpLane>& ops) {
  LaneRows rows;
  const auto add = [&](Lane lane, const OpLane& opLane = {}) {
    rows.rows.push_back({lane, top, laneKind(lane).height(small), opLane});
    top += rows.rows.back().height;
  };
  add(Lane::kSteps);
  add(Lane::kPhases);
  const auto addIfAny = [&](Lane lane) {
    if (laneKind(lane).exists(store, 0)) add(lane);
  };
  addIfAny(Lane::kNamed);
  for (const OpLane& lane : ops) add(Lane::kOps, lane);
  add(Lane::kDevice);
  for (const Lane lane : {Lane::kSyncPoints, Lane::kFallbacks, Lane::kMarkers}) addIfAny(lane);
  return rows;
}

const LaneRow& LaneRows::of(Lane lane) const {
  return *std::find_if(rows.begin(), rows.end() - 1,
                       [lane](const LaneRow& row) { return row.lane == lane; });
}

void TimelineLanes::draw(QCPPainter* painter) {
  const QRect rect = keyAxis()->axisRect()->rect();
  const LaneFrame frame{*painter,
                        *store_,
                        Theme::of(parentPlot()),
                        timeScale(),
                        double(rect.left()),
                        double(rect.right() + 1)};
  drawForgotten(frame);
  // Rows share lanes of the store, as the device's does with those of phases and waits: without
  // this two of them would put the same late spans in their places.
  store_->prepareForDrawing();
  // To search a million spans takes longer than to draw what is found.
  const std::vector<LaneRow>& rows = rows_.rows;
  std::vector<std::function<void()>> drawRow(rows.size());
  inParallel(static_cast<int>(rows.size()), [&](int i) {
    const auto at = static_cast<std::size_t>(i);
    drawRow[at] = laneKind(rows[at].lane).prepare(frame, rows[at]);
  });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const LaneRow& row = rows[i];
    const LaneKind& kind = laneKind(row.lane);
    if (!kind.label(*store_, row).nested) {
      painter->fillRect(QRectF(frame.left, row.top - 1, frame.right - frame.left, 1),
                        frame.theme.grid);
    }
    drawRow[i]();
    drawPickedOp(frame, row);
    drawPicked(frame, row);
  }
}

void TimelineLanes::drawForgotten(const LaneFrame& f) const {
  const auto& rows = rows_.rows;
  const auto isOps = [](const LaneRow& row) { return row.lane == Lane::kOps; };
  const auto first = std::find_if(rows.begin(), rows.end(), isOps);
  const analysis::OpColumns& ops = store_->ops();
  if (first == rows.end() || ops.forgottenUpToNs == 0) {
    return;
  }
  const auto behind = std::find_if_not(first, rows.end(), isOps);
  const auto xOf = [&f](std::int64_t ns) {
    return std::clamp(std::round(f.scale.pixelAt(ns)), f.left, f.right);
  };
  const auto drawUpTo = [&](double left, double right) {
    if (right <= left) {
      return;
    }
    const QRectF box(left, first->top, right - left, behind->top - first->top);
    f.painter.fillRect(box, hatchBrush(f.theme.grid, f.theme.plot));
    f.painter.setFont(textFont(kSmallText));
    f.painter.setPen(f.theme.text3);
    const auto tr = [](const char* text) {
      return QCoreApplication::translate("TimelineLanes", text);
    };
    const QStringList forms{tr("Older ops are in the recording: zoom in to read them"),
                            tr("Older ops: zoom in to read them"), tr("Zoom in for ops")};
    f.painter.drawText(box.adjusted(8, 0, -8, 0), Qt::AlignVCenter | Qt::AlignRight,
                       fitText(f.painter, forms, box.width() - 16));
  };
  const auto [readFromNs, readUpToNs] = ops.readBackRange();
  const double end = xOf(ops.forgottenUpToNs);
  drawUpTo(f.left, readFromNs == readUpToNs ? end : std::min(xOf(readFromNs), end));
  if (readFromNs != readUpToNs) {
    drawUpTo(xOf(readUpToNs), end);
  }
}

void TimelineLanes::drawPickedOp(const LaneFrame& f, const LaneRow& row) const {
  const LaneKind& kind = laneKind(row.lane);
  const analysis::SpanIndex* spans = kind.spans(*store_, row);
  if (!focus_->op() || focus_->op()->lane != row.lane || !spans) {
    return;
  }
  const auto [first, last] = spans->touching(f.scale.range.beginNs, f.scale.range.endNs);
  // With more spans than pixels the marks could not be told apart.
  if (static_cast<double>(last - first) >= f.scale.width) {
    return;
  }
  for (std::size_t i = first; i < last; ++i) {
    const analysis::Span& span = (*spans)[i];
    if (kind.exists(*store_, span.payload) && kind.op(*store_, span.payload) == focus_->op()) {
      const double x = std::max(std::round(f.scale.pixelAt(span.beginNs)), f.left);
      const double end = std::max(std::round(f.scale.pixelAt(span.endNs)), x + 2);
      f.painter.fillRect(QRectF(x, row.top + row.height - 2, end - x, 1), f.theme.accent);
    }
  }
}

void TimelineLanes::drawPicked(const LaneFrame& f, const LaneRow& row) const {
  const LaneKind& kind = laneKind(row.lane);
  const auto& picked = focus_->picked();
  const auto outline = kind.look().outline;
  if (!picked || picked->lane != row.lane || !outline || !exists(*store_, *picked) ||
      !kind.isIn(row, *store_, picked->index)) {
    return;
  }
  const TimeRange range = kind.range(*store_, picked->index);
  const double x = std::round(f.scale.pixelAt(range.beginNs)) - 2;
  const double end = std::max(std::round(f.scale.pixelAt(range.endNs)), x + 4) + 2;
  const double top = row.top + outline->top, bottom = row.top + row.height - outline->bottom;
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
