#pragma once

#include <QToolButton>

namespace highwater::views {

/// Makes a button that looks like a link, owned by `parent`. `name` becomes its object name.
[[nodiscard]] inline QToolButton* linkButton(const QString& text, const char* name,
                                             QWidget* parent) {
  auto* button = new QToolButton(parent);
  button->setText(text);
  button->setObjectName(QLatin1String(name));
  button->setProperty("kind", "link");
  return button;
}

}  // namespace highwater::views
