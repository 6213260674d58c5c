#include "views/selection_panel.h"

#include <QPainter>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/names.h"
#include "core/units.h"
#include "views/theme.h"

namespace highwater::views {
namespace {

constexpr double kInset = 12, kRow = 22;
constexpr int kBins = 14;

QString msNumber(double ms) {
  return QString::number(ms, 'f', ms < 100 ? 1 : 0);
}
QString percentText(double share) {
  const bool small = share > 0 && share < 0.01;
  return SelectionPanel::tr("%1 %").arg(share * 100, 0, 'f', small ? 1 : 0);
}

}  // namespace

SelectionPanel::SelectionPanel(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("selectionPanel"));
  setAccessibleName(tr("Numbers of the selection"));
}

void SelectionPanel::showSummary(const analysis::RunSummary& summary,
                                 std::vector<double> durationsMs, std::int64_t lengthNs) {
  summary_ = summary;
  durationsMs_ = std::move(durationsMs);
  lengthNs_ = lengthNs;
  update();
}

void SelectionPanel::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  if (summary_.steps == 0) {
    painter.setFont(textFont(kText));
    painter.setPen(Theme::of(this).text3);
    painter.drawText(rect().adjusted(12, 12, -12, -12), Qt::AlignTop | Qt::TextWordWrap,
                     lengthNs_ > 0
                         ? tr("No whole step lies in the selected range")
                         : tr("Numbers of the steps appear here. Shift+drag in a pane, or "
                              "drag in the ruler, to select a range"));
    return;
  }
  double y = paintHead(painter, 10);
  y = paintKeyNumbers(painter, y + 8);
  y = paintRows(painter, y + 10);
  paintPhases(painter, y + 8);
}

double SelectionPanel::paintHead(QPainter& painter, double y) const {
  const Theme& theme = Theme::of(this);
  const QRectF line(kInset, y, width() - 2 * kInset, kRow);
  const QString name = summary_.steps == 1
                           ? tr("Step %1").arg(summary_.firstStep)
                           : tr("Steps %1–%2").arg(summary_.firstStep).arg(summary_.lastStep);
  painter.setFont(textFont(kText, true));
  painter.setPen(theme.text1);
  painter.drawText(line, Qt::AlignVCenter | Qt::AlignLeft, name);
  painter.setFont(textFont(kText));
  painter.setPen(theme.text2);
  painter.drawText(line, Qt::AlignVCenter | Qt::AlignRight,
                   QStringLiteral("%1, %2").arg(
                       QString::fromStdString(formatDuration(lengthNs_)),
                       summary_.steps == 1 ? tr("1 step") : tr("%1 steps").arg(summary_.steps)));
  return y + kRow;
}

double SelectionPanel::paintKeyNumbers(QPainter& painter, double y) const {
  const Theme& theme = Theme::of(this);
  double x = kInset;
  const std::pair<QString, double> numbers[] = {{tr("Step p50"), summary_.stepMsP50},
                                                {tr("p95"), summary_.stepMsP95}};
  for (const auto& [caption, ms] : numbers) {
    painter.setFont(textFont(kSmallText));
    painter.setPen(theme.text2);
    painter.drawText(QRectF(x, y + 6, 80, 14), Qt::AlignVCenter, caption);
    painter.setFont(textFont(kKeyText, true));
    painter.setPen(theme.text1);
    const QString number = msNumber(ms);
    const double wide = painter.fontMetrics().horizontalAdvance(number);
    painter.drawText(QRectF(x, y + 20, wide + 2, 24), Qt::AlignVCenter, number);
    painter.setFont(textFont(kText));
    painter.setPen(theme.text2);
    painter.drawText(QRectF(x + wide + 4, y + 23, 24, 20), Qt::AlignVCenter, tr("ms"));
    x += std::max(wide + 40, 76.0);
  }
  const double left = std::max(x + 8, width() * 0.52);
  paintHistogram(painter, QRectF(left, y, width() - kInset - left, 46));
  return y + 46;
}

void SelectionPanel::paintHistogram(QPainter& painter, const QRectF& rect) const {
  if (durationsMs_.size() < 3 || rect.width() < 60) {
    return;
  }
  const Theme& theme = Theme::of(this);
  const auto [least, most] = std::minmax_element(durationsMs_.begin(), durationsMs_.end());
  const double low = *least, high = std::max(*most, low + 1e-3);
  std::vector<int> bins(kBins, 0);
  for (const double ms : durationsMs_) {
    ++bins[static_cast<std::size_t>(
        std::min(kBins - 1, static_cast<int>((ms - low) / (high - low) * kBins)))];
  }
  const double fullest = *std::max_element(bins.begin(), bins.end());
  const double floor = rect.bottom() - 13, tall = floor - rect.top(), wide = rect.width() / kBins;
  for (int i = 0; i < kBins; ++i) {
    const double height = std::round(tall * bins[static_cast<std::size_t>(i)] / fullest);
    painter.fillRect(
        QRectF(std::round(rect.left() + i * wide), floor - height, std::floor(wide) - 1, height),
        theme.neutralBar);
  }
  painter.fillRect(QRectF(rect.left(), floor, rect.width(), 1), theme.strongLine);
  for (const double ms : {summary_.stepMsP50, summary_.stepMsP95}) {
    const double x = std::round(rect.left() + (ms - low) / (high - low) * (rect.width() - 1));
    painter.fillRect(QRectF(x, rect.top(), 1, tall), theme.text1);
  }
  painter.setFont(textFont(kSmallText));
  painter.setPen(theme.text3);
  const QRectF labels(rect.left(), floor + 1, rect.width(), 13);
  painter.drawText(labels, Qt::AlignLeft | Qt::AlignVCenter, msNumber(low));
  painter.drawText(labels, Qt::AlignRight | Qt::AlignVCenter, tr("%1 ms").arg(msNumber(high)));
}

