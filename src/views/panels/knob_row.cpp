#include "views/panels/knob_row.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QStyle>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "core/knobs.h"
#include "views/panels/chosen_row.h"
#include "views/panels/cut_label.h"
#include "views/panels/stop_slider.h"
#include "views/panels/wheel_guard.h"
#include "views/theme.h"

namespace highwater::views {
namespace {

using KnobKind = ScriptKnob::Kind;

constexpr int kMostStops = 96;  ///< of a slider; whole numbers with fewer values get one for each
constexpr double kWideRange = 64;  ///< a range whose ends differ by this factor gets equal ratios
constexpr int kKnobFieldWidth = 88;

QString qtext(const std::string& text) {
  return QString::fromStdString(text);
}

bool isBounded(const ScriptKnob& knob) {
  return std::isfinite(knob.minimum) && std::isfinite(knob.maximum) && knob.minimum < knob.maximum;
}

bool hasEqualRatios(const ScriptKnob& knob) {
  return knob.minimum > 0 && knob.maximum / knob.minimum >= kWideRange;
}

int stopsOf(const ScriptKnob& knob) {
  const double values = knob.maximum - knob.minimum;
  return knob.kind == KnobKind::kInteger && values < kMostStops ? static_cast<int>(values)
                                                                : kMostStops;
}

/// `value` with two significant digits, so that the stops of a slider are short numbers. Not for 0.
double rounded(double value) {
  const double unit = std::pow(10, std::floor(std::log10(std::abs(value))) - 1);
  return std::round(value / unit) * unit;
}

}  // namespace

KnobRow::KnobRow(const ScriptKnob& knob, QWidget* parent)
    : QWidget(parent), knob_(knob), chosenRow_(new ChosenRow(this)), note_(new QLabel(this)) {
  setObjectName(QStringLiteral("knob-") + qtext(knob.name));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(4);
  auto* line = new QHBoxLayout;
  line->setSpacing(8);
  auto* name = new CutLabel(qtext(knob.name), this);
  name->setTextFormat(Qt::PlainText);
  line->addWidget(name);
  if (!knob.declaredAt.empty()) {
    auto* place = new CutLabel(qtext(knob.declaredAt), this);
    place->setTextFormat(Qt::PlainText);
    place->setProperty("kind", "quiet");
    line->addWidget(place);
  }
  line->addStretch(1);
  knob.kind == KnobKind::kChoice ? makeList() : makeField();
  QWidget* input = list_ ? static_cast<QWidget*>(list_) : field_;
  name->setBuddy(input);
  line->addWidget(chosenRow_);
  line->addWidget(input);
  column->addLayout(line);
  if (field_ && isBounded(knob)) {
    makeSlider();
    column->addWidget(slider_);
  }
  connect(chosenRow_, &ChosenRow::applied, this, &KnobRow::apply);
  note_->setTextFormat(Qt::PlainText);
  note_->setWordWrap(true);
  column->addWidget(note_);
  put(knob.value);
  say(qtext(knob.warning), false);
}

void KnobRow::makeList() {
  list_ = new QComboBox(this);
  for (const std::string& each : knob_.choices) list_->addItem(qtext(each));
  list_->setAccessibleName(qtext(knob_.name));
  list_->setMinimumHeight(kControlHeight);
  guardWheel(list_);
  connect(list_, &QComboBox::activated, this, [this](int index) {
    if (turnedByWheel()) {
      chosen_ = index;
      showChosen();
    } else {
      request(index);
    }
  });
}

void KnobRow::makeField() {
  field_ = new QLineEdit(this);
  field_->setAlignment(Qt::AlignRight);
  field_->setFixedWidth(kKnobFieldWidth);
  field_->setMinimumHeight(kControlHeight);
  field_->setAccessibleName(qtext(knob_.name));
  field_->setToolTip(tr("%1; Enter requests the value").arg(qtext(allowedText(knob_))));
  connect(field_, &QLineEdit::editingFinished, this, &KnobRow::enter);
}

void KnobRow::makeSlider() {
  slider_ = new StopSlider(Qt::Horizontal, this);
  slider_->setRange(0, stopsOf(knob_));
  slider_->setMinimumHeight(kControlHeight);
  slider_->setAccessibleName(qtext(knob_.name));
  guardWheel(slider_);
  connect(slider_, &QSlider::valueChanged, this, [this](int position) {
    field_->setText(qtext(valueText(knob_, valueAt(position))));
    if (turnedByWheel()) {
      chosen_ = valueAt(position);
      showChosen();
      return;
    }
    // A held slider requests its value when it is released.
    if (!slider_->isSliderDown()) request(valueAt(position));
  });
  connect(slider_, &QSlider::sliderReleased, this, [this] { request(valueAt(slider_->value())); });
}

double KnobRow::valueAt(int position) const {
  const double part = static_cast<double>(position) / slider_->maximum();
  double value = hasEqualRatios(knob_)
                     ? knob_.minimum * std::pow(knob_.maximum / knob_.minimum, part)
                     : knob_.minimum + part * (knob_.maximum - knob_.minimum);
  const bool isEnd = position == 0 || position == slider_->maximum();
  if (knob_.kind == KnobKind::kInteger) {
    value = std::round(value);
  } else if (!isEnd && value != 0) {
    value = rounded(value);
  }
  return std::clamp(value, knob_.minimum, knob_.maximum);
}

int KnobRow::positionOf(double value) const {
  const double part =
      hasEqualRatios(knob_)
          ? std::log(value / knob_.minimum) / std::log(knob_.maximum / knob_.minimum)
          : (value - knob_.minimum) / (knob_.maximum - knob_.minimum);
  return static_cast<int>(std::lround(part * slider_->maximum()));
}

void KnobRow::put(double value) {
  if (list_) list_->setCurrentIndex(static_cast<int>(value));
  if (field_) field_->setText(qtext(valueText(knob_, value)));
  if (slider_) {
    const QSignalBlocker quiet(slider_);
    slider_->setValue(positionOf(value));
  }
}

void KnobRow::apply() {
  if (chosen_) request(*chosen_);
}

/// Enter uses a chosen value, Esc returns to the one in use.
void KnobRow::keyPressEvent(QKeyEvent* event) {
  if (chosen_ && (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter)) {
    apply();
  } else if (chosen_ && event->key() == Qt::Key_Escape) {
    chosen_.reset();
    put(asked_.value_or(knob_.value));
    showChosen();
  } else {
    QWidget::keyPressEvent(event);
  }
}

void KnobRow::setLive(bool live) {
  if (slider_) slider_->setVisible(live);
}

void KnobRow::showChosen() {
  const bool differs = chosen_ && *chosen_ != asked_.value_or(knob_.value);
  if (slider_) {
    slider_->setInUse(differs ? std::optional(positionOf(knob_.value)) : std::nullopt);
  }
  if (differs) {
    chosenRow_->showChosen(qtext(valueText(knob_, *chosen_)));
  } else if (asked_) {
    const QString inUse = qtext(valueText(knob_, knob_.value));
    chosenRow_->showRequested(inUse, tr("%1 is in use until the script asks again").arg(inUse));
  } else {
    chosenRow_->clear();
  }
}

void KnobRow::enter() {
  if (chosen_ && !field_->isModified()) return;  // the field shows what the wheel has chosen
  bool isNumber = false;
  const double value = field_->text().trimmed().toDouble(&isNumber);
  if (!isNumber || !isValueOf(knob_, value)) {
    say(tr("\"%1\" is not allowed: %2").arg(field_->text(), qtext(allowedText(knob_))), true);
    put(asked_.value_or(knob_.value));
    return;
  }
  if (field_->isModified()) {
    field_->setModified(false);
    request(value);
  }
}

void KnobRow::request(double value) {
  chosen_.reset();
  put(value);
  const bool isNew = value != asked_.value_or(knob_.value);
  if (isNew) {
    asked_ = value;
    say(qtext(knob_.warning), false);
  }
  showChosen();
  if (isNew) emit changeRequested(value);
}

void KnobRow::showKnob(const ScriptKnob& knob) {
  const bool isTaken = asked_ && *asked_ == knob.value;
  if (knob.value == knob_.value && !isTaken) return;
  knob_.value = knob.value;
  if (asked_ && !isTaken) return;  // an earlier request; the last one is on its way
  asked_.reset();
  say(qtext(knob_.warning), false);
  showChosen();
  if (chosen_) return;
  if (!slider_ || !slider_->isSliderDown()) put(knob.value);
}

void KnobRow::showAnswer(bool accepted, const QString& message) {
  if (accepted) return;
  asked_.reset();
  chosen_.reset();
  showChosen();
  put(knob_.value);
  say(message, true);
}

void KnobRow::say(const QString& text, bool isProblem) {
  note_->setText(text);
  note_->setVisible(!text.isEmpty());
  note_->setProperty("kind", isProblem ? "problem" : "quiet");
  note_->style()->unpolish(note_);
  note_->style()->polish(note_);
}

}  // namespace highwater::views
