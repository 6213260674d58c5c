#pragma once

#include <QCoreApplication>
#include <QString>

namespace highwater::run {

/// Translates a text of a function that is no member of a QObject.
inline QString tr(const char* text) {
  return QCoreApplication::translate("run", text);
}

}  // namespace highwater::run
