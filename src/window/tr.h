#pragma once

#include <QCoreApplication>
#include <QString>

namespace highwater::window {

/// Translates a text of a function that is no member of a QObject.
inline QString tr(const char* text) {
  return QCoreApplication::translate("window", text);
}

}  // namespace highwater::window
