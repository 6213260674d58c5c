#include "analysis/account/host_lines.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace highwater::analysis {

bool checksDistribution(std::string_view library) {
  const auto has = [library](std::string_view text) {
    return library.find(text) != std::string_view::npos;
  };
  return has("distributions/constraints.py") || has(" Distribution.__init__") ||
         has(" Distribution._validate_sample");
}

std::vector<HostLine> hostLines(const LiveStore& store, const TimeRange& range,
                                const HostSampleFilter& counts) {
  return hostLines(store, std::span(&range, 1), counts);
}

std::vector<HostLine> hostLines(const LiveStore& store, std::span<const TimeRange> ranges,
                                const HostSampleFilter& counts) {
  const auto& samples = store.hostSamples();
  std::unordered_map<CallSiteId, std::uint64_t> bySite;
  std::uint64_t total = 0;
  for (const TimeRange& range : ranges) {
    const auto isBefore = [](const events::HostSample& each, std::int64_t ns) {
      return each.time_ns() < ns;
    };
    for (auto at = std::lower_bound(samples.begin(), samples.end(), range.beginNs, isBefore);
         at != samples.end() && at->time_ns() < range.endNs; ++at) {
      if (counts && !counts(*at)) continue;
      ++bySite[at->call_site()];
      ++total;
    }
  }
  // A line has an id for each stack that led to it. A check of arguments is many ops, and so many
  // lines of the library, of which that with the most samples is shown.
  struct Counted {
    HostLine line;
    std::uint64_t most = 0;
  };
  std::map<std::tuple<std::string, std::uint32_t, std::string>, Counted> byLine;
  for (const auto& [id, count] : bySite) {
    CallSiteParts site = store.callSiteParts(id);
    const std::string library = checksDistribution(site.library) ? "checks" : site.library;
    Counted& counted = byLine[{site.path, site.number, library}];
    counted.line.samples += count;
    if (count <= counted.most) continue;
    counted.most = count;
    counted.line.site = std::move(site);
  }
  std::vector<HostLine> lines;
  for (auto& [key, counted] : byLine) {
    HostLine& line = counted.line;
    line.share = static_cast<double>(line.samples) / static_cast<double>(total);
    lines.push_back(std::move(line));
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const HostLine& a, const HostLine& b) { return a.samples > b.samples; });
  return lines;
}

bool standsOut(const HostLine& line, std::size_t lines) {
  constexpr double kLeastShare = 0.25, kSmallShare = 0.1, kMostChance = 0.05;
  // Of more samples, a quarter is too many for chance.
  constexpr double kManySamples = 100;
  if (line.share < kLeastShare) return false;
  const double all = std::round(static_cast<double>(line.samples) / line.share);
  if (all >= kManySamples) return true;
  double fewer = 0, chance = std::pow(1 - kSmallShare, all);
  for (std::uint64_t i = 0; i < line.samples; ++i) {
    fewer += chance;
    const auto had = static_cast<double>(i);
    chance *= (all - had) / (had + 1) * kSmallShare / (1 - kSmallShare);
  }
  return static_cast<double>(lines) * (1 - fewer) <= kMostChance;
}

}  // namespace highwater::analysis
