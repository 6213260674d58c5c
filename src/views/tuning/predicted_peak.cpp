#include "views/tuning/predicted_peak.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QSpinBox>
#include <QStyle>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "models/qt_text.h"
#include "models/tuning_state.h"
#include "views/panels/cut_label.h"
#include "views/panels/key_value_view.h"
#include "views/panels/wheel_guard.h"
#include "views/panes/paint.h"
#include "views/theme.h"
#include "views/tuning/bounds_text.h"

namespace highwater::views {
namespace {

using tuning::Headroom;

constexpr int kPeakBarHeight = 12, kTick = 3, kPeakText = 17;

QColor colorOf(Headroom headroom, const Theme& theme) {
  switch (headroom) {
    case Headroom::kSafe:
      return theme.blue;
    case Headroom::kAboveRecommended:
    case Headroom::kAboveLowWatermark:
      return theme.orange;
    case Headroom::kAboveHighWatermark:
      return theme.vermillion;
  }
  return theme.blue;
}

}  // namespace

/// From nothing to the high watermark: the predicted peak with its bounds, and the limits as ticks.
class PredictedPeak::Bar final : public QWidget {
 public:
  explicit Bar(QWidget* parent) : QWidget(parent) { setFixedHeight(kPeakBarHeight + 2 * kTick); }

  void show(const tuning::Prediction& peak, const MemoryLimits& limits, std::uint64_t safe) {
    peak_ = peak;
    limits_ = limits;
    safe_ = safe;
    update();
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    const QRectF track(0, kTick, width(), kPeakBarHeight);
    painter.fillRect(track, theme.track);
    const auto recommended = static_cast<double>(limits_.recommendedBytes);
    const double high = limits_.highWatermarkRatio * recommended;
    const auto upper = static_cast<double>(peak_.upper);
    const double most = std::max({high, recommended, std::min(upper, 2 * recommended), 1.0});
    const auto x = [&](double bytes) {
      return std::round(std::clamp(bytes / most, 0.0, 1.0) * width());
    };
    const QColor color = colorOf(tuning::headroomOf(peak_.bytes, limits_), theme);
    const double likely = x(static_cast<double>(peak_.bytes));
    painter.fillRect(QRectF(0, kTick, likely, kPeakBarHeight), color);
    // What it may take at worst.
    painter.fillRect(QRectF(likely, kTick, x(upper) - likely, kPeakBarHeight),
                     hatchBrush(color, theme.track, 4));
    for (const double limit :
         {static_cast<double>(safe_), recommended, limits_.lowWatermarkRatio * recommended, high}) {
      if (limit <= 0) continue;
      const bool isRecommended = limit == recommended;
      const double at = std::min(x(limit), width() - 1.0);
      painter.fillRect(
          QRectF(at, isRecommended ? 0 : kTick, 1, isRecommended ? height() : kPeakBarHeight),
          isRecommended ? theme.text1 : theme.text2);
    }
  }

