#include "window/device_badge.h"

#include <QPainter>

#include "models/plain_tip.h"
#include "views/icons.h"
#include "views/theme.h"

namespace highwater::window {

using views::Theme;

namespace {

constexpr int kBadgeHeight = 26, kPadding = 8, kIcon = 16, kBadgeGap = 6;

}  // namespace

DeviceBadge::DeviceBadge(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("deviceBadge"));
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
  showDevice(std::nullopt, QStringLiteral("auto"));
}

void DeviceBadge::showDevice(const std::optional<DeviceReport>& device, const QString& requested) {
  known_ = device.has_value();
  simulated_ = device && device->simulated;
  name_ = device ? QString::fromStdString(device->selected) : requested;
  note_ = simulated_ ? tr("simulated") : device ? QString() : tr("device");
  setAccessibleName(tr("Device: %1").arg(text()));
  setToolTip(device ? models::plainTip(
                          tr("Device %1: %2").arg(text(), QString::fromStdString(device->reason)))
                    : tr("The device that the next run asks for (menu Run, Device)"));
  updateGeometry();
  update();
}

QString DeviceBadge::text() const {
  return note_.isEmpty() ? name_ : name_ + QLatin1Char(' ') + note_;
}

QSize DeviceBadge::sizeHint() const {
  const QFontMetrics bold(views::textFont(views::kText, true)),
      plain(views::textFont(views::kText));
  int width = 2 * kPadding + kIcon + kBadgeGap + bold.horizontalAdvance(name_);
  if (!note_.isEmpty()) {
    width += kBadgeGap + plain.horizontalAdvance(note_);
  }
  return {width + 2, kBadgeHeight};
}

void DeviceBadge::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const Theme& theme = Theme::of(this);
  const QColor color = simulated_ ? theme.orangeText : known_ ? theme.text1 : theme.text3;
  QPen outline(simulated_ ? theme.orangeText : theme.controlBorder, 1);
  if (simulated_) {
    outline.setDashPattern({3, 2});
  }
  painter.setPen(outline);
  painter.setBrush(Qt::NoBrush);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
  views::icon(views::Icon::kChip, color)
      .paint(&painter, kPadding, (kBadgeHeight - kIcon) / 2, kIcon, kIcon);
  int x = kPadding + kIcon + kBadgeGap;
  painter.setFont(views::textFont(views::kText, true));
  painter.setPen(known_ ? theme.text1 : theme.text2);
  painter.drawText(QRect(x, 0, width() - x, height()), Qt::AlignVCenter, name_);
  x += painter.fontMetrics().horizontalAdvance(name_) + kBadgeGap;
  painter.setFont(views::textFont(views::kText));
  painter.setPen(color);
  painter.drawText(QRect(x, 0, width() - x, height()), Qt::AlignVCenter, note_);
}

}  // namespace highwater::window
