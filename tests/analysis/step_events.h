#pragma once

#include "analysis/live_store.h"
#include "support/sample_run.h"

/// Makes events of steps, with times in whole ms, on the training thread by default.
namespace highwater::test {

inline constexpr std::int64_t kMs = 1'000'000;
inline constexpr ThreadId kAutogradThread = 2;
/// Spans that a script names.
inline constexpr NameId kEvaluation = 20, kAugment = 21;

inline events::StepRecord stepAt(std::uint32_t step, std::int64_t beginMs, std::int64_t ms,
                                 std::uint32_t length = 64) {
  return {beginMs * kMs, ms * kMs, 1, 1, -1, step, 16, length, 16 * length, 0, 0, 0};
}

inline events::PhaseSpan phaseAt(std::uint32_t step, events::Phase phase, std::int64_t beginMs,
                                 std::int64_t ms) {
  return {beginMs * kMs, ms * kMs, step, kTrainingThread, phase};
}

inline events::SyncPoint syncAt(std::uint32_t step, events::SyncKind kind, events::Phase phase,
                                std::int64_t beginMs, std::int64_t ms, bool deliberate = false,
                                ThreadId thread = kTrainingThread) {
  return {beginMs * kMs,
          ms * kMs,
          4,
          step,
          kCopy,
          kNoId,
          kNoId,
          thread,
          kind,
          phase,
          static_cast<std::uint8_t>(deliberate)};
}

inline events::FallbackEvent fallbackAt(std::uint32_t step, events::Phase phase,
                                        std::int64_t beginMs, std::int64_t ms, std::int64_t waitMs,
                                        NameId op = kRenorm) {
  return {beginMs * kMs, ms * kMs, waitMs * kMs,    1000, 500, step, op,
          kNoId,         kNoId,    kTrainingThread, phase};
}

/// Adds the definitions of the sample run, so that names are known.
inline void defineNames(analysis::LiveStore& store) {
  for (const OwnedMessage& message : makeSampleRun({.steps = 1})) {
    if (const auto* definitions = std::get_if<Definitions>(&message)) store.apply(*definitions);
  }
}

/// The length of every step of a run whose batches have one shape.
inline std::uint32_t sameLength(std::uint32_t /*step*/) {
  return 64;
}

}  // namespace highwater::test
