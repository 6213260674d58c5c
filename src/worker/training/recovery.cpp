#include "worker/training/recovery.h"

namespace highwater::worker {

Result<SetKnobs> Recovery::afterOutOfMemory(std::uint32_t step, const Knobs& knobs,
                                            const std::string& refusal) {
  const auto stop = [&](const std::string& why) {
    return Error{ErrorCode::kOutOfMemory, why + refusal};
  };
  if (!failed_) firstBatch_ = knobs.batchSize;
  tries_ = failed_ == knobs ? tries_ + 1 : 1;
  failed_ = knobs;
  const std::string which = "step " + std::to_string(step) + " ran out of memory ";
  const std::string setting = "batch size " + std::to_string(knobs.batchSize) +
                              ", sequence length " + std::to_string(knobs.sequenceLength) + ": ";
  SetKnobs change;
  switch (knobs.outOfMemory) {
    case OutOfMemoryPolicy::kRetry:
      if (tries_ < kMostTries) return change;
      return stop(which + std::to_string(tries_) + " times in a row with " + setting);
    case OutOfMemoryPolicy::kHalve:
      if (knobs.batchSize <= 1) return stop(which + "with " + setting);
      change.batchSize = knobs.batchSize / 2;
      return change;
    default:
      return stop("");
  }
}

std::optional<std::uint32_t> Recovery::trained() {
  if (!failed_) return std::nullopt;
  failed_.reset();
  tries_ = 0;
  return firstBatch_;
}

}  // namespace highwater::worker
