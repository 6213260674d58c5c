#pragma once

#include <QProcess>
#include <QString>
#include <QStringList>
#include <memory>

#include "support/wait_limit.h"

namespace highwater::test {

struct Outcome {
  int exitCode = -1;  ///< -1 where it crashed or did not end in time
  QString out;
  QString err;
};

inline QProcessEnvironment environmentWith(const QStringList& additions) {
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  for (const QString& entry : additions) {
    environment.insert(entry.section(u'=', 0, 0), entry.section(u'=', 1));
  }
  return environment;
}

/// Runs a program to its end. `environment`: NAME=VALUE, beside this process's own.
inline Outcome runProgram(const QString& program, const QStringList& arguments,
                          const QStringList& environment = {}, int timeoutMs = kWaitMs) {
  QProcess process;
  process.setProcessEnvironment(environmentWith(environment));
  process.setStandardInputFile(QProcess::nullDevice());
  process.start(program, arguments);
  Outcome outcome;
  if (process.waitForFinished(timeoutMs) && process.exitStatus() == QProcess::NormalExit) {
    outcome.exitCode = process.exitCode();
  }
  outcome.out = QString::fromUtf8(process.readAllStandardOutput());
  outcome.err = QString::fromUtf8(process.readAllStandardError());
  return outcome;
}

/// Runs build/bin/highwater to its end.
inline Outcome runHighwater(const QStringList& arguments, const QStringList& environment = {},
                            int timeoutMs = kWaitMs) {
  return runProgram(QStringLiteral(HIGHWATER_BIN_DIR "/highwater"), arguments, environment,
                    timeoutMs);
}

/// The report of a recording with all sections, as one line: wrapped lines are joined, and columns
/// are one space apart.
inline QString reportText(const QString& recording) {
  return runHighwater({QStringLiteral("report"), QStringLiteral("--full"), recording})
      .out.simplified();
}

}  // namespace highwater::test
