#pragma once

#include <QByteArray>
#include <QString>
#include <QStringList>
#include <functional>

namespace highwater::session {

/// Cuts what a foreign process prints into lines that are safe to show: limited in length and
/// number, without control characters.
class LineLog {
 public:
  static constexpr int kMaxLineBytes = 4096;  ///< the rest of a longer line is left out
  static constexpr int kMaxLines = 200;       ///< older lines are forgotten

  /// Adds output as it came and calls `onLine` for each line that it completed.
  void append(const QByteArray& bytes, const std::function<void(const QString&)>& onLine);
  /// Ends a last line that has no newline.
  void finish(const std::function<void(const QString&)>& onLine);

  /// Newest last.
  [[nodiscard]] const QStringList& lines() const { return lines_; }

 private:
  void endLine(const std::function<void(const QString&)>& onLine);

  QByteArray open_;
  bool cut_ = false;
  QStringList lines_;
};

/// `text` on one line: tabs become a space, other control characters (terminal escapes among them)
/// the replacement character.
[[nodiscard]] QString plainText(const QString& text);

}  // namespace highwater::session
