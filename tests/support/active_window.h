#pragma once

#include <QApplication>
#include <QWidget>

namespace highwater::test {

/// Makes a shown window the active one, at once: activateWindow(), which Qt deprecates this for,
/// asks the platform and takes effect later, for a new dialog on the platform "offscreen" not at
/// all.
inline void makeActive(QWidget& window) {
  QT_WARNING_PUSH
  QT_WARNING_DISABLE_DEPRECATED
  QApplication::setActiveWindow(&window);
  QT_WARNING_POP
}

}  // namespace highwater::test
