#pragma once

#include <QString>
#include <QStringList>
#include <chrono>
#include <optional>

#include "core/messages.h"
#include "session/training_position.h"
#include "session/worker_process.h"

namespace highwater::session {

/// What the host knows about a run when it is over; runEndFrom() makes the RunEnd from it.
struct RunFacts {
  QString program;                      ///< "highwater-worker", or programText()
  bool isScript = false;                ///< the user's own program
  QString whyNothingTrained;            ///< of a script that ended without a Hello
  bool greeted = false;                 ///< its Hello was accepted
  std::optional<RunEnd> toldEnd;        ///< as the host on another machine told it
  QString lostHost;                     ///< the host on another machine whose connection broke
  QString recordedThere;                ///< where that host records, as HOST:PATH
  std::optional<Error> notStarted;      ///< why the process could not be started
  std::optional<QString> violation;     ///< the protocol rule that the worker broke
  std::optional<QString> refusedKnobs;  ///< the worker refused a scheduled change, and why
  std::optional<Failure> failure;
  std::optional<Goodbye> goodbye;
  bool aborted = false;
  bool stopRequested = false;
  std::optional<std::chrono::milliseconds> silentFor;      ///< hung: no message for this long
  std::optional<std::chrono::milliseconds> notStoppedFor;  ///< ended by Highwater after a stop
  /// What the process of a script did to its connection: "replaced itself by another program".
  std::string disconnectReason;
  /// Whether the process that trained still ran a second after its connection had ended; unset
  /// where the whole program had ended by then.
  std::optional<bool> trainerRanOn;
  std::optional<ProcessExit> exit;
  TrainingPosition position;
  QStringList lastLines;
};

/// Decides how a run ended and describes it in one sentence for the user. The first of these facts
/// that is set decides: notStarted, toldEnd, violation, lostHost, disconnectReason, goodbye,
/// failure, refusedKnobs, silentFor, aborted; otherwise the exit of the process.
[[nodiscard]] RunEnd runEndFrom(const RunFacts& facts);

/// Whether a run came to its end or was stopped as asked.
[[nodiscard]] bool endedAsPlanned(const RunEnd& end);

}  // namespace highwater::session
