#pragma once

#include <QWidget>
#include <optional>

#include "core/messages.h"

namespace highwater::app {

/// Which device trains: its name, and "simulated" in a dashed outline where it is. Told by text and
/// shape; colour only supports them.
class DeviceBadge final : public QWidget {
  Q_OBJECT

 public:
  explicit DeviceBadge(QWidget* parent = nullptr);

  void showDevice(const std::optional<DeviceReport>& device, const QString& requested);
  [[nodiscard]] QString text() const;
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QString name_, note_;
  bool simulated_ = false, known_ = false;
};

}  // namespace highwater::app
