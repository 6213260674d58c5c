#include "views/panels/selection_panel.h"

#include <QAccessible>
#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/facts.h"
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
constexpr double kKeyNumbers = 46;      ///< height of the key numbers
constexpr double kShareHead = 34;       ///< height of the switch and the bar of the shares
constexpr double kBottom = 6;

QString msNumber(double ms) {
  return QString::number(ms, 'f', ms < 100 ? 1 : 0);
}
/// What a number is called everywhere.
QString labelOf(std::string_view key) {
  const analysis::Fact* fact = analysis::findFact(key);
  return fact ? text(fact->label) : QString();
}

constexpr int kLeastGap = 8;
constexpr double kRuleGap = 8;  ///< between the numbers and those of the machine
constexpr QChar kNoNumber = u'\u2013';

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
  if (numbers_.summary.steps == 0) {
    return {};
  }
  const auto line = [](const QString& name, const QString& value) {
    return name + QLatin1Char('\t') + value;
  };
  const auto ms = [this](double value) {
    return numbers_.fillsQueue ? QString(kNoNumber) : text(formatMs(value));
  };
  QStringList lines{line(headText(), stepsText()), line(keyTimeName(), ms(keyTimeMs())),
                    line(labelOf("step_ms.p95"), ms(numbers_.summary.stepMsP95))};
  for (const Row& row : allRows()) {
    lines << line(row.name, QStringLiteral("%1 %2").arg(row.value, row.note).trimmed());
  }
  for (const HostShare& each : hostShares()) {
    lines << line(each.name,
                  tr("%1, %2 ms a step").arg(percentText(each.ms / hostMs()), aStepText(each.ms)));
  }
  if (!outsideHint_.isEmpty()) lines << outsideHint_;
  return lines.join(QLatin1Char('\n'));
}

void SelectionPanel::showNumbers(SelectionNumbers numbers) {
  numbers_ = std::move(numbers);
  updateGeometry();
  placeSwitch();
  describe();
  update();
}

QString SelectionPanel::stepsText() const {
  const analysis::RunSummary& s = numbers_.summary;
  const QString steps = s.steps == 1 ? tr("step %1").arg(s.firstStep)
                                     : tr("steps %1–%2").arg(s.firstStep).arg(s.lastStep);
  return steps + QStringLiteral(", ") + text(formatDuration(numbers_.lengthNs));
}

/// The numbers of a run whose settings changed are a mixture.
QString SelectionPanel::headText() const {
  return numbers_.settings > 1 ? tr("%1, %2 settings").arg(numbers_.head).arg(numbers_.settings)
                               : numbers_.head;
}

void SelectionPanel::setOutsideHint(const QString& hint) {
  if (outsideHint_ == hint) {
    return;
  }
  outsideHint_ = hint;
  updateGeometry();
  describe();
  update();
}

void SelectionPanel::describe() {
  if (!QAccessible::isActive()) {
    return;
  }
  QStringList lines;
  for (const Row& row : allRows()) {
    lines << QStringLiteral("%1: %2 %3").arg(row.name, row.value, row.note).trimmed();
  }
  if (!outsideHint_.isEmpty()) lines << outsideHint_;
  setAccessibleDescription(lines.join(QStringLiteral(", ")));
}

void SelectionPanel::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  if (numbers_.summary.steps == 0) {
    painter.setFont(textFont(kText));
    painter.setPen(Theme::of(this).text3);
    painter.drawText(rect().adjusted(12, 12, -12, -12), Qt::AlignTop | Qt::TextWordWrap,
                     numbers_.none);
    return;
  }
  const double gap = measures().gap;
  double y = paintHead(painter, gap);
  y = paintKeyNumbers(painter, y + gap - 2);
  y = paintRows(painter, y + gap, rows());
  if (!numbers_.machine.empty()) {
    painter.fillRect(
        QRectF(kPanelInset, std::round(y + kRuleGap / 2), width() - 2 * kPanelInset, 1),
        Theme::of(this).separator);
    y = paintRows(painter, y + kRuleGap, numbers_.machine);
  }
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

double SelectionPanel::rowsTop(const Measures& m) {
  return m.gap + m.row + m.gap - 2 + kKeyNumbers + m.gap;
}

double SelectionPanel::sharesTop(const Measures& m) const {
  const double machine = numbers_.machine.empty()
                             ? 0
                             : kRuleGap + static_cast<double>(numbers_.machine.size()) * m.row;
  return rowsTop(m) + static_cast<double>(rows().size()) * m.row + machine + m.gap - 2;
}

double SelectionPanel::outsideMs() const {
  const auto& phases = numbers_.summary.phaseMs;
  return std::max(numbers_.summary.stepsMs - std::accumulate(phases.begin(), phases.end(), 0.0),
                  0.0);
}

