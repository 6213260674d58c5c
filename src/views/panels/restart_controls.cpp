#include "views/panels/restart_controls.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QScrollArea>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

#include "models/device_choices.h"
#include "models/qt_text.h"
#include "views/panels/link_button.h"
#include "views/panels/wheel_guard.h"
#include "views/theme.h"

namespace highwater::views {
namespace {

constexpr int kRestartFieldWidth = 80;
constexpr double kMostRatio = 2;  // PyTorch refuses larger ones

QDoubleSpinBox* ratioSpin(const char* name, const QString& zero, const QString& tip,
                          QWidget* parent) {
  auto* spin = new QDoubleSpinBox(parent);
  spin->setObjectName(QLatin1String(name));
  spin->setRange(0, kMostRatio);
  spin->setSingleStep(0.05);
  spin->setDecimals(2);
  spin->setSpecialValueText(zero);
  spin->setKeyboardTracking(false);
  spin->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  spin->setMinimumSize(kRestartFieldWidth, kControlHeight);
  spin->setToolTip(tip);
  return spin;
}

}  // namespace

RestartControls::RestartControls(QWidget* parent)
    : QWidget(parent),
      device_(new QComboBox(this)),
      fallback_(new QCheckBox(tr("CPU fallback"), this)),
      high_(ratioSpin("highWatermarkSpin", tr("no limit"),
                      tr("Allocations past this multiple of recommended max fail "
                         "(PYTORCH_MPS_HIGH_WATERMARK_RATIO)"),
                      this)),
      low_(ratioSpin("lowWatermarkSpin", tr("off"),
                     tr("Past this multiple of recommended max cached memory is collected "
                        "(PYTORCH_MPS_LOW_WATERMARK_RATIO)"),
                     this)),
      notice_(new QWidget(this)),
      what_(new QLabel(tr("Restarts the worker; the model, optimizer and step count are kept"),
                       notice_)),
      restart_(linkButton(tr("Restart"), "restartButton", notice_)),
      undo_(linkButton(tr("Undo"), "undoRestartButton", notice_)) {
  setObjectName(QStringLiteral("restartControls"));
  device_->setObjectName(QStringLiteral("restartDeviceList"));
  device_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  device_->setMinimumContentsLength(6);
  device_->setMinimumSize(kRestartFieldWidth, kControlHeight);
  const auto choices = models::deviceChoices();
  device_->setToolTip(tr("auto: %1").arg(choices.front().meaning));
  for (const auto& each : choices) device_->addItem(each.key);
  fallback_->setObjectName(QStringLiteral("fallbackCheck"));
  fallback_->setToolTip(
      tr("Ops without an MPS kernel run on the CPU; without it they are an error "
         "(PYTORCH_ENABLE_MPS_FALLBACK)"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(8);
  caption_ = new QLabel(this);
  caption_->setProperty("kind", "quiet");
  caption_->setWordWrap(true);
  column->addWidget(caption_);
  addRow(tr("Device"), device_);
  column->addWidget(fallback_);
  addRow(tr("High watermark"), high_);
  addRow(tr("Low watermark"), low_);

  what_->setObjectName(QStringLiteral("restartText"));
  what_->setTextFormat(Qt::PlainText);
  what_->setWordWrap(true);
  what_->setProperty("kind", "quiet");
  restart_->setToolTip(tr("Restart with the chosen values"));
  undo_->setToolTip(tr("Return to the values in use (Esc)"));
  auto* lines = new QVBoxLayout(notice_);
  lines->setContentsMargins(0, 0, 0, 0);
  lines->setSpacing(2);
  lines->addWidget(what_);
  auto* buttons = new QHBoxLayout;
  buttons->setSpacing(4);
  buttons->addStretch(1);
  buttons->addWidget(undo_);
  buttons->addWidget(restart_);
  lines->addLayout(buttons);
  column->addWidget(notice_);
  notice_->hide();

  connect(device_, &QComboBox::currentIndexChanged, this, &RestartControls::edited);
  connect(fallback_, &QCheckBox::toggled, this, &RestartControls::edited);
  connect(high_, &QDoubleSpinBox::valueChanged, this, [this](double high) {
    // PyTorch refuses a low watermark above the high one.
    if (!showing_ && high > 0 && low_->value() > high) low_->setValue(high);
    edited();
  });
  connect(low_, &QDoubleSpinBox::valueChanged, this, [this](double low) {
    if (!showing_ && high_->value() > 0 && low > high_->value()) low_->setValue(high_->value());
    edited();
  });
  connect(restart_, &QToolButton::clicked, this, [this] { emit restartRequested(settings()); });
  connect(undo_, &QToolButton::clicked, this, &RestartControls::undo);
  for (QWidget* each : {static_cast<QWidget*>(device_), static_cast<QWidget*>(high_),
                        static_cast<QWidget*>(low_)}) {
    guardWheel(each);
  }
  put(inUse_);
}

QWidget* RestartControls::addRow(const QString& name, QWidget* control) {
  auto* line = new QHBoxLayout;
  line->setSpacing(8);
  auto* label = new QLabel(name, this);
  label->setBuddy(control);
  control->setAccessibleName(name);
  line->addWidget(label);
  line->addStretch(1);
  line->addWidget(control);
  static_cast<QVBoxLayout*>(layout())->addLayout(line);
  return control;
}

RestartSettings RestartControls::settings() const {
  return {device_->currentText().toStdString(), fallback_->isChecked(), high_->value(),
          low_->value()};
}

void RestartControls::setInUse(const RestartSettings& settings) {
  if (settings == inUse_) return;
  inUse_ = settings;
  undo();
}

void RestartControls::setLive(bool live) {
  if (live_ && !live) undo();
  live_ = live;
  showChosen();
}

void RestartControls::setChangeable(bool changeable) {
  changeable_ = changeable;
  showChosen();
}

void RestartControls::undo() {
  put(inUse_);
}

void RestartControls::put(const RestartSettings& settings) {
  showing_ = true;
  const QString device = text(settings.device);
  if (device_->findText(device) < 0) device_->addItem(device);
  device_->setCurrentText(device);
  fallback_->setChecked(settings.fallback);
  high_->setValue(settings.highWatermark);
  low_->setValue(settings.lowWatermark);
  showing_ = false;
  showChosen();
}

void RestartControls::edited() {
  if (showing_) return;
  showChosen();
  if (live_ || settings() == inUse_) return;
  emit changed(settings());
}

void RestartControls::showChosen() {
  caption_->setText(live_ ? tr("With a restart") : tr("For the next run"));
  const bool isMps = device_->currentText() != QStringLiteral("cpu");
  device_->setEnabled(changeable_);
  for (QWidget* each : {static_cast<QWidget*>(fallback_), static_cast<QWidget*>(high_),
                        static_cast<QWidget*>(low_)}) {
    each->setEnabled(changeable_ && isMps);
  }
  const bool wasHidden = notice_->isHidden();
  notice_->setVisible(live_ && changeable_ && settings() != inUse_);
  if (notice_->isHidden() || !wasHidden) return;
  // It may lie below what the dock shows; it has its place once the layout is done.
  QTimer::singleShot(0, this, [this] {
    for (QWidget* each = parentWidget(); each != nullptr; each = each->parentWidget()) {
      if (auto* area = qobject_cast<QScrollArea*>(each)) area->ensureWidgetVisible(notice_, 0, 8);
    }
  });
}

/// Esc returns to the values in use. Enter restarts nothing: it ends the typing of a value.
void RestartControls::keyPressEvent(QKeyEvent* event) {
  if (!notice_->isHidden() && event->key() == Qt::Key_Escape) {
    undo();
  } else {
    QWidget::keyPressEvent(event);
  }
}

}  // namespace highwater::views
