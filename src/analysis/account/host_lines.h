#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/live_store.h"
#include "analysis/time_range.h"

namespace highwater::analysis {

/// A line of the user's code, with the library's line that it called, at which the host did work of
/// its own. Of a function: its line with the most samples, and the numbers of all of them.
struct HostLine {
  /// Empty where no line of the user's ran; but kHighwaters as the library where Highwater's hooks
  /// did, which a line of the user's called unknowingly.
  CallSiteParts site;
  CallSiteId id = kNoId;      ///< a call site there
  std::uint64_t samples = 0;  ///< host samples that were taken in it
  std::uint64_t of = 0;       ///< all that were counted
  double share = 0;           ///< of the time that those stand for, 0 to 1
};

inline constexpr std::string_view kHighwaters = "highwater";

/// Whether a library's line checks the arguments of a torch.distributions.Distribution
/// (torch/distributions/distribution.py and constraints.py), which validate_args=False leaves out.
[[nodiscard]] bool checksDistribution(std::string_view library);

/// Whether a host sample counts; empty: each.
using HostSampleFilter = std::function<bool(const events::HostSample&)>;

/// Counts the host samples in `range` that `counts` lets through by line, the largest share first.
/// A line's share is its share of the host's own work: where a run's first samples were taken more
/// often than the others (kFirstHostSamplesSign), each stands for less time.
[[nodiscard]] std::vector<HostLine> hostLines(const LiveStore& store, const TimeRange& range,
                                              const HostSampleFilter& counts = {});
/// The same in several ranges, of which no two overlap.
[[nodiscard]] std::vector<HostLine> hostLines(const LiveStore& store,
                                              std::span<const TimeRange> ranges,
                                              const HostSampleFilter& counts = {});

/// The same by function of the user's. Samples outside of functions, on the level of a module, are
/// counted and make no row.
[[nodiscard]] std::vector<HostLine> hostFunctions(const LiveStore& store,
                                                  std::span<const TimeRange> ranges);

/// Whether a line has enough of the samples to be named: a quarter, and so many that one of the
/// `lines` that have any, with a tenth of the work each, would get them in at most a twentieth of
/// the runs (binomial distribution, with Bonferroni's correction).
[[nodiscard]] bool standsOut(const HostLine& line, std::size_t lines);

}  // namespace highwater::analysis
