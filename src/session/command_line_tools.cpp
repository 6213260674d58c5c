#include "session/command_line_tools.h"

#include <QFile>
#include <QFileInfo>
#include <QProcess>

namespace highwater::session {

bool lacksCommandLineTools() {
#ifdef Q_OS_MACOS
  constexpr int kLimitMs = 5000;
  QProcess process;
  process.start(QStringLiteral("/usr/bin/xcode-select"), {QStringLiteral("-p")});
  if (!process.waitForFinished(kLimitMs) || process.exitCode() != 0) return true;
  // It may name an Xcode that has been deleted.
  return !QFileInfo(QFile::decodeName(process.readAllStandardOutput().trimmed())).isDir();
#else
  return false;
#endif
}

}  // namespace highwater::session
