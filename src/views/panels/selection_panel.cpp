#include "views/panels/selection_panel.h"

#include <QAccessible>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/names.h"
#include "core/units.h"
#include "models/qt_text.h"
#include "views/panels/copy_actions.h"
#include "views/panels/share_switch.h"
#include "views/panes/paint.h"
#include "views/theme.h"

namespace highwater::views {
namespace {

/// The least share of the steps' time, 0 to 1, of a phase that has a row.
constexpr double kLeastShownShare = 0.0005;
constexpr double kLeastOutside = 0.01;  ///< share of the steps that is worth a row
constexpr int kWidePanel = 310;         ///< width in pixels from which captions are whole
constexpr int kRoomy = 420;             ///< height in pixels from which the large layout fits

QString msNumber(double ms) {
  return QString::number(ms, 'f', ms < 100 ? 1 : 0);
}
constexpr int kLeastGap = 8;

/// What the shares are of, in a panel of this width.
QString unitText(int width) {
  return width < kWidePanel ? SelectionPanel::tr("ms a step")
                            : SelectionPanel::tr("mean, ms a step");
}

/// The same of the shares of device time.
QString estimateText(int width) {
  return width < kWidePanel ? SelectionPanel::tr("estimate, ms")
                            : SelectionPanel::tr("estimate, ms a step");
}

}  // namespace

SelectionPanel::SelectionPanel(QWidget* parent) : QWidget(parent), switch_(new ShareSwitch(this)) {
  switch_->hide();
  connect(switch_, &ShareSwitch::chosen, this, [this](bool device) {
    if (device) {
      emit deviceTimeChosen();
    }
    update();
  });
  setObjectName(QStringLiteral("selectionPanel"));
  setAccessibleName(tr("Numbers of the selection"));
  addCopyText(this, tr("Copy"), [this] { return asText(); });
}

QString SelectionPanel::asText() const {
  if (summary_.steps == 0) {
    return {};
  }
  const auto line = [](const QString& name, const QString& value) {
    return name + QLatin1Char('\t') + value;
  };
  QStringList lines{line(selected_ ? tr("Selected range") : tr("Whole run"),
                         tr("steps %1–%2, %3")
                             .arg(summary_.firstStep)
                             .arg(summary_.lastStep)
                             .arg(QString::fromStdString(formatDuration(lengthNs_)))),
                    line(tr("Step p50"), QString::fromStdString(formatMs(summary_.stepMsP50))),
                    line(tr("Step p95"), QString::fromStdString(formatMs(summary_.stepMsP95)))};
  for (const auto& [name, value, note] : rows()) {
    lines << line(name, note.isEmpty() ? value : value + QLatin1Char(' ') + note);
  }
  if (!outsideHint_.isEmpty()) lines << outsideHint_;
  return lines.join(QLatin1Char('\n'));
}

void SelectionPanel::showSummary(const analysis::RunSummary& summary, const QString& rate,
                                 std::int64_t lengthNs, bool selected, std::size_t settings) {
  summary_ = summary;
  settings_ = settings;
  rate_ = rate;
  selected_ = selected;
  lengthNs_ = lengthNs;
  placeSwitch();
  describe();
  update();
}

void SelectionPanel::setOutsideHint(const QString& hint) {
  if (outsideHint_ == hint) {
    return;
  }
  outsideHint_ = hint;
  describe();
  update();
}

void SelectionPanel::describe() {
  if (!QAccessible::isActive()) {
    return;
  }
  QStringList lines;
  for (const auto& [name, value, note] : rows()) {
    lines << QStringLiteral("%1: %2 %3").arg(name, value, note).trimmed();
  }
  if (!outsideHint_.isEmpty()) lines << outsideHint_;
  setAccessibleDescription(lines.join(QStringLiteral(", ")));
}

void SelectionPanel::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  if (summary_.steps == 0) {
    painter.setFont(textFont(kText));
    painter.setPen(Theme::of(this).text3);
    painter.drawText(rect().adjusted(12, 12, -12, -12), Qt::AlignTop | Qt::TextWordWrap,
                     selected_ ? tr("No whole step lies in the selected range")
                               : tr("Numbers of the steps appear here. Drag in a pane or in the "
                                    "ruler to select a range"));
    return;
  }
  const double gap = measures().gap;
  double y = paintHead(painter, gap);
  y = paintKeyNumbers(painter, y + gap - 2);
  y = paintRows(painter, y + gap);
  y += gap - 2;
  showsDeviceTime() ? paintDeviceShare(painter, y) : paintPhases(painter, y);
}

