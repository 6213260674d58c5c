#pragma once

#include <QWidget>

class QAbstractItemModel;

namespace highwater::views {

/// A widget that shows the first two columns of a model as names at the left and values at the
/// right. The model is not owned and must outlive the widget.
class KeyValueView final : public QWidget {
  Q_OBJECT

 public:
  explicit KeyValueView(QAbstractItemModel* model, QWidget* parent = nullptr);
  /// Without the space at the sides, for a place that has it already.
  void setFlush() { inset_ = 0; }

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  /// Gives screen readers the rows as a text.
  void describe();

  QAbstractItemModel* model_;
  int inset_ = 12;
};

}  // namespace highwater::views
