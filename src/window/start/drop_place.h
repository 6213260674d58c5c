#pragma once

#include <QWidget>

class QLabel;

namespace highwater::window {

/// The place that says that a recording can be dropped, or chosen. The whole window takes the drop.
class DropPlace final : public QWidget {
  Q_OBJECT

 public:
  explicit DropPlace(QWidget* parent);

  /// Highlights the place, while a file is dragged over the window.
  void showDrag(bool dragged);
  /// Shows why a file was not opened, in place of the invitation; empty: the invitation.
  void showProblem(const QString& problem);

 signals:
  void chooseRequested();

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QLabel* words_;
  bool dragged_ = false;
};

}  // namespace highwater::window
