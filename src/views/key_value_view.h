#pragma once

#include <QWidget>

class QAbstractItemModel;

namespace highwater::views {

/// Rows of a name at the left and a value at the right, from the first two columns of a model.
class KeyValueView final : public QWidget {
  Q_OBJECT

 public:
  explicit KeyValueView(QAbstractItemModel* model, QWidget* parent = nullptr);

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  /// What is painted, for screen readers.
  void describe();

  QAbstractItemModel* model_;
};

}  // namespace highwater::views
