#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/messages.h"
#include "core/result.h"

namespace highwater::worker {

/// Decides how training goes on after a step that ran out of memory and was dropped.
class Recovery {
 public:
  /// How often in a row a step is trained with the same settings before the run ends.
  static constexpr std::uint32_t kMostTries = 3;

  /// Returns the change with which to train `step` again, which sets nothing if it keeps its
  /// settings. Fails with kOutOfMemory where the policy in `knobs` is to stop, or where nothing is
  /// left to try; the error's message says so and ends with `refusal`, the allocator's.
  [[nodiscard]] Result<SetKnobs> afterOutOfMemory(std::uint32_t step, const Knobs& knobs,
                                                  const std::string& refusal);

  /// Notes that a step was trained. Returns the batch size with which the step ran out of memory
  /// first, if it did.
  [[nodiscard]] std::optional<std::uint32_t> trained();

 private:
  std::optional<Knobs> failed_;  ///< of the last try that ran out of memory
  std::uint32_t firstBatch_ = 0;
  std::uint32_t tries_ = 0;  ///< in a row with the settings failed_
};

}  // namespace highwater::worker
