#pragma once

#include <QStandardPaths>
#include <QTemporaryDir>

namespace highwater::test {

/// Gives this process a home folder of its own, which goes with it: tests that run side by side
/// must not share settings and recordings. Call it before the first QSettings.
inline void useOwnHome() {
  static const QTemporaryDir home;
  qputenv("HOME", home.path().toLocal8Bit());
  for (const char* name : {"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"}) qunsetenv(name);
  QStandardPaths::setTestModeEnabled(true);
}

}  // namespace highwater::test