bool SelectionPanel::showsDeviceTime() const {
  return switch_->showsDevice();
}

void SelectionPanel::showDeviceShare(const analysis::DeviceShare& share) {
  deviceShare_ = share;
  update();
}

void SelectionPanel::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  placeSwitch();
}

double SelectionPanel::sharesTop() const {
  const Measures m = measures();
  const double keyNumbers = m.gap + m.row + m.gap - 2 + 46;
  return keyNumbers + m.gap + static_cast<double>(rows().size()) * m.row + m.gap - 2;
}

void SelectionPanel::placeSwitch() {
  const auto& phases = summary_.phaseMs;
  const bool any = std::any_of(phases.begin(), phases.end(), [](double ms) { return ms > 0; });
  switch_->setVisible(summary_.steps > 0 && any);
  const QFontMetrics metrics(textFont(kSmallText));
  const int unit = std::max(metrics.horizontalAdvance(unitText(width())),
                            metrics.horizontalAdvance(estimateText(width())));
  switch_->setGeometry(
      static_cast<int>(kPanelInset), static_cast<int>(sharesTop()) - 1,
      std::min(width() - static_cast<int>(2 * kPanelInset) - unit - kLeastGap, 220), 18);
}

SelectionPanel::Measures SelectionPanel::measures() const {
  return height() < kRoomy ? Measures{18, 16, 6} : Measures{22, 18, 10};
}

double SelectionPanel::paintHead(QPainter& painter, double y) const {
  const Theme& theme = Theme::of(this);
  const QRectF line(kPanelInset, y, width() - 2 * kPanelInset, measures().row);
  const QString steps = summary_.steps == 1
                            ? tr("step %1").arg(summary_.firstStep)
                            : tr("steps %1–%2").arg(summary_.firstStep).arg(summary_.lastStep);
  // The numbers of a run whose settings changed are a mixture.
  QString name = selected_ ? tr("Selected range") : tr("Whole run");
  if (settings_ > 1) {
    name += tr(", %1 settings").arg(settings_);
  }
  painter.setFont(textFont(kText, true));
  painter.setPen(theme.text1);
  painter.drawText(line, Qt::AlignVCenter | Qt::AlignLeft, name);
  painter.setFont(textFont(kText));
  painter.setPen(theme.text2);
  painter.drawText(
      line, Qt::AlignVCenter | Qt::AlignRight,
      steps + QStringLiteral(", ") + QString::fromStdString(formatDuration(lengthNs_)));
  return y + measures().row;
}

double SelectionPanel::paintKeyNumbers(QPainter& painter, double y) const {
  const Theme& theme = Theme::of(this);
  double x = kPanelInset;
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
  paintHistogram(painter, QRectF(left, y, width() - kPanelInset - left, 46));
  return y + 46;
}