double SelectionPanel::hostMs() const {
  const auto& phases = numbers_.summary.phaseMs;
  return std::accumulate(phases.begin(), phases.end(), outsideMs());
}

QString SelectionPanel::aStepText(double ms) const {
  return QString::number(ms / static_cast<double>(numbers_.summary.steps), 'f', 1);
}

std::vector<SelectionPanel::HostShare> SelectionPanel::hostShares() const {
  const Theme& theme = Theme::of(this);
  std::vector<HostShare> shares;
  const double outside = outsideMs(), total = hostMs();
  if (!(total > outside)) return shares;
  for (const events::Phase phase : kPhases) {
    const double ms = numbers_.summary.phaseMs[static_cast<std::size_t>(phase)];
    if (ms < kLeastShownShare * total) continue;
    shares.push_back({theme.phase(phase), text(phaseName(phase)), ms});
  }
  // A script's loop does more than its phases.
  const double waits = std::min(numbers_.summary.outsideWaitMs, outside);
  const bool hasWaits = waits >= kLeastOutside * total;
  const QBrush hatched(theme.busy, Qt::BDiagPattern);
  if (hasWaits) shares.push_back({hatched, tr("waits outside of phases"), waits});
  const double rest = hasWaits ? outside - waits : outside;
  if (rest >= kLeastOutside * total) {
    shares.push_back({theme.neutralBar,
                      hasWaits ? tr("else outside of phases") : tr("outside of phases"), rest});
  }
  return shares;
}

double SelectionPanel::contentHeight(const Measures& m) const {
  double height = sharesTop(m) + kShareHead + static_cast<double>(hostShares().size()) * m.phaseRow;
  if (!outsideHint_.isEmpty()) {
    const QFontMetrics metrics(textFont(kSmallText));
    const int wide = width() - 2 * kPanelInset;
    height += 4 + metrics.boundingRect(0, 0, wide, 1000, Qt::TextWordWrap, outsideHint_).height();
  }
  return height + kBottom;
}

QSize SelectionPanel::sizeHint() const {
  return {328, static_cast<int>(contentHeight(kRoomy))};
}

QSize SelectionPanel::minimumSizeHint() const {
  return {200, static_cast<int>(contentHeight(kDense))};
}

/// The tip of the row under the mouse.
bool SelectionPanel::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || numbers_.summary.steps == 0) {
    return QWidget::event(event);
  }
  const auto* help = static_cast<QHelpEvent*>(event);
  const Measures m = measures();
  const std::vector<Row> above = rows();
  const auto rowAt = [&](double top, const std::vector<Row>& rows) {
    const auto row = static_cast<std::ptrdiff_t>(std::floor((help->pos().y() - top) / m.row));
    return row >= 0 && row < std::ssize(rows) ? rows[static_cast<std::size_t>(row)].tip : QString();
  };
  const double top = rowsTop(m);
  QString tip = rowAt(top, above);
  if (tip.isEmpty()) {
    const double machineTop = top + static_cast<double>(above.size()) * m.row + kRuleGap;
    tip = rowAt(machineTop, numbers_.machine);
  }
  tip.isEmpty() ? QToolTip::hideText() : QToolTip::showText(help->globalPos(), tip, this);
  return true;
}

void SelectionPanel::placeSwitch() {
  const auto& phases = numbers_.summary.phaseMs;
  const bool any = std::any_of(phases.begin(), phases.end(), [](double ms) { return ms > 0; });
  switch_->setVisible(numbers_.summary.steps > 0 && any);
  const QFontMetrics metrics(textFont(kSmallText));
  const int unit = std::max(metrics.horizontalAdvance(unitText(width())),
                            metrics.horizontalAdvance(estimateText(width())));
  switch_->setGeometry(static_cast<int>(kPanelInset), static_cast<int>(sharesTop(measures())) - 1,
                       std::min(width() - 2 * kPanelInset - unit - kLeastGap, 220), 18);
}

SelectionPanel::Measures SelectionPanel::measures() const {
  return height() < static_cast<int>(contentHeight(kRoomy)) ? kDense : kRoomy;
}

double SelectionPanel::paintHead(QPainter& painter, double y) const {
  const Theme& theme = Theme::of(this);
  const QRectF line(kPanelInset, y, width() - 2 * kPanelInset, measures().row);
  const QString steps = stepsText();
  painter.setFont(textFont(kText));
  painter.setPen(theme.text2);
  painter.drawText(line, Qt::AlignVCenter | Qt::AlignRight, steps);
  const int left =
      static_cast<int>(line.width()) - painter.fontMetrics().horizontalAdvance(steps) - kLeastGap;
  painter.setFont(textFont(kText, true));
  painter.setPen(theme.text1);
  painter.drawText(line, Qt::AlignVCenter | Qt::AlignLeft,
                   painter.fontMetrics().elidedText(headText(), Qt::ElideRight, left));
  return y + measures().row;
}

