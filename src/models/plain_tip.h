#pragma once

#include <QString>

namespace highwater::models {

/// A tooltip that shows `text` as it is. Tooltips take for rich text whatever looks like it, and a
/// name from a recording may.
[[nodiscard]] inline QString plainTip(const QString& text) {
  if (!text.contains(QLatin1Char('<')) && !text.contains(QLatin1Char('&'))) {
    return text;
  }
  return QStringLiteral("<qt>%1</qt>")
      .arg(text.toHtmlEscaped().replace(QLatin1Char('\n'), QLatin1String("<br>")));
}

}  // namespace highwater::models
