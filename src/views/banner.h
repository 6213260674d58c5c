#pragma once

#include <QFrame>

class QLabel;
class QPlainTextEdit;
class QToolButton;

namespace highwater::views {

/// A message across the top of the centre that blocks nothing: how a run ended, with the worker's
/// last lines on demand, and a way on. A long message is cut after two lines, so that it never
/// makes the window grow; the rest stands with the last lines and in a tooltip.
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
  void resizeEvent(QResizeEvent* event) override;

 private:
  void setExpanded(bool expanded);
  void fitText();

  QLabel* message_;
  QPlainTextEdit* lines_;
  QToolButton* expand_;
  QToolButton* action_;
  QString text_, moreLines_;
  bool problem_ = false;
};

}  // namespace highwater::views
