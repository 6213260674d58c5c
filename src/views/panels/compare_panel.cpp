#include "views/panels/compare_panel.h"

#include <QPainter>
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/names.h"
#include "core/units.h"
#include "models/qt_text.h"
#include "views/panes/paint.h"
#include "views/theme.h"

namespace highwater::views {

using analysis::ComparedValue;

namespace {

constexpr double kCompareRow = 20, kCompareHead = 18;
constexpr double kLeastShownMs = 0.05;  ///< a phase below it rounds to 0.0 in both ranges

QString changeText(double change, int decimals) {
  return signedText(change, QString::number(std::abs(change), 'f', decimals));
}

QString noiseText(double noise, int decimals) {
  return std::isnan(noise) ? QStringLiteral("–")
                           : QStringLiteral("± ") + QString::number(noise, 'f', decimals);
}

/// A row of a value that is divided by `unit` and shown with so many decimals.
ComparePanel::Row rowOf(const QString& name, const ComparedValue& value, double unit,
                        int decimals) {
  return {name,
          QString::number(value.a / unit, 'f', decimals),
          QString::number(value.b / unit, 'f', decimals),
          changeText(value.change() / unit, decimals),
          noiseText(value.noise / unit, decimals),
          value.beyondNoise()};
}

int msDecimals(const ComparedValue& value) {
  return std::max(std::abs(value.a), std::abs(value.b)) < 10'000 ? 1 : 0;
}

ComparePanel::Row bytesRow(const QString& name, const ComparedValue& value) {
  const bool large = std::max(value.a, value.b) >= static_cast<double>(kGiB);
  const auto unit = static_cast<double>(large ? kGiB : kMiB);
  ComparePanel::Row row = rowOf(name + (large ? QStringLiteral(", GiB") : QStringLiteral(", MiB")),
                                value, unit, large ? 2 : 1);
  row.beyond = value.change() != 0;  // a maximum has no noise to be within
  return row;
}

/// The headings of the columns of numbers.
std::array<QString, 4> tableHeads() {
  return {ComparePanel::tr("A"), ComparePanel::tr("B"), ComparePanel::tr("Change"),
          ComparePanel::tr("Noise")};
}

/// The name of a row where the whole one does not fit.
QString shortName(const QString& name) {
  const std::pair<QString, QString> names[] = {
      {ComparePanel::tr("Step p95, ms"), ComparePanel::tr("p95, ms")},
      {ComparePanel::tr("Unplanned syncs, ms"), ComparePanel::tr("Unplanned, ms")},
      {ComparePanel::tr("Planned syncs, ms"), ComparePanel::tr("Planned, ms")},
      {ComparePanel::tr("Peak current, MiB"), ComparePanel::tr("Current, MiB")},
      {ComparePanel::tr("Peak current, GiB"), ComparePanel::tr("Current, GiB")},
      {ComparePanel::tr("Peak driver, MiB"), ComparePanel::tr("Driver, MiB")},
      {ComparePanel::tr("Peak driver, GiB"), ComparePanel::tr("Driver, GiB")},
      {text(phaseName(events::Phase::BatchAssembly)), ComparePanel::tr("assembly")},
      {text(phaseName(events::Phase::DeviceMove)), ComparePanel::tr("move")},
      {text(phaseName(events::Phase::OptimizerStep)), ComparePanel::tr("optimizer")},
      {ComparePanel::tr("outside of phases"), ComparePanel::tr("outside")}};
  for (const auto& [whole, shorter] : names) {
    if (whole == name) return shorter;
  }
  return name;
}

QString stepsText(const analysis::RunSummary& summary) {
  return summary.steps == 1
             ? ComparePanel::tr("Step %1").arg(summary.firstStep)
             : ComparePanel::tr("Steps %1–%2").arg(summary.firstStep).arg(summary.lastStep);
}

}  // namespace

ComparePanel::ComparePanel(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("comparePanel"));
  setAccessibleName(tr("Comparison of two ranges"));
}

