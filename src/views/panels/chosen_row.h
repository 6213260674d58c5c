#pragma once

#include <QWidget>

class QLabel;
class QToolButton;

namespace highwater::views {

/// The line under a control whose value is not in use: "56 chosen" with Apply, or "56 from the next
/// step" once it was requested. Hidden while they are the same.
class ChosenRow final : public QWidget {
  Q_OBJECT

 public:
  explicit ChosenRow(QWidget* parent = nullptr);

  /// `requested`: the value is on its way, there is nothing to press.
  void showValue(const QString& value, bool requested);
  void clear();

 signals:
  /// The user wants the value to be used.
  void applied();

 private:
  QLabel* text_;
  QToolButton* apply_;
};

}  // namespace highwater::views
