#include "session/shell_words.h"

#include <algorithm>
#include <string>

namespace highwater::session {
namespace {

bool isBlank(QChar c) {
  return c == u' ' || c == u'\t' || c == u'\n' || c == u'\r';
}

/// Whether a backslash inside of double quotes takes the meaning from the character after it.
bool isEscapedInQuotes(QChar c) {
  return c == u'"' || c == u'\\' || c == u'$' || c == u'`';
}

/// Reads one text from left to right.
class WordReader {
 public:
  explicit WordReader(const QString& text) : text_(text) {}

  Result<QStringList> read() {
    while (at_ < text_.size()) {
      const QChar c = text_[at_++];
      if (isBlank(c)) {
        endWord();
      } else if (c == u'\'' || c == u'"') {
        if (auto closed = readQuoted(c); !closed) return closed.error();
      } else if (c == u'\\') {
        if (at_ == text_.size()) return usageError("a backslash at the end escapes nothing");
        take(text_[at_++]);
      } else {
        take(c);
      }
    }
    endWord();
    return words_;
  }

 private:
  Result<void> readQuoted(QChar quote) {
    inWord_ = true;  // '' is a word
    while (at_ < text_.size()) {
      const QChar c = text_[at_++];
      if (c == quote) return {};
      const bool escapes = quote == u'"' && c == u'\\' && at_ < text_.size();
      take(escapes && isEscapedInQuotes(text_[at_]) ? text_[at_++] : c);
    }
    return usageError(quote == u'"' ? R"(the quote " is not closed)" : "the quote ' is not closed");
  }
  void take(QChar c) {
    word_ += c;
    inWord_ = true;
  }
  void endWord() {
    if (inWord_) words_ << word_;
    word_.clear();
    inWord_ = false;
  }

  const QString& text_;
  qsizetype at_ = 0;
  QString word_;
  bool inWord_ = false;
  QStringList words_;
};

bool isPlain(QChar c) {
  return (c.unicode() < 128 && c.isLetterOrNumber()) || QStringLiteral("_@%+=:,./-").contains(c);
}

}  // namespace

Result<QStringList> splitShellWords(const QString& text) {
  return WordReader(text).read();
}

QString quoteShellWord(const QString& word) {
  // zsh replaces =word by the path of a program.
  const bool isSafe = !word.isEmpty() && !word.startsWith(u'=');
  if (isSafe && std::all_of(word.begin(), word.end(), &isPlain)) return word;
  QString quoted = word;
  return u'\'' + quoted.replace(u'\'', QLatin1String("'\\''")) + u'\'';
}

QString quoteShellWords(const QStringList& words) {
  QStringList quoted;
  for (const QString& each : words) quoted << quoteShellWord(each);
  return quoted.join(u' ');
}

}  // namespace highwater::session