void ComparePanel::showComparison(const std::optional<analysis::Comparison>& comparison,
                                  std::int64_t lengthANs, std::int64_t lengthBNs) {
  comparison_ = comparison;
  lengthANs_ = lengthANs;
  lengthBNs_ = lengthBNs;
  QStringList spoken{verdict()};
  for (const auto& rows : {numbers(), phases()}) {
    for (const Row& row : rows) {
      spoken << tr("%1: A %2, B %3, change %4").arg(row.name, row.a, row.b, row.change);
    }
  }
  setAccessibleDescription(spoken.join(QStringLiteral(", ")));
  update();
}

std::vector<ComparePanel::Row> ComparePanel::numbers() const {
  if (!comparison_) {
    return {};
  }
  const analysis::Comparison& c = *comparison_;
  std::vector<Row> rows{rowOf(tr("Step p95, ms"), c.stepMsP95, 1, msDecimals(c.stepMsP95))};
  if (c.tokensPerS.a > 0) {  // else the sizes of the batches are not known
    const bool many = std::max(c.tokensPerS.a, c.tokensPerS.b) >= 1000;
    const QString unit = c.rateUnit == "samples/s" ? tr("Samples/s") : tr("Tokens/s");
    rows.push_back(
        rowOf(many ? tr("%1, k").arg(unit) : unit, c.tokensPerS, many ? 1000 : 1, many ? 2 : 0));
  }
  rows.push_back(rowOf(tr("Fallbacks, ms"), c.fallbackMs, 1, 1));
  rows.push_back(rowOf(tr("Unplanned syncs, ms"), c.unplannedSyncMs, 1, 1));
  rows.push_back(rowOf(tr("Planned syncs, ms"), c.plannedSyncMs, 1, 1));
  if (c.a.memoryCounted && c.b.memoryCounted) {
    rows.push_back(bytesRow(tr("Peak current"), c.currentPeakBytes));
    rows.push_back(bytesRow(tr("Peak driver"), c.driverPeakBytes));
  }
  return rows;
}

std::vector<ComparePanel::Row> ComparePanel::phases() const {
  std::vector<Row> rows;
  if (!comparison_) {
    return rows;
  }
  for (const events::Phase phase : kPhases) {
    const ComparedValue& value = comparison_->phaseMs[static_cast<std::size_t>(phase)];
    if (std::max(value.a, value.b) >= kLeastShownMs) {
      rows.push_back(rowOf(text(phaseName(phase)), value, 1, 1));
      rows.back().color = Theme::of(this).phase(phase);
    }
  }
  if (const ComparedValue& value = comparison_->outsideMs;
      std::max(value.a, value.b) >= kLeastShownMs) {
    rows.push_back(rowOf(tr("outside of phases"), value, 1, 1));
    rows.back().color = Theme::of(this).neutralBar;
  }
  return rows;
}

QString ComparePanel::verdict() const {
  if (!comparison_) {
    return tr("A or B has no whole step. Select a longer range and press [ or ]");
  }
  const bool byRate = !comparison_->sameTokens && comparison_->tokensPerS.a > 0;
  const ComparedValue& p50 = comparison_->stepMsP50;
  if (std::isnan(p50.noise)) {
    return tr("Too few steps to tell a change from noise: each range needs %1")
        .arg(analysis::kLeastComparedSteps);
  }
  if (byRate) {  // a step that has more to do may well take longer
    const ComparedValue& rate = comparison_->tokensPerS;
    const QString unit = text(comparison_->rateUnit);
    const QString noise = percentText(rate.noise / rate.a);
    if (!rate.beyondNoise())
      return tr("No difference in %1 beyond the noise, ± %2").arg(unit, noise);
    return (rate.change() > 0 ? tr("%1 more %2, beyond the noise, ± %3")
                              : tr("%1 fewer %2, beyond the noise, ± %3"))
        .arg(percentText(std::abs(rate.change()) / rate.a), unit, noise);
  }
  const QString noise = QString::number(p50.noise, 'f', 1);
  if (!p50.beyondNoise()) {
    return tr("No difference beyond the noise, ± %1 ms").arg(noise);
  }
  const double share = p50.a > 0 ? std::abs(p50.change()) / p50.a : 0;
  return (p50.change() < 0 ? tr("%1 less time a step, beyond the noise, ± %2 ms")
                           : tr("%1 more time a step, beyond the noise, ± %2 ms"))
      .arg(percentText(share), noise);
}

