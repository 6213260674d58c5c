#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/live_store.h"

namespace highwater::analysis {

/// All waits of one kind, or all fallbacks, of one op at one line of the user's code.
struct LineTotal {
  std::string op;
  /// Phase and module: "forward, encoder.layers.1". The phase may be an evaluation or one of the
  /// script's own.
  std::string where;
  CallSiteParts site;    ///< empty where unknown, as on the threads of backward
  std::string callSite;  ///< the same as one text, as the tables of a recording have it
  events::SyncKind kind = events::SyncKind::None;  ///< None for fallbacks
  bool deliberate = false;                         ///< only for waits: planned
  std::uint64_t count = 0;
  std::int64_t totalNs = 0;
  std::uint64_t bytes = 0;  ///< to the CPU and back
};

/// Where the host waited for the device and where ops fell back, by line; the longest first.
struct LostTimeLines {
  std::vector<LineTotal> waits, fallbacks;
};

/// Adds up the waits and fallbacks of the whole run.
[[nodiscard]] LostTimeLines summarizeLines(const LiveStore& store);

}  // namespace highwater::analysis
