#include "analysis/account/host_lines.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace highwater::analysis {
namespace {

/// The times for which host samples stand, as shares of that of a later one.
class SampleWeights {
 public:
  explicit SampleWeights(const LiveStore& store) {
    const CodeSign* sign = store.sign(kFirstHostSamplesSign);
    if (!sign) return;
    first_ = sign->share;
    std::uint32_t counted = 0;
    for (const events::HostSample& each : store.hostSamples()) {
      if (each.step() >= kFirstSampledStep && ++counted > kFirstHostSamples) break;
      if (each.step() >= kFirstSampledStep) untilNs_ = each.time_ns();
    }
  }

  [[nodiscard]] double of(const events::HostSample& sample) const {
    return sample.step() >= kFirstSampledStep && sample.time_ns() <= untilNs_ ? first_ : 1;
  }

 private:
  double first_ = 1;
  std::int64_t untilNs_ = std::numeric_limits<std::int64_t>::min();
};

/// Host samples by what `keyOf` says of their call sites, the largest share first. A row's site is
/// the one with the most samples.
template <typename KeyOf>
std::vector<HostLine> sampledBy(const LiveStore& store, std::span<const TimeRange> ranges,
                                const KeyOf& keyOf, const HostSampleFilter& counts = {}) {
  struct Counted {
    std::uint64_t samples = 0;
    double weight = 0;
  };
  const auto& samples = store.hostSamples();
  const SampleWeights weights(store);
  std::unordered_map<CallSiteId, Counted> bySite;
  Counted all;
  for (const TimeRange& range : ranges) {
    const auto isBefore = [](const events::HostSample& each, std::int64_t ns) {
      return each.time_ns() < ns;
    };
    for (auto at = std::lower_bound(samples.begin(), samples.end(), range.beginNs, isBefore);
         at != samples.end() && at->time_ns() < range.endNs; ++at) {
      if (counts && !counts(*at)) continue;
      for (Counted* each : {&bySite[at->call_site()], &all}) {
        ++each->samples;
        each->weight += weights.of(*at);
      }
    }
  }
  // A line has an id for each stack that led to it.
  struct Row {
    HostLine line;
    std::uint64_t most = 0;
  };
  std::map<std::invoke_result_t<KeyOf, const CallSiteParts&>, Row> rows;
  for (const auto& [id, counted] : bySite) {
    CallSiteParts site = store.callSiteParts(id);
    if (site.library.starts_with("highwater/")) {
      site = {};
      site.library = kHighwaters;
    }
    Row& row = rows[keyOf(site)];
    row.line.samples += counted.samples;
    row.line.share += counted.weight / all.weight;
    if (counted.samples <= row.most) continue;
    row.most = counted.samples;
    row.line.id = id;
    row.line.site = std::move(site);
  }
  std::vector<HostLine> lines;
  for (auto& [key, row] : rows) {
    row.line.of = all.samples;
    lines.push_back(std::move(row.line));
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const HostLine& a, const HostLine& b) { return a.share > b.share; });
  return lines;
}

}  // namespace

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
  // A check of arguments is many ops, and so many lines of the library.
  return sampledBy(
      store, ranges,
      [](const CallSiteParts& site) {
        const std::string library = checksDistribution(site.library) ? "checks" : site.library;
        return std::tuple(site.path, site.number, library);
      },
      counts);
}

std::vector<HostLine> hostFunctions(const LiveStore& store, std::span<const TimeRange> ranges) {
  std::vector<HostLine> functions = sampledBy(
      store, ranges, [](const CallSiteParts& site) { return std::pair(site.path, site.function); });
  std::erase_if(functions, [](const HostLine& each) {
    return each.site.function.empty() || each.site.function == "<module>";
  });
  return functions;
}

bool standsOut(const HostLine& line, std::size_t lines) {
  constexpr double kLeastShare = 0.25, kSmallShare = 0.1, kMostChance = 0.05;
  // Of more samples, a quarter is too many for chance.
  constexpr double kManySamples = 100;
  if (line.share < kLeastShare) return false;
  const auto all = static_cast<double>(line.of);
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
