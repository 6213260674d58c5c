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

/// The unit in which both values of a row are written.
struct RowUnit {
  QString name;  ///< empty where the label says it
  double size = 1;
  int decimals = 1;
};

RowUnit unitOf(const analysis::Fact& fact, const ComparedValue& value) {
  const double most = std::max(std::abs(value.a), std::abs(value.b));
  switch (fact.quantity) {
    case analysis::Quantity::kBytes:
      if (most >= static_cast<double>(kGiB)) return {ComparePanel::tr("GiB"), kGiB, 2};
      return {ComparePanel::tr("MiB"), kMiB, 1};
    case analysis::Quantity::kPerSecond:
      if (most >= 1000) return {ComparePanel::tr("k"), 1000, 2};
      return {{}, 1, 0};
    default:
      return {ComparePanel::tr("ms"), 1, most < 10'000 ? 1 : 0};
  }
}

ComparePanel::Row rowOf(const analysis::ComparedFact& compared) {
  const ComparedValue& value = compared.value;
  const RowUnit unit = unitOf(*compared.fact, value);
  const auto number = [&](double of) {
    return std::isnan(of) ? QStringLiteral("\u2013")
                          : QString::number(of / unit.size, 'f', unit.decimals);
  };
  const auto named = [&](std::string_view label) {
    return unit.name.isEmpty() ? text(label) : text(label) + QStringLiteral(", ") + unit.name;
  };
  // A peak that differs by a few pages reads as the same.
  const bool showsChange =
      QString::number(std::abs(value.change()) / unit.size, 'f', unit.decimals).toDouble() > 0;
  return {named(compared.fact->label),
          named(compared.fact->brief),
          number(value.a),
          number(value.b),
          std::isnan(value.change()) ? QStringLiteral("\u2013")
                                     : changeText(value.change() / unit.size, unit.decimals),
          noiseText(value.noise / unit.size, unit.decimals),
          compared.differs() && showsChange};
}

/// Whether a row tells something: not a number that is 0 on both sides.
bool tells(const ComparedValue& value, double least) {
  return !(std::isnan(value.a) || value.a < least) || !(std::isnan(value.b) || value.b < least);
}

/// Of a phase, or of the time outside of all.
QColor colorOf(const analysis::Fact& fact, const Theme& theme) {
  return fact.phase == events::Phase::None ? theme.neutralBar : theme.phase(fact.phase);
}

/// The headings of the columns of numbers.
std::array<QString, 4> tableHeads() {
  return {ComparePanel::tr("A"), ComparePanel::tr("B"), ComparePanel::tr("Change"),
          ComparePanel::tr("Noise")};
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
  std::vector<Row> rows;
  if (!comparison_) return rows;
  const analysis::ComparedFact* above = comparison_->time();  // in large
  const bool meanTells = above && above->fact->key == "step_ms.mean";
  for (const analysis::ComparedFact& each : comparison_->facts) {
    const bool isShown = each.fact->group == analysis::FactGroup::kTime ||
                         each.fact->group == analysis::FactGroup::kMemory;
    const bool repeats = each.fact->key == "step_ms.mean" && !meanTells;
    if (isShown && &each != above && !repeats && tells(each.value, 1e-9)) {
      rows.push_back(rowOf(each));
    }
  }
  return rows;
}

std::vector<ComparePanel::Row> ComparePanel::phases() const {
  std::vector<Row> rows;
  if (!comparison_) return rows;
  for (const analysis::ComparedFact& each : comparison_->facts) {
    if (each.fact->group != analysis::FactGroup::kPhase || !tells(each.value, kLeastShownMs)) {
      continue;
    }
    rows.push_back(rowOf(each));
    rows.back().color = colorOf(*each.fact, Theme::of(this));
    rows.back().name = text(each.fact->label);  // the caption says the unit
    rows.back().brief = text(each.fact->brief);
  }
  return rows;
}

QString ComparePanel::verdict() const {
  if (!comparison_) {
    return tr("A or B has no whole step. Select a longer range and press [ or ]");
  }
  return text(analysis::comparisonText(*comparison_));
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
  const analysis::ComparedFact* headline = comparison_->headline();
  painter.setFont(textFont(kText, headline && headline->differs()));
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
  const analysis::ComparedFact* told = comparison_->time();
  const ComparedValue time = told ? told->value : ComparedValue();
  const QString kind = told ? text(told->fact->brief) : QString();
  const auto number = [](double ms) { return QString::number(ms, 'f', ms < 100 ? 1 : 0); };
  const int decimals = std::max(time.a, time.b) < 100 ? 1 : 0;
  const std::pair<QString, QString> numbers[] = {
      {tr("A, %1").arg(kind), number(time.a)},
      {tr("B, %1").arg(kind), number(time.b)},
      {tr("Difference"), changeText(time.change(), decimals)}};
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
    painter.drawText(name, Qt::AlignLeft | Qt::AlignVCenter,
                     metrics.elidedText(fits ? row.name : row.brief, Qt::ElideRight, name.width()));
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
  std::vector<const analysis::ComparedFact*> parts;
  double sumA = 0, sumB = 0;
  for (const analysis::ComparedFact& each : comparison_->facts) {
    if (each.fact->group != analysis::FactGroup::kPhase) continue;
    parts.push_back(&each);
    sumA += each.value.a;
    sumB += each.value.b;
  }
  const double most = std::max({sumA, sumB, 1e-9}), left = kPanelInset + 16,
               wide = width() - kPanelInset - left;
  const auto paint = [&](const QString& letter, double ComparedValue::*side) {
    painter.setPen(theme.text2);
    painter.drawText(QRectF(kPanelInset, y - 3, 14, 14), Qt::AlignVCenter, letter);
    double x = left;
    for (const analysis::ComparedFact* each : parts) {
      const double part = each->value.*side / most * wide;
      painter.fillRect(
          QRectF(std::round(x), y, std::max(std::round(x + part) - std::round(x) - 1, 0.0), 8),
          colorOf(*each->fact, theme));
      x += part;
    }
    y += 13;
  };
  paint(tr("A"), &ComparedValue::a);
  paint(tr("B"), &ComparedValue::b);
  return y + 2;
}

}  // namespace highwater::views
