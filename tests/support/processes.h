#pragma once

#include <QProcess>
#include <QString>
#include <QStringList>

#include "support/wait_limit.h"

/// Other processes, as `ps` sees them: the same on Linux and macOS.
namespace highwater::test {

inline QString ps(const QStringList& arguments) {
  QProcess process;
  process.start(QStringLiteral("ps"), arguments);
  process.waitForFinished(kWaitMs);
  return QString::fromUtf8(process.readAllStandardOutput());
}

/// The worker that a process has started, 0 where there is none.
inline qint64 workerOf(qint64 parent) {
  for (const QString& line : ps({"-A", "-o", "pid=,ppid=,comm="}).split(u'\n')) {
    const QStringList words = line.simplified().split(u' ');
    if (words.size() >= 3 && words[1].toLongLong() == parent && words[2].contains("highwater")) {
      return words[0].toLongLong();
    }
  }
  return 0;
}

/// A zombie that nobody has waited for is gone.
inline bool isGone(qint64 id) {
  const QString state = ps({"-o", "stat=", "-p", QString::number(id)}).trimmed();
  return state.isEmpty() || state.startsWith(u'Z');
}

}  // namespace highwater::test
