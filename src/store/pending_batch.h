#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/messages.h"
#include "store/format.h"

namespace highwater::store {

/// Frames (encoded messages) that wait to be written to the recording, with the values for the
/// columns of `batches`. The thread that receives messages fills it; the writer's thread writes it.
struct PendingBatch {
  /// The bits of `kinds` that hasStepOrPhase() looks for.
  static constexpr std::uint64_t kStepOrPhaseKinds =
      kindBit(events::EventKind::StepRecord) | kindBit(events::EventKind::PhaseSpan);

  std::vector<std::uint8_t> frames;
  std::uint32_t frameCount = 0;
  std::uint64_t kinds = 0;  ///< see kCreateBatches
  std::optional<std::int64_t> firstNs, lastNs;

  /// Appends a frame. `message` is the decoded frame.
  void add(std::span<const std::uint8_t> frame, const Message& message);
  /// True if the batch holds a step or a phase, which shows that training has begun. Until then a
  /// run may still fail to start.
  [[nodiscard]] bool hasStepOrPhase() const { return (kinds & kStepOrPhaseKinds) != 0; }
};

}  // namespace highwater::store