void SelectionPanel::paintHistogram(QPainter& painter, const QRectF& rect) const {
  if (summary_.steps < 3 || rect.width() < 60) {
    return;
  }
  const Theme& theme = Theme::of(this);
  const auto& bins = summary_.histogram.counts;
  const double low = summary_.histogram.lowMs;
  const double high = std::max(summary_.histogram.highMs, low + 1e-3);
  const auto fullest = static_cast<double>(*std::max_element(bins.begin(), bins.end()));
  const double floor = rect.bottom() - 13, tall = floor - rect.top(),
               wide = rect.width() / static_cast<double>(bins.size());
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const double x = std::round(rect.left() + static_cast<double>(i) * wide);
    // A bin with a single step is at least a pixel high.
    const double height =
        bins[i] > 0 ? std::max(1.0, std::round(tall * static_cast<double>(bins[i]) / fullest)) : 0;
    painter.fillRect(QRectF(x, floor - height, std::floor(wide) - 1, height), theme.neutralBar);
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

std::vector<SelectionPanel::Row> SelectionPanel::rows() const {
  const auto share = [this](double ms) {
    return summary_.stepsMs > 0 ? percentText(ms / summary_.stepsMs) : QString();
  };
  const auto bytes = [this](std::uint64_t b) {
    return summary_.memoryCounted ? QString::fromStdString(formatBytes(b)) : tr("not counted");
  };
  QString driverNote;
  if (summary_.memoryCounted && summary_.recommendedBytes > 0) {
    driverNote = percentText(static_cast<double>(summary_.driverPeakBytes) /
                             static_cast<double>(summary_.recommendedBytes));
  }
  std::vector<Row> rows = {
      {tr("Throughput, mean"), rate_, {}},
      {tr("Peak, current"), bytes(summary_.currentPeakBytes),
       summary_.memoryCounted && !summary_.currentPeakExact ? tr("sampled") : QString()},
      {tr("Peak, driver"), bytes(summary_.driverPeakBytes), driverNote}};
  // What there was none of needs no row.
  const std::pair<QString, double> waits[] = {{tr("In fallbacks"), summary_.fallbackMs},
                                              {tr("In unplanned syncs"), summary_.unplannedSyncMs},
                                              {tr("In planned syncs"), summary_.plannedSyncMs}};
  for (const auto& [name, ms] : waits) {
    if (ms > 0) rows.push_back({name, share(ms), {}});
  }
  if (summary_.lossFirst && summary_.lossLast) {
    const QString first = QString::number(*summary_.lossFirst, 'f', 3);
    const QString last = QString::number(*summary_.lossLast, 'f', 3);
    rows.push_back(first == last
                       ? Row{tr("Loss"), last, {}}
                       : Row{tr("Loss, first to last"), tr("%1 → %2").arg(first, last), {}});
  }
  return rows;
}

double SelectionPanel::paintRows(QPainter& painter, double y) const {
  const Theme& theme = Theme::of(this);
  for (const auto& [name, value, note] : rows()) {
    const QRectF line(kPanelInset, y, width() - 2 * kPanelInset, measures().row);
    painter.setFont(textFont(kText));
    painter.setPen(theme.text2);
    painter.drawText(line, Qt::AlignVCenter | Qt::AlignLeft, name);
    painter.drawText(line, Qt::AlignVCenter | Qt::AlignRight, note);
    const double noteWidth = note.isEmpty() ? 0 : painter.fontMetrics().horizontalAdvance(note) + 6;
    painter.setFont(textFont(kText, true));
    painter.setPen(theme.text1);
    painter.drawText(line.adjusted(0, 0, -noteWidth, 0), Qt::AlignVCenter | Qt::AlignRight, value);
    y += measures().row;
  }
  return y;
}

void SelectionPanel::paintPhaseRow(QPainter& painter, double y, const QColor& color,
                                   const QString& name, double ms, double total) const {
  const Theme& theme = Theme::of(this);
  const QRectF line(kPanelInset, y, width() - 2 * kPanelInset, measures().phaseRow);
  painter.fillRect(QRectF(kPanelInset, line.center().y() - 4, 8, 8), color);
  painter.setFont(textFont(kText));
  painter.setPen(theme.text1);
  painter.drawText(line.adjusted(14, 0, 0, 0), Qt::AlignVCenter, name);
  painter.drawText(line.adjusted(0, 0, -56, 0), Qt::AlignVCenter | Qt::AlignRight,
                   percentText(ms / total));
  painter.setPen(theme.text2);
  painter.drawText(line, Qt::AlignVCenter | Qt::AlignRight,
                   QString::number(ms / static_cast<double>(summary_.steps), 'f', 1));
}

void SelectionPanel::paintPhases(QPainter& painter, double y) const {
  const Theme& theme = Theme::of(this);
  const double inPhases = std::accumulate(summary_.phaseMs.begin(), summary_.phaseMs.end(), 0.0);
  // A script's loop does more than its phases.
  const double outside = std::max(summary_.stepsMs - inPhases, 0.0);
  const double total = inPhases + outside;
  if (inPhases <= 0) {
    return;
  }
  const double wide = width() - 2 * kPanelInset;
  painter.setFont(textFont(kSmallText));
  painter.setPen(theme.text2);
  const QRectF caption(kPanelInset, y, wide, 16);
  painter.drawText(caption, Qt::AlignRight | Qt::AlignVCenter, unitText(width()));
  y += 19;
  double x = kPanelInset;
  for (const events::Phase phase : kPhases) {
    const double part = summary_.phaseMs[static_cast<std::size_t>(phase)] / total * wide;
    painter.fillRect(
        QRectF(std::round(x), y, std::max(std::round(x + part) - std::round(x) - 1, 0.0), 10),
        theme.phase(phase));
    x += part;
  }
  painter.fillRect(QRectF(std::round(x), y, std::max(kPanelInset + wide - std::round(x), 0.0), 10),
                   theme.neutralBar);
  y += 15;
  for (const events::Phase phase : kPhases) {
    const double ms = summary_.phaseMs[static_cast<std::size_t>(phase)];
    if (ms < kLeastShownShare * total) continue;
    paintPhaseRow(painter, y, theme.phase(phase), QString::fromUtf8(phaseName(phase).data()), ms,
                  total);
    y += measures().phaseRow;
  }
  if (outside / total >= kLeastOutside) {
    paintPhaseRow(painter, y, theme.neutralBar, tr("outside of phases"), outside, total);
    y += measures().phaseRow;
  }
  if (!outsideHint_.isEmpty()) {
    painter.setFont(textFont(kSmallText));
    painter.setPen(theme.text2);
    painter.drawText(QRectF(kPanelInset, y + 2, wide, height() - y - 4),
                     Qt::AlignTop | Qt::TextWordWrap, outsideHint_);
  }
}

void SelectionPanel::paintDeviceShare(QPainter& painter, double y) const {
  const Theme& theme = Theme::of(this);
  const double wide = width() - 2 * kPanelInset;
  painter.setFont(textFont(kSmallText));
  painter.setPen(theme.text2);
  const analysis::DeviceShare& share = deviceShare_;
  if (!share.unknown.empty() || share.stepMs <= 0) {
    painter.drawText(QRectF(kPanelInset, y + 20, wide, height() - y - 24),
                     Qt::AlignTop | Qt::TextWordWrap, text(share.unknown));
    return;
  }
  painter.drawText(QRectF(kPanelInset, y, wide, 16), Qt::AlignRight | Qt::AlignVCenter,
                   share.steps < summary_.steps
                       ? tr("estimate, newest %1 steps, ms").arg(share.steps)
                       : estimateText(width()));
  y += 19;
  double x = kPanelInset;
  const auto box = [&](double ms) {
    const double end = x + ms / share.stepMs * wide;
    const QRectF rect(std::round(x), y, std::max(std::round(end) - std::round(x) - 1, 0.0), 10);
    x = end;
    return rect;
  };
  for (const analysis::DevicePart& part : share.parts) {
    // Phases that cannot be told apart lie above each other.
    const QRectF rect = box(part.ms);
    const double tall = rect.height() / static_cast<double>(part.phases.size());
    for (std::size_t i = 0; i < part.phases.size(); ++i) {
      painter.fillRect(
          QRectF(rect.left(), rect.top() + tall * static_cast<double>(i), rect.width(), tall),
          theme.phase(part.phases[i]));
    }
  }
  painter.fillRect(box(share.restMs), theme.busy);
  const QBrush idle = hatchBrush(theme.busy, theme.plot, 5);
  painter.fillRect(box(share.idleMs), idle);
  y += 15;
  const auto row = [&](const QBrush& swatch, const QString& name, double ms) {
    const QRectF line(kPanelInset, y, wide, measures().phaseRow);
    painter.fillRect(QRectF(kPanelInset, line.center().y() - 4, 8, 8), swatch);
    painter.setFont(textFont(kText));
    painter.setPen(theme.text1);
    painter.drawText(
        line.adjusted(14, 0, -96, 0), Qt::AlignVCenter,
        painter.fontMetrics().elidedText(name, Qt::ElideRight, static_cast<int>(wide) - 110));
    painter.drawText(line.adjusted(0, 0, -56, 0), Qt::AlignVCenter | Qt::AlignRight,
                     percentText(ms / share.stepMs));
    painter.setPen(theme.text2);
    painter.drawText(line, Qt::AlignVCenter | Qt::AlignRight, QString::number(ms, 'f', 1));
    y += measures().phaseRow;
  };
  for (const analysis::DevicePart& part : share.parts) {
    QStringList names;
    for (const events::Phase phase : part.phases) {
      names << text(phaseName(phase));
    }
    QString name = names.join(QStringLiteral(" + "));
    if (part.highMs - part.lowMs > 0.1 * part.ms) {
      name += QStringLiteral(" (%1\u2013%2)").arg(msNumber(part.lowMs), msNumber(part.highMs));
    }
    row(theme.phase(part.phases.front()), name, part.ms);
  }
  if (share.restMs > kLeastOutside * share.stepMs) {
    row(theme.busy, share.parts.empty() ? tr("busy") : tr("busy, not told apart"), share.restMs);
  }
  row(idle, tr("idle"), share.idleMs);
}

}  // namespace highwater::views
