#pragma once

#include <QSlider>
#include <optional>

namespace highwater::views {

/// A slider that paints a tick for each stop, since a style sheet removes QSlider's own ticks. A
/// notch of the wheel is one stop. While its value is only chosen, it shows the one in use as well.
class StopSlider final : public QSlider {
  Q_OBJECT
  /// For the style sheet: the handle is hollow.
  Q_PROPERTY(bool pending READ pending)

 public:
  using QSlider::QSlider;

  /// Paints a filled handle at the stop in use, and the slider's own hollow; std::nullopt where
  /// both are the same.
  void setInUse(std::optional<int> stop);
  [[nodiscard]] bool pending() const { return inUse_.has_value(); }
  /// Hatches the stops above `stop`, which would take more memory than is safe; std::nullopt: none.
  void setSafeUpTo(std::optional<int> stop);
  [[nodiscard]] std::optional<int> safeUpTo() const { return safeUpTo_; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;

 private:
  [[nodiscard]] double pixelOf(int stop) const;

  std::optional<int> inUse_, safeUpTo_;
  int turned_ = 0;  ///< of the next notch, in eighths of a degree
};

}  // namespace highwater::views
