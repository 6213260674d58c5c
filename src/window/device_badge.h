#pragma once

#include <QWidget>
#include <optional>

#include "core/messages.h"

namespace highwater::window {

/// A badge that shows the device that trains: its name and, if it is simulated, that word in a
/// dashed outline. It can be read without colour.
class DeviceBadge final : public QWidget {
  Q_OBJECT

 public:
  explicit DeviceBadge(QWidget* parent = nullptr);

  /// Shows the device that the worker reported. std::nullopt shows `requested`, the one that the
  /// next run asks for.
  void showDevice(const std::optional<DeviceReport>& device, const QString& requested);
  /// The text of the badge: "mps simulated".
  [[nodiscard]] QString text() const;
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QString name_, note_;
  bool simulated_ = false, known_ = false;
};

}  // namespace highwater::window