double SelectionPanel::paintKeyNumbers(QPainter& painter, double y) const {
  const Theme& theme = Theme::of(this);
  double x = kPanelInset;
  const std::pair<QString, double> numbers[] = {{keyTimeName(), keyTimeMs()},
                                                {tr("p95"), numbers_.summary.stepMsP95}};
  for (const auto& [caption, ms] : numbers) {
    painter.setFont(textFont(kSmallText));
    painter.setPen(theme.text2);
    painter.drawText(QRectF(x, y + 6, 80, 14), Qt::AlignVCenter, caption);
    painter.setFont(textFont(kKeyText, true));
    painter.setPen(theme.text1);
    const QString number = numbers_.fillsQueue ? QString(kNoNumber) : msNumber(ms);
    const double wide = painter.fontMetrics().horizontalAdvance(number);
    painter.drawText(QRectF(x, y + 20, wide + 2, 24), Qt::AlignVCenter, number);
    painter.setFont(textFont(kText));
    painter.setPen(theme.text2);
    painter.drawText(QRectF(x + wide + 4, y + 23, 24, 20), Qt::AlignVCenter, tr("ms"));
    x += std::max(wide + 40, 76.0);
  }
  const double left = std::max(x + 8, width() * 0.52);
  paintHistogram(painter, QRectF(left, y, width() - kPanelInset - left, kKeyNumbers));
  return y + kKeyNumbers;
}

void SelectionPanel::paintHistogram(QPainter& painter, const QRectF& rect) const {
  if (numbers_.summary.steps < 3 || numbers_.fillsQueue || rect.width() < 60) {
    return;
  }
  const Theme& theme = Theme::of(this);
  const auto& bins = numbers_.summary.histogram.counts;
  const double low = numbers_.summary.histogram.lowMs;
  const double high = std::max(numbers_.summary.histogram.highMs, low + 1e-3);
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
  for (const double ms : {keyTimeMs(), numbers_.summary.stepMsP95}) {
    if (ms < low || ms > high) continue;  // the mean has waits after steps as well
    const double x = std::round(rect.left() + (ms - low) / (high - low) * (rect.width() - 1));
    painter.fillRect(QRectF(x, rect.top(), 1, tall), theme.text1);
  }
  painter.setFont(textFont(kSmallText));
  painter.setPen(theme.text3);
  const QRectF labels(rect.left(), floor + 1, rect.width(), 13);
  painter.drawText(labels, Qt::AlignLeft | Qt::AlignVCenter, msNumber(low));
  painter.drawText(labels, Qt::AlignRight | Qt::AlignVCenter, tr("%1 ms").arg(msNumber(high)));
}

QString SelectionPanel::keyTimeName() const {
  return labelOf(numbers_.summary.meanTells() ? "step_ms.mean" : "step_ms.p50");
}

double SelectionPanel::keyTimeMs() const {
  return numbers_.summary.meanTells() ? numbers_.summary.stepMsMean : numbers_.summary.stepMsP50;
}

SelectionPanel::Row SelectionPanel::rateRow() const {
  const analysis::RunSummary& s = numbers_.summary;
  if (numbers_.fillsQueue) {
    return {tr("Throughput, mean"),
            QString(kNoNumber),
            {},
            tr("Not yet: the first steps only fill the device's queue")};
  }
  QString tip = s.rateLeavesOutFirst
                    ? tr("Of the steps after the run's first, which compiles and allocates")
                    : QString();
  if (!s.rateHasDrain && !s.rateIsQueued) return {tr("Throughput, mean"), numbers_.rate, {}, tip};
  if (!tip.isEmpty()) tip += QLatin1Char('\n');
  if (s.rateIsQueued) {
    tip += tr("No wait tells when the device was done: this is how fast the host queues");
    return {tr("Throughput, as queued"), numbers_.rate, {}, tip};
  }
  tip +=
      tr("After some steps the host waited for what they had queued: this time is counted too, "
         "since their work was done only then");
  return {tr("Throughput, with waits"), numbers_.rate, {}, tip};
}

