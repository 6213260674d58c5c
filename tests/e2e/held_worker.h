#pragma once

#include <QFile>
#include <QString>
#include <QTemporaryDir>
#include <QTest>

#include "support/wait_limit.h"

namespace highwater::test {

/// A worker that can be held while it starts.
class HeldWorker {
 public:
  HeldWorker() {
    QFile script(program());
    if (!script.open(QIODevice::WriteOnly)) return;
    script.write(QByteArray("#!/bin/sh\n"
                            "cd '%1'\n"
                            "[ -e hold ] || exec '%2' \"$@\"\n"
                            "echo $$ > new && mv new held\n"
                            "exec sleep 1000\n")
                     .replace("%1", folder_.path().toUtf8())
                     .replace("%2", HIGHWATER_BIN_DIR "/highwater-worker"));
    script.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
  }

  /// The program to start in place of highwater-worker.
  [[nodiscard]] QString program() const { return folder_.filePath("worker"); }
  /// From now on workers are held, or no longer. Those that are held already stay so.
  [[nodiscard]] bool hold() const { return QFile(path("hold")).open(QIODevice::WriteOnly); }
  [[nodiscard]] bool release() const { return QFile::remove(path("hold")); }
  /// Waits for a worker to be held and returns its process, each once; 0 where none comes.
  [[nodiscard]] qint64 takeHeld() const {
    QFile file(path("held"));
    if (!QTest::qWaitFor([&] { return file.open(QIODevice::ReadOnly); }, kWaitMs)) return 0;
    const qint64 process = file.readAll().trimmed().toLongLong();
    return file.remove() ? process : 0;
  }

 private:
  [[nodiscard]] QString path(const char* name) const {
    return folder_.filePath(QLatin1String(name));
  }

  QTemporaryDir folder_;
};

}  // namespace highwater::test