 private:
  tuning::Prediction peak_;
  MemoryLimits limits_;
  std::uint64_t safe_ = 0;
};

PredictedPeak::PredictedPeak(models::TuningState* state, QWidget* parent)
    : QWidget(parent), state_(state) {
  setObjectName(QStringLiteral("predictedPeak"));
  const auto label = [this](const QString& text, const char* kind) {
    auto* made = new QLabel(text, this);
    made->setTextFormat(Qt::PlainText);
    made->setProperty("kind", kind);
    return made;
  };
  title_ = label(tr("Driver peak of steps"), "quiet");
  bounds_ = label({}, "quiet");
  bounds_->setObjectName(QStringLiteral("predictedBounds"));
  bounds_->setToolTip(tr("The bounds of the prediction, with 95 % confidence"));
  peak_ = label({}, "value");
  peak_->setObjectName(QStringLiteral("predictedBytes"));
  peak_->setFont(textFont(kPeakText, true));
  of_ = label({}, "quiet");
  warning_ = new CutLabel(this);
  warning_->setTextFormat(Qt::PlainText);
  warning_->setProperty("kind", "problem");
  warning_->setObjectName(QStringLiteral("predictionWarning"));
  afresh_ = label({}, "quiet");
  afresh_->setObjectName(QStringLiteral("predictedAfresh"));
  // What is below keeps its place when there is a warning.
  warningLine_ = new QWidget(this);
  warningLine_->setMinimumHeight(fontMetrics().lineSpacing());
  auto* warningColumn = new QVBoxLayout(warningLine_);
  warningColumn->setContentsMargins(0, 0, 0, 0);
  warningColumn->addWidget(afresh_);
  warningColumn->addWidget(warning_);
  bar_ = new Bar(this);
  auto* table = new KeyValueView(&rows_, this);
  table->setFlush();
  table_ = table;
  table_->setAccessibleName(tr("Safe settings"));
  reserve_ = new QSpinBox(this);
  reserve_->setObjectName(QStringLiteral("reserveSpin"));
  reserve_->setRange(0, 90);
  reserve_->setSuffix(tr(" %"));
  reserve_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  reserve_->setMinimumSize(72, 26);
  reserve_->setValue(static_cast<int>(std::lround(state_->reserve() * 100)));
  reserve_->setAccessibleName(tr("Reserve"));
  reserve_->setToolTip(tr("The part of the recommended maximum that a safe setting leaves free"));
  guardWheel(reserve_);
  connect(reserve_, &QSpinBox::valueChanged, this,
          [this](int percent) { state_->setReserve(percent / 100.0); });

  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 4, 0, 0);
  column->setSpacing(4);
  const auto line = [column](std::initializer_list<QWidget*> left, QWidget* right) {
    auto* row = new QHBoxLayout;
    row->setSpacing(6);
    for (QWidget* each : left) row->addWidget(each, 0, Qt::AlignBaseline);
    row->addStretch(1);
    if (right != nullptr) row->addWidget(right, 0, Qt::AlignBaseline);
    column->addLayout(row);
  };
  line({title_}, nullptr);
  line({peak_, of_}, nullptr);
  column->addWidget(bar_);
  line({bounds_}, nullptr);
  column->addWidget(warningLine_);
  column->addWidget(table_);
  reserveRow_ = new QWidget(this);
  auto* reserveLine = new QHBoxLayout(reserveRow_);
  reserveLine->setContentsMargins(0, 0, 0, 0);
  auto* reserveLabel = label(tr("Reserve"), "quiet");
  reserveLabel->setBuddy(reserve_);
  reserveLine->addWidget(reserveLabel);
  reserveLine->addStretch(1);
  reserveLine->addWidget(reserve_);
  column->addWidget(reserveRow_);

  connect(state_, &models::TuningState::changed, this, &PredictedPeak::showPrediction);
  connect(state_, &models::TuningState::chosenChanged, this, &PredictedPeak::showPrediction);
  connect(state_, &models::TuningState::reserveChanged, this, &PredictedPeak::showPrediction);
  connect(state_, &models::TuningState::memoryGrowsChanged, this, &PredictedPeak::showPrediction);
  showPrediction();
}

