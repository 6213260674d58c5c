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

/// What a named span is: a phase of the script's own, or one that Highwater names.
enum class NameKind : std::uint8_t { Own, Evaluation, Highwater, LoaderStart };

/// What a span of this name is in the store's run.
[[nodiscard]] NameKind nameKind(const LiveStore& store, std::string_view name);
/// Whether the span belongs to an evaluation, and not to a phase that the script names itself.
[[nodiscard]] bool isEvaluation(const LiveStore& store, const events::NamedSpan& span);
/// The named span that holds the time `ns`; nullptr if there is none.
[[nodiscard]] const events::NamedSpan* namedSpanAt(const LiveStore& store, std::int64_t ns);
/// Whether the script names phases of its own.
[[nodiscard]] bool namesPhases(const LiveStore& store);
/// Adds up the phases of the whole run that the script names itself, the longest first.
[[nodiscard]] std::vector<NamedPhase> summarizeNamedPhases(const LiveStore& store);

/// The share of the steps' time that lies outside of their phases, 0 to 1; 0 without steps.
[[nodiscard]] double shareOutsidePhases(const RunSummary& summary);
/// A sentence on how a script names what it does outside of its phases. Empty unless at least half
/// of the time of its steps lies there, without the waits for the device, and it names no phase
/// yet.
[[nodiscard]] std::string_view phaseNamingHint(const LiveStore& store, const RunSummary& summary);

}  // namespace highwater::analysis
