#pragma once

#include <QWidget>

namespace highwater::window {

/// The marks of the timeline and of the memory chart with their meanings, drawn as they are there.
class MarkLegend final : public QWidget {
  Q_OBJECT

 public:
  explicit MarkLegend(QWidget* parent = nullptr);

  [[nodiscard]] QSize sizeHint() const override { return {460, 190}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {380, 190}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace highwater::window
