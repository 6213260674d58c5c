#pragma once

#include <QFrame>

class QLabel;
class QToolButton;

namespace highwater::views {

/// A message at the top of the window that does not block it: how a run ended, or a stall, with a
/// link to the log, which has all of the message and the worker's last lines, and a button. A long
/// message is cut after two lines, so that the window need not grow, and a link shows more of it.
class Banner final : public QFrame {
  Q_OBJECT

 public:
  explicit Banner(QWidget* parent = nullptr);

  /// What a banner looks like.
  enum class Kind {
    kNote,    ///< something to know
    kProblem  ///< with the warning sign
  };
  /// Shows the banner with a message. `hasLines`: the log has more to read, such as the worker's
  /// last lines; it is also linked where the message is cut. `action` is the text of the button;
  /// empty for no button.
  void showMessage(const QString& message, bool hasLines, Kind kind, const QString& action);
  /// The whole message, also where the banner shows it cut.
  [[nodiscard]] QString message() const;
  /// Whether there is a log on screen that the banner can lead to.
  void setHasLog(bool hasLog);

 signals:
  /// The user wants to read the last lines of the log.
  void linesRequested();
  /// The user pressed the button of the message.
  void actionTriggered();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void fitText();
  void setExpanded(bool expanded);

  QLabel* message_;
  QToolButton* more_;
  QToolButton* expand_;
  QToolButton* action_;
  QString text_;
  bool hasLines_ = false, hasLog_ = true, isExpanded_ = false;
  Kind kind_ = Kind::kNote;
};

}  // namespace highwater::views