void ComparePanel::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  if (!comparison_) {
    painter.setFont(textFont(kText));
    painter.setPen(Theme::of(this).text3);
    painter.drawText(rect().adjusted(12, 12, -12, -12), Qt::AlignTop | Qt::TextWordWrap, verdict());
    return;
  }
  double y = paintHead(painter, 10);
  y = paintKeyNumbers(painter, y + 8);
  const Theme& theme = Theme::of(this);
  painter.setFont(textFont(kText, comparison_->stepMsP50.beyondNoise()));
  painter.setPen(theme.text1);
  const QRectF line(kPanelInset, y + 4, width() - 2 * kPanelInset, 36);
  QRectF used;
  // A number and its unit stay on one line.
  QString told = verdict();
  told.replace(QStringLiteral("± "), QStringLiteral("±\u00a0"));
  told.replace(QStringLiteral(" ms"), QStringLiteral("\u00a0ms"));
  painter.drawText(line, Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap, told, &used);
  const std::vector<Row> numbers = this->numbers(), phases = this->phases();
  // As wide as the numbers of both tables need: the names get the rest.
  constexpr double kGap = 7;
  const QFontMetricsF small(textFont(kSmallText)), plain(textFont(kText)),
      bold(textFont(kText, true));
  Columns columns;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i] = small.horizontalAdvance(tableHeads()[i]) + kGap;
  }
  for (const std::vector<Row>* table : {&numbers, &phases}) {
    for (const Row& row : *table) {
      const QString* texts[] = {&row.a, &row.b, &row.change, &row.noise};
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const QFontMetricsF& metrics = i == 2 ? bold : plain;
        columns[i] = std::max(columns[i], std::ceil(metrics.horizontalAdvance(*texts[i])) + kGap);
      }
    }
  }
  y = paintTable(painter, used.bottom() + 8, numbers, columns);
  if (phases.empty()) {
    return;
  }
  y = paintPhaseBars(painter, y + 8);
  paintTable(painter, y, phases, columns);
}

double ComparePanel::paintHead(QPainter& painter, double y) const {
  const Theme& theme = Theme::of(this);
  const auto paint = [&](Pin pin, const analysis::RunSummary& summary, const std::string& sizes,
                         std::int64_t ns) {
    drawPin(painter, pin, QRectF(kPanelInset, y + 2, 16, 16), theme);
    const QRectF line(kPanelInset + 24, y, width() - 2 * kPanelInset - 24, 20);
    painter.setFont(textFont(kText, true));
    painter.setPen(theme.text1);
    painter.drawText(line, Qt::AlignVCenter | Qt::AlignLeft, stepsText(summary));
    painter.setFont(textFont(kText));
    painter.setPen(theme.text2);
    const QString length =
        summary.steps == 1 ? tr("%1, 1 step").arg(text(formatDuration(ns)))
                           : tr("%1, %2 steps").arg(text(formatDuration(ns))).arg(summary.steps);
    painter.drawText(line, Qt::AlignVCenter | Qt::AlignRight,
                     sizes.empty() ? length : text(sizes) + QStringLiteral(", ") + length);
    y += 22;
  };
  paint(Pin::kA, comparison_->a, comparison_->sizesA, lengthANs_);
  paint(Pin::kB, comparison_->b, comparison_->sizesB, lengthBNs_);
  return y;
}

