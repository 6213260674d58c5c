#include "session/line_log.h"

#include <algorithm>

#include "core/plain_text.h"

namespace highwater::session {

namespace {

/// Without control sequences of ECMA-48: ESC [, parameters, and a final byte, as for colours.
QByteArray withoutSequences(const QByteArray& text) {
  if (!text.contains('\x1b')) return text;
  QByteArray plain;
  for (qsizetype at = 0; at < text.size(); ++at) {
    const bool begins = text[at] == '\x1b' && at + 1 < text.size() && text[at + 1] == '[';
    if (!begins) {
      plain += text[at];
      continue;
    }
    at += 2;
    while (at < text.size() && (text[at] < '@' || text[at] > '~')) ++at;
  }
  return plain;
}

}  // namespace

QString plainText(const QString& text) {
  return QString::fromStdString(highwater::plainText(text.toStdString()));
}

void LineLog::append(const QByteArray& bytes, const std::function<void(const QString&)>& onLine) {
  qsizetype begin = 0;
  for (qsizetype at = 0; at < bytes.size(); ++at) {
    const char c = bytes[at];
    if (c != '\n' && c != '\r') continue;
    add(bytes.constData() + begin, at - begin);
    begin = at + 1;
    if (c == '\n') {
      endLine(onLine);
    } else {
      returned_ = true;
    }
  }
  add(bytes.constData() + begin, bytes.size() - begin);
}

void LineLog::add(const char* text, qsizetype size) {
  if (size == 0) return;
  if (returned_) {
    open_.clear();
    cut_ = returned_ = false;
  }
  const qsizetype taken = std::min(kMaxLineBytes - open_.size(), size);
  cut_ = cut_ || taken < size;
  open_.append(text, taken);
}

void LineLog::finish(const std::function<void(const QString&)>& onLine) {
  if (!open_.isEmpty()) endLine(onLine);
}

QString LineLog::openLine() const {
  const QString line = plainText(QString::fromUtf8(withoutSequences(open_)));
  return cut_ ? line + QStringLiteral(" …") : line;
}

void LineLog::endLine(const std::function<void(const QString&)>& onLine) {
  const QString line = openLine();
  open_.clear();
  cut_ = returned_ = false;
  lines_.append(line);
  if (lines_.size() > kMaxLines) lines_.removeFirst();
  onLine(line);
}

}  // namespace highwater::session
