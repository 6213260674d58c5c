#pragma once

#include <QString>
#include <QStringList>
#include <chrono>
#include <optional>

#include "core/messages.h"
#include "session/last_seen.h"
#include "session/worker_process.h"

namespace highwater::session {

/// What a session knows about a run by the time it is over.
struct RunFacts {
  QString program;                  ///< "highwater-worker", or "process 4711" where attached
  bool greeted = false;             ///< its Hello was accepted
  std::optional<Error> notStarted;  ///< why there never was a process
  std::optional<QString> violation;
  std::optional<QString> refusedKnobs;  ///< a scheduled change that the worker refused
  std::optional<Failure> failure;
  std::optional<Goodbye> goodbye;
  bool aborted = false;
  bool stopRequested = false;
  std::optional<std::chrono::milliseconds> silentFor;  ///< hung: no frame for so long
  std::optional<ProcessExit> exit;                     ///< absent where attached
  LastSeen lastSeen;
  QStringList lastLines;
};

/// "step 31 has stood in loss read for 12 s, in aten::_local_scalar_dense"
[[nodiscard]] QString stallText(const LastSeen::Standing& standing);

/// Says how the run ended.
[[nodiscard]] RunEnd judge(const RunFacts& facts);

}  // namespace highwater::session
