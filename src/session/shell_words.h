#pragma once

#include <QString>
#include <QStringList>

#include "core/result.h"

namespace highwater::session {

/// Splits a text into words as a POSIX shell does: at blanks and line ends outside of quotes, with
/// '…', "…" and backslashes. Expands nothing: no variables, wildcards or ~. Fails with kUsage for a
/// quote that is not closed and for a backslash at the end.
[[nodiscard]] Result<QStringList> splitShellWords(const QString& text);

/// Quotes a word so that a POSIX shell reads it as this one word: 'my script.py'. Leaves a word as
/// it is that needs no quotes.
[[nodiscard]] QString quoteShellWord(const QString& word);
/// Quotes each word and joins them with blanks.
[[nodiscard]] QString quoteShellWords(const QStringList& words);

}  // namespace highwater::session