double ComparePanel::paintKeyNumbers(QPainter& painter, double y) const {
  const Theme& theme = Theme::of(this);
  const ComparedValue& p50 = comparison_->stepMsP50;
  const auto number = [](double ms) { return QString::number(ms, 'f', ms < 100 ? 1 : 0); };
  const int decimals = std::max(p50.a, p50.b) < 100 ? 1 : 0;
  const std::pair<QString, QString> numbers[] = {
      {tr("A, p50"), number(p50.a)},
      {tr("B, p50"), number(p50.b)},
      {tr("Difference"), changeText(p50.change(), decimals)}};
  double x = kPanelInset;
  for (const auto& [caption, value] : numbers) {
    painter.setFont(textFont(kSmallText));
    painter.setPen(theme.text2);
    painter.drawText(QRectF(x, y, 80, 14), Qt::AlignVCenter, caption);
    const double captionWide = painter.fontMetrics().horizontalAdvance(caption);
    painter.setFont(textFont(kKeyText, true));
    painter.setPen(theme.text1);
    const double wide = painter.fontMetrics().horizontalAdvance(value);
    painter.drawText(QRectF(x, y + 14, wide + 2, 24), Qt::AlignVCenter, value);
    painter.setFont(textFont(kText));
    painter.setPen(theme.text2);
    painter.drawText(QRectF(x + wide + 3, y + 17, 24, 20), Qt::AlignVCenter, tr("ms"));
    x += std::max(wide + 22, captionWide) + 10;
  }
  paintHistogram(painter, QRectF(x + 2, y, width() - kPanelInset - x - 2, 44));
  return y + 42;
}

/// A outlined, B filled, as their flags are.
void ComparePanel::paintHistogram(QPainter& painter, const QRectF& rect) const {
  if (rect.width() < 50 || comparison_->a.steps < 3 || comparison_->b.steps < 3) {
    return;
  }
  const Theme& theme = Theme::of(this);
  const auto& a = comparison_->histogramA;
  const auto& b = comparison_->histogramB;
  const double floor = rect.bottom() - 13, tall = floor - rect.top() - 1,
               wide = rect.width() / static_cast<double>(analysis::StepHistogram::kBins);
  // Shares of each range's steps, because the ranges may differ in length.
  const auto fullest = [](const analysis::StepHistogram& histogram, std::uint64_t steps) {
    return static_cast<double>(
               *std::max_element(histogram.counts.begin(), histogram.counts.end())) /
           static_cast<double>(steps);
  };
  const double most = std::max(fullest(a, comparison_->a.steps), fullest(b, comparison_->b.steps));
  const auto heightOf = [&](std::uint64_t count, std::uint64_t steps) {
    return count == 0 ? 0.0
                      : std::max(2.0, std::round(tall * static_cast<double>(count) /
                                                 static_cast<double>(steps) / most));
  };
  for (std::size_t i = 0; i < analysis::StepHistogram::kBins; ++i) {
    const double x = std::round(rect.left() + static_cast<double>(i) * wide);
    const double w = std::max(std::floor(wide) - 1, 2.0);
    const double heightB = heightOf(b.counts[i], comparison_->b.steps);
    painter.fillRect(QRectF(x, floor - heightB, w, heightB), theme.neutralBar);
    const double heightA = heightOf(a.counts[i], comparison_->a.steps);
    if (heightA > 0) {
      painter.setPen(QPen(theme.text1, 1));
      painter.setBrush(Qt::NoBrush);
      painter.drawRect(QRectF(x, floor - heightA, w - 1, heightA));
    }
  }
  painter.fillRect(QRectF(rect.left(), floor, rect.width(), 1), theme.strongLine);
  painter.setFont(textFont(kSmallText));
  painter.setPen(theme.text3);
  const QRectF labels(rect.left(), floor + 1, rect.width(), 13);
  // With a decimal where both ends fit so.
  constexpr double kLeastGap = 6;
  for (int decimals = a.highMs < 100 ? 1 : 0; decimals >= 0; --decimals) {
    const QString low = QString::number(a.lowMs, 'f', decimals);
    const QString high = tr("%1 ms").arg(QString::number(a.highMs, 'f', decimals));
    const QFontMetricsF metrics(painter.font());
    const bool fits =
        metrics.horizontalAdvance(low) + metrics.horizontalAdvance(high) + kLeastGap <=
        labels.width();
    if (!fits && decimals > 0) continue;
    if (fits) painter.drawText(labels, Qt::AlignLeft | Qt::AlignVCenter, low);
    painter.drawText(labels, Qt::AlignRight | Qt::AlignVCenter, high);
    break;
  }
}

