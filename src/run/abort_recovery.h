#pragma once

#include <cstdint>
#include <optional>

#include "analysis/live_store.h"
#include "core/messages.h"
#include "core/result.h"
#include "session/session.h"

namespace highwater::run {

/// Decides how training goes on after its worker was killed by a signal, such as the abort of a
/// failed assertion or the kill of a system that is out of memory. One for all the workers of a
/// training.
class AbortRecovery {
 public:
  /// How often in a row a worker may be killed without the training getting on.
  static constexpr int kMostAborts = 3;
  /// How often in a row a new worker may be killed before it begins a step.
  static constexpr int kMostStarts = 5;

  /// How a run ended.
  struct Ended {
    RunEnd end;
    session::LaunchOptions launched;              ///< of its worker
    QString recording;                            ///< the name of its file
    std::optional<RunDescription> run;            ///< nullopt: the worker was not ready to train
    std::optional<std::uint32_t> checkpointStep;  ///< of the newest checkpoint
    std::uint32_t lastStep = 0;                   ///< that was trained; 0: none
    std::uint32_t begunStep = 0;                  ///< the last step that is known to have begun
    Knobs knobs;                                  ///< in effect at the end

    /// Of a run whose messages are in `store`.
    [[nodiscard]] static Ended of(const RunEnd& end, const session::LaunchOptions& launched,
                                  const analysis::LiveStore& store, const QString& recording);
  };
  /// What the next worker starts with.
  struct Next {
    session::LaunchOptions options;  ///< with half of the batch size, where it was more than 1
    std::uint32_t fromStep = 0;      ///< of the checkpoint to continue; 0: from the beginning
    QString how;                     ///< why there is a next worker, and what has changed for it
    /// The worker that was to continue was killed before it began a step. The next one starts like
    /// it, and makes its recording anew.
    bool startsAgain = false;
  };

  /// Returns what to start after an end; nullopt where that was no abort, the first worker was not
  /// ready to train, or nobody wants to go on. Fails with kFailed where steps were trained and
  /// there is no checkpoint, where the worker was killed kMostAborts times in a row before a
  /// checkpoint beyond the step at which it was killed before, and where kMostStarts new workers in
  /// a row did not begin a step. The message says so, without the end's own.
  [[nodiscard]] Result<std::optional<Next>> after(const Ended& ended);

 private:
  int aborts_ = 0;  ///< in a row without progress
  int starts_ = 0;  ///< in a row that ended before a step began
  std::uint32_t abortedStep_ = 0;
};

}  // namespace highwater::run