double SelectionPanel::paintRows(QPainter& painter, double y) const {
  const Theme& theme = Theme::of(this);
  const double stepsMs = std::accumulate(durationsMs_.begin(), durationsMs_.end(), 0.0);
  const auto share = [stepsMs](double ms) {
    return stepsMs > 0 ? percentText(ms / stepsMs) : QString();
  };
  // 0 is no measurement: the CPU has no such counters.
  const auto peak = [](std::uint64_t bytes, const QString& detail) {
    if (bytes == 0) return tr("not measured");
    const QString text = QString::fromStdString(formatBytes(bytes));
    return detail.isEmpty() ? text : text + QLatin1Char(' ') + detail;
  };
  std::vector<std::pair<QString, QString>> rows = {
      {tr("Throughput"),
       tr("%1 tokens/s").arg(QString::fromStdString(formatRate(summary_.tokensPerS)))},
      {tr("Peak, current allocated"),
       peak(summary_.currentPeakBytes, summary_.currentPeakExact ? tr("exact") : tr("sampled"))},
      {tr("Peak, driver allocated"),
       peak(summary_.driverPeakBytes,
            summary_.recommendedBytes > 0
                ? percentText(static_cast<double>(summary_.driverPeakBytes) /
                              static_cast<double>(summary_.recommendedBytes))
                : QString())},
      {tr("In fallbacks"), share(summary_.fallbackMs)},
      {tr("In unplanned syncs"), share(summary_.unplannedSyncMs)}};
  if (summary_.lossFirst && summary_.lossLast) {
    rows.emplace_back(
        tr("Loss, first to last"),
        tr("%1 → %2").arg(*summary_.lossFirst, 0, 'f', 3).arg(*summary_.lossLast, 0, 'f', 3));
  }
  for (const auto& [name, value] : rows) {
    const QRectF line(kInset, y, width() - 2 * kInset, kRow);
    painter.setFont(textFont(kText));
    painter.setPen(theme.text2);
    painter.drawText(line, Qt::AlignVCenter | Qt::AlignLeft, name);
    painter.setFont(textFont(kText, true));
    painter.setPen(theme.text1);
    painter.drawText(line, Qt::AlignVCenter | Qt::AlignRight, value);
    y += kRow;
  }
  return y;
}

void SelectionPanel::paintPhases(QPainter& painter, double y) const {
  const Theme& theme = Theme::of(this);
  const double total = std::accumulate(summary_.phaseMs.begin(), summary_.phaseMs.end(), 0.0);
  if (total <= 0) {
    return;
  }
  const double wide = width() - 2 * kInset;
  painter.setFont(textFont(kSmallText));
  painter.setPen(theme.text2);
  const QRectF caption(kInset, y, wide, 16);
  painter.drawText(caption, Qt::AlignLeft | Qt::AlignVCenter, tr("Share of time by phase"));
  painter.drawText(caption, Qt::AlignRight | Qt::AlignVCenter, tr("ms a step"));
  y += 19;
  double x = kInset;
  for (const events::Phase phase : kPhases) {
    const double part = summary_.phaseMs[static_cast<std::size_t>(phase)] / total * wide;
    painter.fillRect(
        QRectF(std::round(x), y, std::max(std::round(x + part) - std::round(x) - 1, 0.0), 10),
        theme.phase(phase));
    x += part;
  }
  y += 15;
  for (const events::Phase phase : kPhases) {
    const double ms = summary_.phaseMs[static_cast<std::size_t>(phase)];
    const QRectF line(kInset, y, wide, 18);
    painter.fillRect(QRectF(kInset, line.center().y() - 4, 8, 8), theme.phase(phase));
    painter.setFont(textFont(kText));
    painter.setPen(theme.text1);
    painter.drawText(line.adjusted(14, 0, 0, 0), Qt::AlignVCenter,
                     QString::fromUtf8(phaseName(phase).data()));
    painter.drawText(line.adjusted(0, 0, -56, 0), Qt::AlignVCenter | Qt::AlignRight,
                     percentText(ms / total));
    painter.setPen(theme.text2);
    painter.drawText(line, Qt::AlignVCenter | Qt::AlignRight,
                     QString::number(ms / static_cast<double>(summary_.steps), 'f', 1));
    y += 18;
  }
}

}  // namespace highwater::views
