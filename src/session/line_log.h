#pragma once

#include <QByteArray>
#include <QString>
#include <QStringList>
#include <functional>

namespace highwater::session {

/// Splits the output of another process into lines that are safe to show: limited in length and
/// number, without control characters and the escape sequences of terminals. What follows a
/// carriage return replaces its line, as on a terminal.
class LineLog {
 public:
  static constexpr int kMaxLineBytes = 4096;  ///< longer lines are cut
  static constexpr int kMaxLines = 200;       ///< older lines are dropped

  /// Appends output and calls `onLine` for each line that it completes.
  void append(const QByteArray& bytes, const std::function<void(const QString&)>& onLine);
  /// Ends the output: a last line without newline counts as complete, and `onLine` gets it.
  void finish(const std::function<void(const QString&)>& onLine);

  /// What has been printed of the line that has not ended: a prompt, or a progress bar.
  [[nodiscard]] QString openLine() const;
  /// The last lines, at most kMaxLines, newest last.
  [[nodiscard]] const QStringList& lines() const { return lines_; }

 private:
  void add(const char* text, qsizetype size);
  void endLine(const std::function<void(const QString&)>& onLine);

  QByteArray open_;
  bool cut_ = false;
  bool returned_ = false;  ///< the next character begins the line anew
  QStringList lines_;
};

/// Makes a text a single line that is safe to print: a tab becomes a space, other control and
/// invisible characters become U+FFFD. Like highwater::plainText(), for Qt's strings.
[[nodiscard]] QString plainText(const QString& text);

}  // namespace highwater::session
