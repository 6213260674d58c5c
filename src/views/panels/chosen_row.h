#pragma once

#include <QWidget>

class QLabel;
class QToolButton;

namespace highwater::views {

/// Stands beside a control whose value is not in use: Apply, or "16 in use" once the value was
/// requested. Hidden while they are the same. It is no higher than the control, so that nothing
/// below moves under the mouse.
class ChosenRow final : public QWidget {
  Q_OBJECT

 public:
  explicit ChosenRow(QWidget* parent = nullptr);

  /// The value is chosen, and waits for Apply.
  void showChosen(const QString& value);
  /// A value was requested; `inUse` is the one before it. `tip` says when that changes.
  void showRequested(const QString& inUse, const QString& tip);
  void clear();

 signals:
  /// The user wants the value to be used.
  void applied();

 private:
  QLabel* inUse_;
  QToolButton* apply_;
};

}  // namespace highwater::views
