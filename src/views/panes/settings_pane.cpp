#include "views/panes/settings_pane.h"

#include <algorithm>
#include <cmath>

#include "models/qt_text.h"
#include "views/lanes/lane_kind.h"

namespace highwater::views {
namespace {

QStringList formsOf(tuning::Setting setting) {
  const QString batch = QString::number(setting.batch);
  return setting.length > 1
             ? QStringList{QStringLiteral("%1 × %2").arg(batch).arg(setting.length), batch}
             : QStringList{batch};
}

}  // namespace

SettingsPane::SettingsPane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
                           QWidget* parent)
    : TimePane(store, axis, focus, parent) {
  setObjectName(QStringLiteral("settingsPane"));
  setAccessibleName(tr("Settings and markers over time"));
  connect(focus_, &EventFocus::changed, this, &SettingsPane::scheduleReplot);
  SettingsPane::setMeasures({});
}

void SettingsPane::setMeasures(const PaneMeasures& measures) {
  TimePane::setMeasures(measures);
  axisRect()->setMargins(QMargins(measures.gutter, 1, measures.rightInset, 1));
  setFixedHeight(static_cast<int>(2 * rowHeight()) + 1);
}

double SettingsPane::rowHeight() const {
  return laneKind(Lane::kMarkers).height(measures().small);
}

void SettingsPane::refresh() {
  follow();
  TimePane::refresh();
}

void SettingsPane::follow() {
  const auto& steps = store_->steps().records;
  const std::optional<std::int64_t> epoch =
      store_->hello() ? std::optional(store_->hello()->clock.unixEpochNs) : std::nullopt;
  if (epoch != epoch_ || steps.size() < rows_) {
    epoch_ = epoch;
    stretches_.clear();
    ended_ = {};
    rows_ = 0;
  }
  for (; rows_ < steps.size(); ++rows_) {
    const events::StepRecord& step = steps[rows_];
    const tuning::Setting setting{step.batch_size(), std::max(step.sequence_length(), 1U)};
    const std::int64_t endNs = step.begin_ns() + step.duration_ns();
    if (stretches_.empty() || stretches_.back().setting != setting) {
      if (!stretches_.empty()) {
        const Stretch& last = stretches_.back();
        ended_.append(
            {last.beginNs, last.endNs, static_cast<std::uint32_t>(stretches_.size() - 1)});
      }
      stretches_.push_back({setting, step.begin_ns(), endNs, step.step(), step.step()});
    } else {
      stretches_.back().endNs = endNs;
      stretches_.back().lastStep = step.step();
    }
  }
}

QRectF SettingsPane::boxOf(std::int64_t beginNs, std::int64_t endNs) const {
  const QRect plot = plotRect();
  const TimeScale s = scale();
  const double left = std::max(std::round(s.pixelAt(beginNs)), double(plot.left()));
  const double right = std::min(std::round(s.pixelAt(endNs)), double(plot.right() + 1));
  return {left, 3, std::max(right - left - 1, 1.0), rowHeight() - 6};
}

void SettingsPane::paintStretches(QPainter& painter) const {
  painter.setFont(textFont(kSmallText));
  const auto paint = [&](const QRectF& box, const Stretch* stretch, bool running) {
    painter.fillRect(box, theme().stepBox);
    if (running && box.width() > 4) {
      QPen pen(theme().text1, 1);
      pen.setDashPattern({2, 2});
      painter.setPen(pen);
      painter.setBrush(Qt::NoBrush);
      painter.drawRect(box.adjusted(0, 0, -1, -1));
    }
    if (stretch && box.width() > 8) {
      painter.setPen(running ? theme().text1 : theme().text2);
      painter.drawText(box, Qt::AlignCenter,
                       fitText(painter, formsOf(stretch->setting), box.width() - 6));
    }
  };
  const TimeRange range = shownRange();
  ended_.visible(range.beginNs, range.endNs, scale().nsPerPixel(),
                 [&](const analysis::VisibleSpan& span) {
                   paint(boxOf(span.beginNs, span.endNs),
                         span.count == 1 ? &stretches_[span.firstPayload] : nullptr, false);
                 });
  if (!stretches_.empty()) {
    const Stretch& last = stretches_.back();
    const bool running = !store_->end();
    const std::int64_t endNs = running ? store_->completeUpToNs() : last.endNs;
    if (endNs >= range.beginNs && last.beginNs <= range.endNs) {
      paint(boxOf(last.beginNs, endNs), &last, running);
    }
  }
}

void SettingsPane::paintMarks(QPainter& painter) {
  TimePane::paintMarks(painter);
  const QRect plot = plotRect();
  const double row = rowHeight();
  painter.fillRect(QRectF(0, row, width(), 1), theme().grid);
  painter.setFont(textFont(kSmallText));
  painter.setPen(theme().text2);
  painter.drawText(QRectF(12, 0, plot.left() - 16, row), Qt::AlignVCenter, tr("Settings"));
  painter.drawText(QRectF(12, row, plot.left() - 16, row), Qt::AlignVCenter, tr("Markers"));
  paintStretches(painter);
  painter.save();
  painter.setClipRect(QRectF(plot.left(), row, plot.width() + 1, row));
  const LaneFrame frame{
      painter, *store_, theme(), scale(), double(plot.left()), double(plot.right() + 1)};
  laneKind(Lane::kMarkers).draw(frame, {Lane::kMarkers, row, row, {}});
  painter.restore();
}

std::optional<EventRef> SettingsPane::markerAt(const QPoint& position) const {
  if (position.y() < rowHeight() || position.x() < plotRect().left()) return std::nullopt;
  const TimeScale s = scale();
  const auto slackNs = static_cast<std::int64_t>(kSlackPixels * s.nsPerPixel());
  const auto index = laneKind(Lane::kMarkers)
                         .at(*store_, {Lane::kMarkers, rowHeight(), rowHeight(), {}},
                             s.timeAt(position.x() + 0.5), slackNs);
  return index ? std::optional(EventRef{Lane::kMarkers, *index}) : std::nullopt;
}

void SettingsPane::clicked(const QPoint& position) {
  if (const auto marker = markerAt(position)) {
    focus_->pick(*marker);
  } else {
    focus_->clear();
  }
}

QString SettingsPane::tipAt(const QPoint& position) const {
  if (position.x() < plotRect().left()) return {};
  if (position.y() >= rowHeight()) {
    const auto marker = markerAt(position);
    return marker ? eventText(*store_, *marker).joined() : QString();
  }
  const std::int64_t ns = scale().timeAt(position.x() + 0.5);
  const auto after =
      std::upper_bound(stretches_.begin(), stretches_.end(), ns,
                       [](std::int64_t at, const Stretch& each) { return at < each.beginNs; });
  if (after == stretches_.begin()) return {};
  const Stretch& stretch = *std::prev(after);
  if (ns >= stretch.endNs && std::next(after - 1) != stretches_.end()) return {};
  return tr("%1, steps %2–%3")
      .arg(text(tuning::settingText(stretch.setting)))
      .arg(stretch.firstStep)
      .arg(stretch.lastStep);
}

}  // namespace highwater::views
