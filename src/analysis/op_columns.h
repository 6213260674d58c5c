#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analysis/span_index.h"
#include "core/events_generated.h"
#include "core/ids.h"

namespace highwater::analysis {

/// What the category of an op's span says: the phase in the low bits, and whether the op is a
/// stall.
struct OpLook {
  static constexpr std::uint8_t kPhaseMask = 0x07;
  static constexpr std::uint8_t kFallback = 0x08;
  static constexpr std::uint8_t kUnplannedWait = 0x10;
  static constexpr std::uint8_t kPlannedWait = 0x20;  ///< of a fallback too
};

/// Ops at ProbeLevel Ops, in the order in which they ended; a lane for each thread and depth, whose
/// payload is the row. An op takes some 90 bytes: beyond kMostOps the oldest are forgotten (the
/// recording keeps them), and rows stay what they were.
struct OpColumns {
  using LaneKey = std::pair<ThreadId, std::uint16_t>;
  static constexpr std::size_t kMostOps = std::size_t{4} << 20;
  /// The probe follows ops no deeper; a recording may claim 65535 depths, and each stall would
  /// search them all.
  static constexpr std::uint16_t kDeepestStall = 64;

  std::vector<events::OpSpan> records;  ///< the first one is of row `firstRow`
  std::map<LaneKey, SpanIndex> lanes;
  std::size_t firstRow = 0;
  std::int64_t forgottenUpToNs = 0;  ///< ops that ended before may be missing; 0: none is

  [[nodiscard]] bool empty() const { return records.empty(); }
  /// One past the newest row.
  [[nodiscard]] std::size_t endRow() const { return firstRow + records.size(); }
  /// nullptr where the row is forgotten, or not there yet.
  [[nodiscard]] const events::OpSpan* at(std::size_t row) const;
  [[nodiscard]] const SpanIndex& laneOf(const events::OpSpan& op) const;
  /// The op's duration less that of the ops right within it. Right once the op is in.
  [[nodiscard]] std::int64_t selfNs(const events::OpSpan& op) const;

  void add(const events::OpSpan& op, std::uint8_t look);
  /// A stall that came after its op: the op of `thread` that began at `beginNs` gets its look. One
  /// deeper than kDeepestStall keeps its own.
  void markStall(ThreadId thread, std::int64_t beginNs, std::uint8_t look);
  /// Forgets ops from the oldest on until there are at most `most`.
  void forgetDownTo(std::size_t most);
};

}  // namespace highwater::analysis
