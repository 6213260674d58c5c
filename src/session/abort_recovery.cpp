#include "session/abort_recovery.h"

#include <algorithm>
#include <string>

namespace highwater::session {

bool AbortRecovery::isAbort(const RunEnd& end) {
  return end.reason == RunEnd::Reason::kCrashed && end.signal != 0;
}

Result<AbortRecovery::Next> AbortRecovery::after(const Ended& ended) {
  const std::uint32_t from = ended.checkpointStep.value_or(0);
  if (from == 0 && ended.lastStep > 0) {
    return failure("there is no checkpoint to continue from");
  }
  const bool gotOn = aborts_ > 0 && from > abortedStep_;
  aborts_ = gotOn ? 1 : aborts_ + 1;
  abortedStep_ = std::max(abortedStep_, ended.lastStep);
  if (aborts_ >= kMostAborts) {
    return failure("the worker was killed " + std::to_string(aborts_) +
                   " times in a row without a checkpoint beyond step " +
                   std::to_string(abortedStep_) + ", the last with batch size " +
                   std::to_string(ended.knobs.batchSize));
  }
  Next next{ended.knobs, from};
  next.knobs.batchSize = std::max(next.knobs.batchSize / 2, std::min(1u, next.knobs.batchSize));
  return next;
}

}  // namespace highwater::session
