#pragma once

#include <QByteArray>
#include <QStringList>
#include <chrono>
#include <functional>
#include <optional>

#include "core/result.h"
#include "session/worker_process.h"

namespace highwater::session {

/// The output and exit of a worker that was started only to answer a question, not to train.
struct WorkerAnswer {
  QByteArray out;           ///< stdout
  QStringList lastLines;    ///< of stderr
  ProcessExit exit;         ///< meaningless if isTimedOut
  bool isTimedOut = false;  ///< it was killed at the time limit
};

/// Runs `program arguments…` until it ends or `limit` has passed, and blocks meanwhile.
/// An entry of `environment` adds a variable (NAME=VALUE) or removes one (NAME). Kills the program
/// at the limit; that is no error, but sets isTimedOut. Calls onLine(line) for each line of stdout
/// as soon as it has come. Fails with kFailed if the program cannot be started.
[[nodiscard]] Result<WorkerAnswer> askWorker(
    const QString& program, const QStringList& arguments, const QStringList& environment,
    std::chrono::milliseconds limit, const std::function<void(const QByteArray&)>& onLine = {});

}  // namespace highwater::session
