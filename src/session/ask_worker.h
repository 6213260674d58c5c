#pragma once

#include <QByteArray>
#include <QStringList>
#include <chrono>
#include <optional>

#include "core/result.h"
#include "session/worker_process.h"

namespace highwater::session {

/// What a worker that was asked a question, instead of being told to train, left behind.
struct WorkerAnswer {
  QByteArray out;           ///< its standard output
  QStringList lastLines;    ///< of what it printed beside it
  ProcessExit exit;         ///< where it ended by itself
  bool isTimedOut = false;  ///< it was killed after the time limit
};

/// Runs `program arguments…` to its end, but no longer than `limit`; waits for it. `environment`:
/// NAME=VALUE to add, NAME alone to take away. The error is why it could not be started.
[[nodiscard]] Result<WorkerAnswer> askWorker(const QString& program, const QStringList& arguments,
                                             const QStringList& environment,
                                             std::chrono::milliseconds limit);

}  // namespace highwater::session
