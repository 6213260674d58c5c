#pragma once

#include <cstdint>
#include <optional>

#include "core/messages.h"
#include "core/result.h"

namespace highwater::session {

/// Decides how training goes on after its worker was killed by a signal, such as the abort of a
/// failed assertion or the kill of a system that is out of memory.
class AbortRecovery {
 public:
  /// How often in a row a worker may be killed without the training getting on.
  static constexpr int kMostAborts = 3;

  /// How a run ended.
  struct Ended {
    RunEnd end;
    std::optional<std::uint32_t> checkpointStep;  ///< of the newest checkpoint
    std::uint32_t lastStep = 0;                   ///< that was trained
    Knobs knobs;                                  ///< in effect at the end
  };
  /// What the next worker starts with.
  struct Next {
    Knobs knobs;                 ///< with half of the batch size, where it was more than 1
    std::uint32_t fromStep = 0;  ///< of the checkpoint to continue; 0: from the beginning
  };

  /// Whether a run ended in the way that a new worker may help.
  [[nodiscard]] static bool isAbort(const RunEnd& end);

  /// Returns what to start after an abort. Fails with kFailed where steps were trained and there is
  /// no checkpoint, and where the worker was killed kMostAborts times in a row before a checkpoint
  /// beyond the step at which it was killed before. The message says so, without the end's own.
  [[nodiscard]] Result<Next> after(const Ended& ended);

 private:
  int aborts_ = 0;  ///< in a row without progress
  std::uint32_t abortedStep_ = 0;
};

}  // namespace highwater::session
