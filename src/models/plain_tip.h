#pragma once

#include <QString>

namespace highwater::models {

/// Makes a tooltip that shows `text` literally. Qt renders tooltips that look like markup as rich
/// text, and names from a recording are not trusted.
[[nodiscard]] inline QString plainTip(const QString& text) {
  if (!text.contains(QLatin1Char('<')) && !text.contains(QLatin1Char('&'))) {
    return text;
  }
  return QStringLiteral("<qt>%1</qt>")
      .arg(text.toHtmlEscaped().replace(QLatin1Char('\n'), QLatin1String("<br>")));
}

}  // namespace highwater::models
