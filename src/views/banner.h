#pragma once

#include <QFrame>

class QLabel;
class QPlainTextEdit;
class QToolButton;

namespace highwater::views {

/// A message across the top of the centre that blocks nothing: how a run ended, with the worker's
/// last lines on demand, and a way on.
class Banner final : public QFrame {
  Q_OBJECT

 public:
  explicit Banner(QWidget* parent = nullptr);

  /// `problem`: with the sign for trouble. Empty `lines`: nothing to expand. Empty `action`: no
  /// button.
  void showMessage(const QString& message, const QString& lines, bool problem,
                   const QString& action);
  [[nodiscard]] QString message() const;

 signals:
  void actionTriggered();

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void setExpanded(bool expanded);

  QLabel* message_;
  QPlainTextEdit* lines_;
  QToolButton* expand_;
  QToolButton* action_;
  bool problem_ = false;
};

}  // namespace highwater::views