double ComparePanel::paintTable(QPainter& painter, double y, const std::vector<Row>& rows,
                                const Columns& columns) const {
  const Theme& theme = Theme::of(this);
  const double wide = width() - 2 * kPanelInset;
  const auto heads = tableHeads();
  // The right edges of A, B, change and noise.
  Columns edges;
  double right = width() - kPanelInset;
  for (std::size_t i = columns.size(); i-- > 0;) {
    edges[i] = right;
    right -= columns[i];
  }
  const auto put = [&](std::size_t index, const QString& text) {
    painter.drawText(QRectF(edges[index] - columns[index], y, columns[index], kCompareRow),
                     Qt::AlignRight | Qt::AlignVCenter, text);
  };
  painter.setFont(textFont(kSmallText));
  painter.setPen(theme.text2);
  for (std::size_t i = 0; i < columns.size(); ++i) put(i, heads[i]);
  y += kCompareHead;
  painter.fillRect(QRectF(kPanelInset, y, wide, 1), theme.separator);
  y += 2;
  for (const Row& row : rows) {
    double x = kPanelInset;
    if (row.color.isValid()) {
      painter.fillRect(QRectF(x, y + 6, 8, 8), row.color);
      x += 14;
    }
    painter.setFont(textFont(kText));
    painter.setPen(theme.text1);
    const QRectF name(x, y, edges[0] - columns[0] - x, kCompareRow);
    const QFontMetricsF metrics(textFont(kText));
    const bool fits = metrics.horizontalAdvance(row.name) <= name.width();
    painter.drawText(
        name, Qt::AlignLeft | Qt::AlignVCenter,
        metrics.elidedText(fits ? row.name : shortName(row.name), Qt::ElideRight, name.width()));
    painter.setPen(theme.text2);
    put(0, row.a);
    painter.setPen(theme.text1);
    put(1, row.b);
    painter.setFont(textFont(kText, row.beyond));
    painter.setPen(row.beyond ? theme.text1 : theme.text3);
    put(2, row.change);
    painter.setFont(textFont(kText));
    painter.setPen(theme.text3);
    put(3, row.noise);
    y += kCompareRow;
  }
  return y;
}

double ComparePanel::paintPhaseBars(QPainter& painter, double y) const {
  const Theme& theme = Theme::of(this);
  painter.setFont(textFont(kSmallText));
  painter.setPen(theme.text2);
  painter.drawText(QRectF(kPanelInset, y, width() - 2 * kPanelInset, 16), Qt::AlignVCenter,
                   tr("Host time by phase, mean, ms a step"));
  y += 18;
  const auto& phases = comparison_->phaseMs;
  const ComparedValue& outside = comparison_->outsideMs;
  double sumA = outside.a, sumB = outside.b;
  for (const ComparedValue& value : phases) {
    sumA += value.a;
    sumB += value.b;
  }
  const double most = std::max({sumA, sumB, 1e-9}), left = kPanelInset + 16,
               wide = width() - kPanelInset - left;
  const auto paint = [&](const QString& letter, double ComparedValue::*side) {
    painter.setPen(theme.text2);
    painter.drawText(QRectF(kPanelInset, y - 3, 14, 14), Qt::AlignVCenter, letter);
    double x = left;
    const auto bar = [&](double ms, const QColor& color) {
      const double part = ms / most * wide;
      painter.fillRect(
          QRectF(std::round(x), y, std::max(std::round(x + part) - std::round(x) - 1, 0.0), 8),
          color);
      x += part;
    };
    for (const events::Phase phase : kPhases) {
      bar(phases[static_cast<std::size_t>(phase)].*side, theme.phase(phase));
    }
    bar(outside.*side, theme.neutralBar);
    y += 13;
  };
  paint(tr("A"), &ComparedValue::a);
  paint(tr("B"), &ComparedValue::b);
  return y + 2;
}

}  // namespace highwater::views