std::vector<SelectionPanel::Row> SelectionPanel::rows() const {
  const auto share = [this](double ms) {
    return numbers_.summary.stepsMs > 0 ? percentText(ms / numbers_.summary.stepsMs) : QString();
  };
  const auto bytes = [this](std::uint64_t b) {
    return numbers_.summary.memoryCounted ? QString::fromStdString(formatBytes(b))
                                          : tr("not counted");
  };
  QString driverNote;
  if (numbers_.summary.memoryCounted && numbers_.summary.recommendedBytes > 0) {
    driverNote = percentText(static_cast<double>(numbers_.summary.driverPeakBytes) /
                             static_cast<double>(numbers_.summary.recommendedBytes));
  }
  const QString driverTip =
      driverNote.isEmpty() ? QString() : tr("The share is of the recommended max");
  std::vector<Row> rows = {
      rateRow(),
      {labelOf("memory.current_peak"),
       bytes(numbers_.summary.currentPeakBytes),
       {},
       numbers_.summary.currentPeakExact ? QString()
                                         : tr("The largest sample: it may have been more")},
      {labelOf("memory.driver_peak"), bytes(numbers_.summary.driverPeakBytes), driverNote,
       driverTip}};
  if (numbers_.summary.meanTells() && !numbers_.fillsQueue) {
    rows.insert(rows.begin(),
                {labelOf("step_ms.p50"),
                 text(formatMs(numbers_.summary.stepMsP50)),
                 {},
                 tr("Where the host queues steps ahead, most are short, and some wait for all")});
  }
  // What there was none of needs no row.
  const std::pair<QString, double> waits[] = {
      {tr("In fallbacks"), numbers_.summary.fallbackMs},
      {tr("In unplanned syncs"), numbers_.summary.unplannedSyncMs},
      {tr("In planned syncs"), numbers_.summary.plannedSyncMs}};
  for (const auto& [name, ms] : waits) {
    if (ms > 0) rows.push_back({name, share(ms), {}, {}});
  }
  if (numbers_.summary.lossFirst && numbers_.summary.lossLast) {
    const QString first = QString::number(*numbers_.summary.lossFirst, 'f', 3);
    const QString last = QString::number(*numbers_.summary.lossLast, 'f', 3);
    rows.push_back(first == last
                       ? Row{tr("Loss"), last, {}, {}}
                       : Row{tr("Loss, first to last"), tr("%1 → %2").arg(first, last), {}, {}});
  }
  const bool isBelow = !numbers_.machine.empty();  // the last result, with the step it is of
  if (numbers_.summary.heldOutAccuracy && !isBelow) {
    const double percent = 100 * *numbers_.summary.heldOutAccuracy;
    rows.push_back({tr("Held-out accuracy"), tr("%1 %").arg(percent, 0, 'f', 1), {}, {}});
  }
  return rows;
}

std::vector<SelectionPanel::Row> SelectionPanel::allRows() const {
  std::vector<Row> all = rows();
  all.insert(all.end(), numbers_.machine.begin(), numbers_.machine.end());
  return all;
}

double SelectionPanel::paintRows(QPainter& painter, double y, const std::vector<Row>& rows) const {
  const Theme& theme = Theme::of(this);
  for (const auto& [name, value, note, tip] : rows) {
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

void SelectionPanel::paintPhaseRow(QPainter& painter, double y, const QBrush& brush,
                                   const QString& name, double ms, double total) const {
  const Theme& theme = Theme::of(this);
  const QRectF line(kPanelInset, y, width() - 2 * kPanelInset, measures().phaseRow);
  painter.fillRect(QRectF(kPanelInset, line.center().y() - 4, 8, 8), brush);
  painter.setFont(textFont(kText));
  painter.setPen(theme.text1);
  painter.drawText(line.adjusted(14, 0, 0, 0), Qt::AlignVCenter, name);
  painter.drawText(line.adjusted(0, 0, -56, 0), Qt::AlignVCenter | Qt::AlignRight,
                   percentText(ms / total));
  painter.setPen(theme.text2);
  painter.drawText(line, Qt::AlignVCenter | Qt::AlignRight, aStepText(ms));
}

void SelectionPanel::paintPhases(QPainter& painter, double y) const {
  const Theme& theme = Theme::of(this);
  const std::vector<HostShare> shares = hostShares();
  const double total = hostMs();
  if (shares.empty()) return;
  const double wide = width() - 2 * kPanelInset;
  painter.setFont(textFont(kSmallText));
  painter.setPen(theme.text2);
  const QRectF caption(kPanelInset, y, wide, 16);
  painter.drawText(caption, Qt::AlignRight | Qt::AlignVCenter, unitText(width()));
  y += 19;
  double x = kPanelInset;
  for (const HostShare& each : shares) {
    const double part = each.ms / total * wide;
    painter.fillRect(
        QRectF(std::round(x), y, std::max(std::round(x + part) - std::round(x) - 1, 0.0), 10),
        each.brush);
    x += part;
  }
  painter.fillRect(QRectF(std::round(x), y, std::max(kPanelInset + wide - std::round(x), 0.0), 10),
                   theme.neutralBar);
  y += 15;
  for (const HostShare& each : shares) {
    paintPhaseRow(painter, y, each.brush, each.name, each.ms, total);
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
                   share.steps < numbers_.summary.steps
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
