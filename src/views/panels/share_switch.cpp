#include "views/panels/share_switch.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

#include "views/theme.h"

namespace highwater::views {

ShareSwitch::ShareSwitch(QWidget* parent) : QWidget(parent) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(5);
  caption_ = new QLabel(tr("Share of"), this);
  caption_->setProperty("kind", "caption");
  caption_->setFont(textFont(kSmallText));
  row->addWidget(caption_);
  host_ = makeChoice(tr("host time"), "hostTimeButton",
                     tr("Where the host spends a step. It may wait in one phase for the device's "
                        "work of others"));
  device_ = makeChoice(tr("device time"), "deviceTimeButton",
                       tr("Where the device spends a step, an estimate from the host's waits"));
  row->addStretch(1);
  auto* group = new QButtonGroup(this);
  group->addButton(host_);
  group->addButton(device_);
  host_->setChecked(true);
  connect(device_, &QToolButton::toggled, this, &ShareSwitch::chosen);
  setFixedHeight(18);
}

QToolButton* ShareSwitch::makeChoice(const QString& text, const char* name, const QString& tip) {
  auto* button = new QToolButton(this);
  button->setText(text);
  button->setObjectName(QLatin1String(name));
  button->setProperty("kind", "choice");
  button->setToolTip(tip);
  button->setAccessibleName(tr("Share of %1").arg(text));
  button->setCheckable(true);
  button->setFocusPolicy(Qt::TabFocus);
  button->setFont(textFont(kSmallText));
  button->setCursor(Qt::PointingHandCursor);
  layout()->addWidget(button);
  return button;
}

void ShareSwitch::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  const int words = host_->sizeHint().width() + device_->sizeHint().width();
  caption_->setVisible(width() >= caption_->sizeHint().width() + words + 2 * layout()->spacing());
}

bool ShareSwitch::showsDevice() const {
  return device_->isChecked();
}

}  // namespace highwater::views