void PredictedPeak::showPrediction() {
  const auto& model = state_->model();
  const tuning::Setting chosen = state_->chosen();
  const bool known = model && chosen.batch > 0;
  const bool limited = known && model->limits().recommendedBytes > 0;
  const bool provisional = state_->isFitting() && !(model && model->confidence().fromRequests);
  for (QWidget* each : {peak_, of_, bounds_}) each->setVisible(known);
  afresh_->setVisible(false);
  for (QWidget* each : {static_cast<QWidget*>(bar_), table_, reserveRow_}) {
    each->setVisible(limited);
  }
  if (!known) {
    title_->setToolTip(state_->reason());
    warning_->setProperty("kind", "note");
    warning_->setText(tr("Known after a few steps of a run"));
    warning_->setVisible(true);
    setAccessibleDescription(warning_->text());
    return;
  }
  const tuning::Prediction peak = model->driver(chosen);
  const MemoryLimits& limits = model->limits();
  const QString sentence = text(model->sentence(chosen));
  setAccessibleDescription(sentence);
  setToolTip(sentence + QLatin1Char('\n') + text(model->confidence().text));
  const QString predicted = model->held()
                                ? tr("Of the process that trains, with the cache that it holds now")
                                : tr("Of a fresh process that trains at this setting");
  title_->setToolTip(
      peak.basis != tuning::Basis::kMeasured
          ? predicted
          : tr("Of all steps at this setting: the most memory that the driver held, with "
               "caches. Selection counts evaluations too, and shows what it holds now"));
  const QString bounds =
      boundsText(static_cast<double>(peak.lower), static_cast<double>(peak.upper));
  const bool measured = peak.basis == tuning::Basis::kMeasured;
  bounds_->setText(measured      ? tr("measured")
                   : provisional ? tr("estimate, %1").arg(bounds)
                                 : tr("predicted, %1").arg(bounds));
  const std::uint64_t afreshBytes = model->driverAfresh(chosen).bytes;
  const QString afresh = bytesText(static_cast<double>(afreshBytes));
  const bool cacheMatters = model->held() && afreshBytes < peak.bytes &&
                            afresh != bytesText(static_cast<double>(peak.bytes));
  afresh_->setText(tr("A fresh process: about %1").arg(afresh));
  afresh_->setToolTip(
      tr("The peak counts the cache that is held now. Driver memory does not shrink before the "
         "cache is emptied: blocks that no longer fit stay in it"));
  peak_->setText(bytesText(static_cast<double>(peak.bytes)));
  of_->setText(limited ? tr("of %1").arg(bytesText(static_cast<double>(limits.recommendedBytes)))
                       : QString());
  bar_->show(peak, limits, model->safeBytes(state_->reserve()));
  const Headroom headroom = tuning::headroomOf(peak.bytes, limits);
  const Headroom worst = tuning::headroomOf(peak.upper, limits);
  QString warning;
  if (limited && headroom != Headroom::kSafe) {
    warning = text(tuning::headroomName(headroom));
    warning[0] = warning[0].toUpper();
    if (headroom == Headroom::kAboveHighWatermark) warning = tr("Would run out of memory");
  } else if (limited && worst != Headroom::kSafe) {
    warning = tr("Maybe %1").arg(text(tuning::headroomName(worst)));
  } else if (limited && state_->memoryGrows()) {
    warning = tr("Memory grows: later it takes more");
  }
  if (!limited) {
    warning = tr("Limits unknown: nothing is called safe");
  }
  warning_->setProperty("kind", limited ? "problem" : "note");
  warning_->style()->unpolish(warning_);
  warning_->style()->polish(warning_);
  warning_->setText(warning);
  warning_->setVisible(!warning.isEmpty());
  afresh_->setVisible(cacheMatters && warning.isEmpty());
  if (limited) showSafe(provisional);
}

/// `provisional`: a better model is on its way, and may allow less.
void PredictedPeak::showSafe(bool provisional) {
  const tuning::Setting chosen = state_->chosen();
  const bool isSequence = chosen.length > 1;
  const auto value = [isSequence](const std::optional<std::uint32_t>& safe, std::uint32_t most,
                                  std::uint32_t at) {
    if (!safe) return isSequence ? tr("none certain at %1").arg(at) : tr("none certain");
    const QString number = QString::fromUtf8(*safe >= most ? "≥ %1" : "%1").arg(*safe);
    return isSequence ? tr("%1 at %2").arg(number).arg(at) : number;
  };
  const tuning::Setting most = state_->limits();
  const QString tip = tr(
      "By the upper 95 % bound of driver memory, with the reserve under the recommended maximum. "
      "≥: as far as the slider goes");
  std::vector<models::ValueRows::Row> rows;
  if (provisional) {
    const QString wait = tr("Being computed from the recorded ops");
    rows.push_back({tr("Safe batch"), tr("computing…"), wait});
    if (isSequence) rows.push_back({tr("Safe length"), tr("computing…"), wait});
    return rows_.setRows(std::move(rows));
  }
  if (state_->memoryGrows()) {
    const QString why =
        tr("Memory grows, as the findings say: a longer run takes more than any "
           "prediction");
    rows.push_back({tr("Safe batch"), tr("none for good"), why});
    if (isSequence) rows.push_back({tr("Safe length"), tr("none for good"), why});
    return rows_.setRows(std::move(rows));
  }
  const auto batch = state_->largestSafeBatch(chosen.length);
  const auto emptied = batch ? std::nullopt : state_->largestSafeBatchEmptied(chosen.length);
  rows.push_back(
      {tr("Safe batch"),
       emptied ? tr("%1 with an empty cache").arg(*emptied)
               : value(batch, most.batch, chosen.length),
       emptied ? tip + tr(". None is safe with the cache that is held now: empty it") : tip});
  if (isSequence) {
    rows.push_back({tr("Safe length"),
                    value(state_->longestSafeLength(chosen.batch), most.length, chosen.batch),
                    tip});
  }
  rows_.setRows(std::move(rows));
}

}  // namespace highwater::views
