#pragma once

#include <QFrame>

class QLabel;
class QPlainTextEdit;
class QToolButton;

namespace highwater::views {

/// A message at the top of the window that does not block it: how a run ended, or a stall, with the
/// worker's last lines on demand and a button. A long message is cut after two lines, so that the
/// window need not grow; the tooltip and the last lines then have all of it.
class Banner final : public QFrame {
  Q_OBJECT

 public:
  explicit Banner(QWidget* parent = nullptr);

  /// Shows the banner with a message. `problem` adds the warning sign. `lines` are the worker's
  /// last lines, which the user can expand; empty for none. `action` is the text of the button;
  /// empty for no button.
  void showMessage(const QString& message, const QString& lines, bool problem,
                   const QString& action);
  /// The whole message, also where the banner shows it cut.
  [[nodiscard]] QString message() const;

 signals:
  /// The user pressed the button of the message.
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
