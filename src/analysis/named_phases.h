#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/live_store.h"
#include "analysis/run_summary.h"

namespace highwater::analysis {

/// Host time of one of the script's own phases, by its name.
struct NamedPhase {
  std::string name;
  std::uint64_t count = 0;   ///< how often it began
  std::int64_t totalNs = 0;  ///< without the phases within it
};

/// Host time of all evaluations, and the waits for the device in it.
struct EvaluationTotal {
  std::uint64_t count = 0;  ///< those without a training step between them count as one
  std::int64_t totalNs = 0;
  std::uint64_t waits = 0;
  std::int64_t waitNs = 0;
};

/// The named spans of a run, added up.
struct NamedPhases {
  std::vector<NamedPhase> phases;  ///< the longest first
  EvaluationTotal evaluation;
};

/// Whether the span belongs to an evaluation, and not to a phase that the script names itself.
[[nodiscard]] bool isEvaluation(const LiveStore& store, const events::NamedSpan& span);
/// The named span that holds the time `ns`; nullptr if there is none.
[[nodiscard]] const events::NamedSpan* namedSpanAt(const LiveStore& store, std::int64_t ns);
/// Whether the script names phases of its own.
[[nodiscard]] bool namesPhases(const LiveStore& store);
/// Adds up the named spans of the whole run.
[[nodiscard]] NamedPhases summarizeNamedPhases(const LiveStore& store);

/// The share of the steps' time that lies outside of their phases, 0 to 1; 0 without steps.
[[nodiscard]] double shareOutsidePhases(const RunSummary& summary);
/// A sentence on how a script names what it does outside of its phases. Empty unless at least half
/// of the time of its steps lies there and it names no phase yet.
[[nodiscard]] std::string_view phaseNamingHint(const LiveStore& store, const RunSummary& summary);

}  // namespace highwater::analysis
