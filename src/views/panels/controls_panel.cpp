#include "views/panels/controls_panel.h"

#include <QAbstractSpinBox>
#include <QApplication>
#include <QKeyEvent>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QToolButton>
#include <algorithm>
#include <utility>

#include "models/tuning_state.h"
#include "ui_controls_panel.h"
#include "views/panels/chosen_row.h"
#include "views/panels/link_button.h"
#include "views/panels/restart_controls.h"
#include "views/panels/stop_slider.h"
#include "views/panels/wheel_guard.h"
#include "views/tuning/predicted_peak.h"

namespace highwater::views {
namespace {

constexpr int kSettleMs = 150;
constexpr int kDefaultMaxBatch = 256, kDefaultMaxSequence = 256;

/// 1, 2, 4, 8, then two stops per octave: the sizes that people try.
std::vector<int> batchStops(int most) {
  std::vector<int> stops;
  for (int octave = 1; octave <= most; octave *= 2) {
    stops.push_back(octave);
    if (octave >= 8 && octave * 3 / 2 <= most) {
      stops.push_back(octave * 3 / 2);
    }
  }
  if (stops.back() != most) {
    stops.push_back(most);
  }
  return stops;
}

std::vector<int> sequenceStops(int most) {
  std::vector<int> stops;
  const int stride = most <= 512 ? 16 : 64;
  for (int length = stride; length <= most; length += stride) {
    stops.push_back(length);
  }
  if (stops.empty() || stops.back() != most) {
    stops.push_back(most);
  }
  return stops;
}

int nearest(const std::vector<int>& stops, int value) {
  const auto at = std::lower_bound(stops.begin(), stops.end(), value);
  if (at == stops.end()) {
    return static_cast<int>(stops.size()) - 1;
  }
  const auto index = static_cast<int>(at - stops.begin());
  const bool lower = index > 0 && value - *(at - 1) < *at - value;
  return lower ? index - 1 : index;
}

}  // namespace

ControlsPanel::ControlsPanel(QWidget* parent)
    : QWidget(parent), ui_(std::make_unique<Ui::ControlsPanel>()) {
  ui_->setupUi(this);
  settle_.setSingleShot(true);
  settle_.setInterval(kSettleMs);
  connect(&settle_, &QTimer::timeout, this, &ControlsPanel::commit);
  setStops(ui_->batchSlider, ui_->batchSpin, &batchStops_, batchStops(kDefaultMaxBatch));
  setStops(ui_->sequenceSlider, ui_->sequenceSpin, &sequenceStops_,
           sequenceStops(kDefaultMaxSequence));
  bind(ui_->batchSlider, ui_->batchSpin, &batchStops_);
  bind(ui_->sequenceSlider, ui_->sequenceSpin, &sequenceStops_);
  batchChosen_ = addChosenRow(ui_->batchSpin);
  sequenceChosen_ = addChosenRow(ui_->sequenceSpin);
  addFields();
  restart_ = new RestartControls(this);
  auto* column = static_cast<QVBoxLayout*>(layout());
  QToolButton* more = linkButton(tr("More"), "moreControlsButton", this);
  more->setCheckable(true);
  ui_->moreBox->hide();
  connect(more, &QToolButton::toggled, this, [this, more](bool shown) {
    ui_->moreBox->setVisible(shown);
    more->setText(shown ? tr("Less") : tr("More"));
  });
  const int at = column->indexOf(ui_->moreBox);
  column->insertWidget(at, more, 0, Qt::AlignLeft);
  column->insertWidget(at, restart_);
  for (QWidget* each : controls()) guardWheel(each);
  Knobs first;
  first.batchSize = 16;
  first.sequenceLength = 64;
  first.lossEvery = 10;
  first.precision = Precision::kFloat32;
  first.outOfMemory = OutOfMemoryPolicy::kHalve;
  put(first);
}

ControlsPanel::~ControlsPanel() = default;

template <typename Control, typename Signal, typename Read, typename Write>
void ControlsPanel::addField(events::MarkerKind kind, Control* control, Signal changed,
                             bool saysChosen, Read read, Write write) {
  connect(control, changed, this, &ControlsPanel::edited);
  fields_.push_back({knobOf(kind), control, saysChosen ? addChosenRow(control) : nullptr,
                     [control, read] { return read(control); },
                     [control, write](double value) { write(control, value); }});
}

void ControlsPanel::addFields() {
  using Kind = events::MarkerKind;
  const auto readSpin = [](auto* spin) { return static_cast<double>(spin->value()); };
  const auto writeSpin = [](QSpinBox* spin, double value) {
    if (value > 0) spin->setValue(static_cast<int>(value));
  };
  const auto writeReal = [](QDoubleSpinBox* spin, double value) {
    if (value > 0) spin->setValue(value);
  };
  const auto readList = [](QComboBox* list) { return list->currentData().toDouble(); };
  const auto writeList = [](QComboBox* list, double value) {
    if (const int row = list->findData(static_cast<int>(value)); row >= 0) {
      list->setCurrentIndex(row);
    }
  };
  const auto addItem = [](QComboBox* list, const QString& words, auto value) {
    list->addItem(words, static_cast<int>(value));
  };
  for (const Precision each : {Precision::kFloat32, Precision::kBFloat16, Precision::kFloat16}) {
    addItem(ui_->precisionList, QString::fromStdString(std::string(precisionName(each))), each);
  }
  addItem(ui_->policyList, tr("halve"), OutOfMemoryPolicy::kHalve);
  addItem(ui_->policyList, tr("retry"), OutOfMemoryPolicy::kRetry);
  addItem(ui_->policyList, tr("stop"), OutOfMemoryPolicy::kStop);

  addField(Kind::LossInterval, ui_->lossEverySpin, &QSpinBox::valueChanged, true, readSpin,
           writeSpin);
  addField(Kind::LearningRate, ui_->rateSpin, &QDoubleSpinBox::valueChanged, true, readSpin,
           writeReal);
  addField(Kind::Accumulation, ui_->accumulationSpin, &QSpinBox::valueChanged, true, readSpin,
           writeSpin);
  addField(
      Kind::KeepEffectiveBatch, ui_->keepEffectiveCheck, &QCheckBox::toggled, false,
      [](QCheckBox* box) { return box->isChecked() ? 1.0 : 0.0; },
      [](QCheckBox* box, double value) { box->setChecked(value != 0); });
  addField(Kind::Precision, ui_->precisionList, &QComboBox::currentIndexChanged, true, readList,
           writeList);
  addField(Kind::MemoryFraction, ui_->fractionSpin, &QDoubleSpinBox::valueChanged, true, readSpin,
           writeReal);
  addField(Kind::OutOfMemoryPolicy, ui_->policyList, &QComboBox::currentIndexChanged, true,
           readList, writeList);
}

std::vector<QWidget*> ControlsPanel::controls() const {
  std::vector<QWidget*> all = {ui_->batchSlider, ui_->batchSpin, ui_->sequenceSlider,
                               ui_->sequenceSpin};
  for (const Field& field : fields_) all.push_back(field.control);
  return all;
}

ChosenRow* ControlsPanel::addChosenRow(QWidget* control) {
  auto* row = new ChosenRow(this);
  connect(row, &ChosenRow::applied, this, &ControlsPanel::commit);
  for (auto* line : findChildren<QHBoxLayout*>()) {
    const int at = line->indexOf(control);
    if (at >= 0) line->insertWidget(at, row);
  }
  return row;
}

void ControlsPanel::bind(StopSlider* slider, QSpinBox* spin, std::vector<int>* stops) {
  connect(slider, &QSlider::valueChanged, this, [this, spin, stops](int index) {
    const QSignalBlocker quiet(spin);
    spin->setValue((*stops)[static_cast<std::size_t>(index)]);
    edited();
  });
  connect(slider, &QSlider::sliderReleased, this, &ControlsPanel::commit);
  connect(spin, &QSpinBox::valueChanged, this, [this, slider, stops](int value) {
    const QSignalBlocker quiet(slider);
    slider->setValue(nearest(*stops, value));
    edited();
  });
}

void ControlsPanel::setStops(StopSlider* slider, QSpinBox* spin, std::vector<int>* stops,
                             std::vector<int> values) {
  const QSignalBlocker quietSlider(slider), quietSpin(spin);
  *stops = std::move(values);
  slider->setRange(0, static_cast<int>(stops->size()) - 1);
  slider->setTickInterval(1);
  slider->setPageStep(2);
  spin->setMaximum(stops->back());
  slider->setValue(nearest(*stops, spin->value()));
}

void ControlsPanel::setKnobs(const Knobs& knobs) {
  put(knobs);
}

Knobs ControlsPanel::knobs() const {
  Knobs knobs;
  knobs.batchSize = static_cast<std::uint32_t>(ui_->batchSpin->value());
  knobs.sequenceLength = static_cast<std::uint32_t>(ui_->sequenceSpin->value());
  for (const Field& field : fields_) field.knob->put(knobs, field.read());
  return knobs;
}

void ControlsPanel::showRun(const RunDescription& run) {
  setStops(ui_->batchSlider, ui_->batchSpin, &batchStops_,
           batchStops(static_cast<int>(std::clamp(run.maxBatchSize, 1u, 1u << 20))));
  setStops(ui_->sequenceSlider, ui_->sequenceSpin, &sequenceStops_,
           sequenceStops(static_cast<int>(std::clamp(run.maxSequenceLength, 1u, 1u << 20))));
  if (tuning_ != nullptr) showSafe();  // its marks are of the stops before
  ui_->dtypeValue->setText(QString::fromStdString(run.dtype));
  ui_->modelValue->setText(
      tr("%1, %2 × %3").arg(QString::fromStdString(run.preset)).arg(run.layers).arg(run.width));
  ui_->modelValue->setToolTip(
      tr("%1 layers of width %2 with %3 heads, vocabulary %4, %L5 parameters")
          .arg(run.layers)
          .arg(run.width)
          .arg(run.heads)
          .arg(run.vocabularySize)
          .arg(run.parameters));
  ui_->dataValue->setText(QString::fromStdString(run.dataset));
  ui_->dataValue->setToolTip(
      tr("%1 texts to train on, %2 held out").arg(run.trainRows).arg(run.heldOutRows));
  waitsAt_.reset();
  effective_ = run.knobs;
  sayProblem({});
  put(run.knobs);
}

void ControlsPanel::showEffective(const Knobs& knobs) {
  effective_ = knobs;
  const bool busy = settle_.isActive() || sliderHeld() || waitsForApply_;
  if (!busy && !(waitsAt_ && *waitsAt_ == knobs)) {
    waitsAt_.reset();
    if (knobs != shown_) {
      put(knobs);
    }
  }
  showChosen();
}

void ControlsPanel::showAnswer(bool accepted, const QString& message) {
  if (accepted) {
    sayProblem({});
    return;
  }
  settle_.stop();
  waitsAt_.reset();
  waitsForApply_ = false;
  sayProblem(message);
  if (effective_ != Knobs{}) {
    put(effective_);
  }
}

void ControlsPanel::setChangeable(bool changeable) {
  // Qt would pass the focus of a disabled control on to the next enabled one, and the scroll area
  // would jump there.
  QWidget* focus = QApplication::focusWidget();
  if (!changeable && focus && isAncestorOf(focus)) focus->clearFocus();
  for (QWidget* each : controls()) each->setEnabled(changeable);
  if (!changeable) {
    for (QSlider* slider :
         {static_cast<QSlider*>(ui_->batchSlider), static_cast<QSlider*>(ui_->sequenceSlider)}) {
      const QSignalBlocker quiet(slider);
      slider->setSliderDown(false);  // a disabled slider emits no release
    }
    settle_.stop();
    waitsAt_.reset();
  }
  showChosen();
}

void ControlsPanel::setLive(bool live) {
  if (live == live_) {
    return;
  }
  live_ = live;
  if (!live) {
    waitsForApply_ = false;
    waitsAt_.reset();
  }
  showChosen();
}

/// Whether the control with the focus has a text that was typed and is not its value yet.
bool ControlsPanel::isTyping() const {
  const auto* spin = qobject_cast<QAbstractSpinBox*>(QApplication::focusWidget());
  const auto* line = spin && isAncestorOf(spin) ? spin->findChild<QLineEdit*>() : nullptr;
  return line && line->isModified();
}

/// Enter uses a chosen value, Esc returns to the one in use.
void ControlsPanel::keyPressEvent(QKeyEvent* event) {
  const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
  if (waitsForApply_ && enter) {
    commit();
  } else if ((waitsForApply_ || isTyping()) && event->key() == Qt::Key_Escape) {
    put(std::exchange(waitsForApply_, false) ? effective_ : knobs());
  } else {
    QWidget::keyPressEvent(event);
  }
}

void ControlsPanel::showChosen() {
  const Knobs now = knobs();
  tellTuning();
  const auto differs = [&](const Knob& knob) {
    return live_ && knob.value(effective_) > 0 && knob.value(now) != knob.value(effective_);
  };
  const auto show = [&](ChosenRow* row, const Knob& knob, const QString& words) {
    const bool requested = waitsAt_ && !waitsForApply_;
    // A value on its way for less than a step would only flicker.
    const bool said = differs(knob) && (waitsForApply_ || requested || sliderHeld());
    const auto say = [&](double value) {
      return words.arg(QString::fromStdString(knobText(knob, value)));
    };
    if (!said) {
      row->clear();
    } else if (requested) {
      row->showRequested(say(knob.value(effective_)),
                         tr("%1 from the next step").arg(say(knob.value(now))));
    } else {
      row->showChosen(say(knob.value(now)));
    }
  };
  const auto showSlider = [&](ChosenRow* row, StopSlider* slider, const std::vector<int>& stops,
                              events::MarkerKind kind) {
    const Knob& knob = *knobOf(kind);
    const int inUse = nearest(stops, static_cast<int>(knob.value(effective_)));
    slider->setInUse(differs(knob) ? std::optional(inUse) : std::nullopt);
    show(row, knob, QStringLiteral("%1"));
  };
  showSlider(batchChosen_, ui_->batchSlider, batchStops_, events::MarkerKind::BatchSize);
  showSlider(sequenceChosen_, ui_->sequenceSlider, sequenceStops_,
             events::MarkerKind::SequenceLength);
  for (const Field& field : fields_) {
    if (field.chosen == nullptr) continue;
    const bool isLoss = field.knob->kind == events::MarkerKind::LossInterval;
    show(field.chosen, *field.knob, isLoss ? tr("every %1") : QStringLiteral("%1"));
  }
  showEffectiveBatch(now);
}

void ControlsPanel::setTuning(models::TuningState* tuning) {
  tuning_ = tuning;
  auto* peak = new PredictedPeak(tuning_, this);
  auto* column = static_cast<QVBoxLayout*>(layout());
  column->insertWidget(column->indexOf(ui_->controlsLine), peak);
  connect(tuning_, &models::TuningState::changed, this, &ControlsPanel::showSafe);
  connect(tuning_, &models::TuningState::chosenChanged, this, &ControlsPanel::showSafe);
  connect(tuning_, &models::TuningState::reserveChanged, this, &ControlsPanel::showSafe);
  tellTuning();
}

void ControlsPanel::tellTuning() {
  if (tuning_ != nullptr && !tuning_->isOfScript()) {
    tuning_->setChosen({static_cast<std::uint32_t>(ui_->batchSpin->value()),
                        static_cast<std::uint32_t>(ui_->sequenceSpin->value())});
  }
}

void ControlsPanel::showSafe() {
  const tuning::Setting chosen = tuning_->chosen();
  const auto show = [this](StopSlider* slider, const std::vector<int>& stops,
                           const std::optional<std::uint32_t>& safe) {
    std::optional<int> stop;
    if (tuning_->model() && tuning_->model()->limits().recommendedBytes > 0) {
      const auto above =
          std::upper_bound(stops.begin(), stops.end(), static_cast<int>(safe.value_or(0)));
      stop = static_cast<int>(above - stops.begin()) - 1;
    }
    slider->setSafeUpTo(stop);
  };
  show(ui_->batchSlider, batchStops_, tuning_->largestSafeBatch(chosen.length));
  show(ui_->sequenceSlider, sequenceStops_, tuning_->longestSafeLength(chosen.batch));
}

bool ControlsPanel::sliderHeld() const {
  return ui_->batchSlider->isSliderDown() || ui_->sequenceSlider->isSliderDown();
}

void ControlsPanel::edited() {
  ui_->lossEverySpin->setSuffix(ui_->lossEverySpin->value() == 1 ? tr(" step") : tr(" steps"));
  ui_->accumulationSpin->setSuffix(ui_->accumulationSpin->value() == 1 ? tr(" batch")
                                                                       : tr(" batches"));
  if (putting_) {
    return;
  }
  // A held slider requests its change when it is released, however long it rests.
  if (turnedByWheel() && live_) {
    settle_.stop();
    waitsForApply_ = knobs() != shown_;
  } else if (!sliderHeld()) {
    settle_.start();
  }
  showChosen();
}

void ControlsPanel::choose(std::uint32_t batchSize, std::uint32_t sequenceLength) {
  const Knobs before = shown_;
  Knobs chosen = knobs();
  chosen.batchSize = batchSize;
  chosen.sequenceLength = sequenceLength;
  put(chosen);
  shown_ = before;
  if (live_) {
    settle_.stop();
    waitsForApply_ = this->knobs() != shown_;
    showChosen();
  } else {
    commit();
  }
}

void ControlsPanel::request(const Knobs& knobs) {
  const Knobs before = shown_;
  put(knobs);
  shown_ = before;
  commit();
}

void ControlsPanel::commit() {
  settle_.stop();
  waitsForApply_ = false;
  const Knobs now = knobs();
  SetKnobs change;
  for (const Knob& knob : allKnobs()) {
    if (knob.value(now) != knob.value(shown_)) knob.request(change, knob.value(now));
  }
  if (now == shown_) {
    showChosen();
    return;
  }
  shown_ = now;
  waitsAt_ = effective_;
  showChosen();
  emit changeRequested(change);
}

void ControlsPanel::put(const Knobs& knobs) {
  putting_ = true;
  const auto set = [](QSpinBox* spin, std::uint32_t value) {
    if (value > 0) {
      spin->setValue(static_cast<int>(value));
    }
  };
  set(ui_->batchSpin, knobs.batchSize);
  set(ui_->sequenceSpin, knobs.sequenceLength);
  for (const Field& field : fields_) {
    const bool isKeep = field.knob->kind == events::MarkerKind::KeepEffectiveBatch;
    if (!isKeep || knobs.accumulation > 0) field.write(field.knob->value(knobs));
  }
  putting_ = false;
  shown_ = this->knobs();
  showChosen();
}

void ControlsPanel::showEffectiveBatch(const Knobs& now) {
  const std::uint32_t effective = now.batchSize * now.accumulation;
  ui_->keepEffectiveCheck->setText(now.accumulation > 1
                                       ? tr("Keep the effective batch, %1").arg(effective)
                                       : tr("Keep the effective batch"));
}

void ControlsPanel::sayProblem(const QString& text) {
  ui_->controlsMessage->setText(text);
  ui_->controlsMessage->setVisible(!text.isEmpty());
}

}  // namespace highwater::views
