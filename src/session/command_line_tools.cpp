#include "session/command_line_tools.h"

#include <QProcess>

namespace highwater::session {

bool lacksCommandLineTools() {
#ifdef Q_OS_MACOS
  constexpr int kLimitMs = 5000;
  QProcess process;
  process.start(QStringLiteral("/usr/bin/xcode-select"), {QStringLiteral("-p")});
  return !process.waitForFinished(kLimitMs) || process.exitCode() != 0;
#else
  return false;
#endif
}

}  // namespace highwater::session
