#include "session/line_log.h"

#include <algorithm>

#include "core/plain_text.h"

namespace highwater::session {

QString plainText(const QString& text) {
  return QString::fromStdString(highwater::plainText(text.toStdString()));
}

void LineLog::append(const QByteArray& bytes, const std::function<void(const QString&)>& onLine) {
  qsizetype begin = 0;
  while (begin < bytes.size()) {
    const qsizetype newline = bytes.indexOf('\n', begin);
    const qsizetype end = newline < 0 ? bytes.size() : newline;
    const qsizetype room = kMaxLineBytes - open_.size();
    const qsizetype taken = std::min(room, end - begin);
    cut_ = cut_ || taken < end - begin;
    open_.append(bytes.constData() + begin, taken);
    if (newline < 0) return;
    endLine(onLine);
    begin = newline + 1;
  }
}

void LineLog::finish(const std::function<void(const QString&)>& onLine) {
  if (!open_.isEmpty()) endLine(onLine);
}

void LineLog::endLine(const std::function<void(const QString&)>& onLine) {
  if (open_.endsWith('\r')) open_.chop(1);
  QString line = plainText(QString::fromUtf8(open_));
  if (cut_) line += QStringLiteral(" …");
  open_.clear();
  cut_ = false;
  lines_.append(line);
  if (lines_.size() > kMaxLines) lines_.removeFirst();
  onLine(line);
}

}  // namespace highwater::session
