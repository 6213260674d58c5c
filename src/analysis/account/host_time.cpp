#include "analysis/account/host_time.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "analysis/account/host_lines.h"

namespace highwater::analysis {
namespace {

/// The host's work in one part of the run.
struct PartWork {
  std::int64_t ns = 0;
  std::vector<TimeRange> sampled;  ///< the spans of it that have host samples
};

std::map<Part, PartWork> workOfParts(const LiveStore& store, const TimeRange& range) {
  std::map<Part, PartWork> parts;
  const auto& samples = store.hostSamples();
  auto sample = samples.begin();
  walkAccount(store, range, [&](const AccountSpan& span) {
    if (span.activity != Activity::Work) return;
    PartWork& work = parts[span.part];
    work.ns += span.ns();
    while (sample != samples.end() && sample->time_ns() < span.beginNs) ++sample;
    if (sample != samples.end() && sample->time_ns() < span.endNs) {
      work.sampled.push_back({span.beginNs, span.endNs});
    }
  });
  return parts;
}

/// Sets the bounds of a row whose share of `work` was sampled.
void setBounds(HostTimeRow& row, double share, std::uint64_t of, std::int64_t workNs) {
  constexpr double kZ = 1.96, kSquare = kZ * kZ;
  const auto n = static_cast<double>(of);
  const double middle = (share + kSquare / (2 * n)) / (1 + kSquare / n);
  const double reach =
      kZ / (1 + kSquare / n) * std::sqrt(share * (1 - share) / n + kSquare / (4 * n * n));
  const auto ofWork = [workNs](double part) {
    return std::llround(std::clamp(part, 0.0, 1.0) * static_cast<double>(workNs));
  };
  row.lowNs = ofWork(middle - reach);
  row.highNs = ofWork(middle + reach);
}

void addWork(const LiveStore& store, const TimeRange& range, std::vector<HostTimeRow>& rows) {
  for (const auto& [part, work] : workOfParts(store, range)) {
    HostTimeRow row;
    row.part = part;
    if (work.sampled.empty()) {
      row.ns = row.lowNs = row.highNs = work.ns;
      rows.push_back(std::move(row));
      continue;
    }
    // Of a line with several calls of libraries, the one with the most samples.
    std::map<std::tuple<std::string, std::uint32_t, bool>, HostLine> lines;
    for (HostLine& each : hostLines(store, work.sampled)) {
      const bool isHighwaters = each.site.library == kHighwaters;
      const auto [at, isNew] =
          lines.try_emplace({each.site.path, each.site.number, isHighwaters}, each);
      if (isNew) continue;
      at->second.samples += each.samples;
      at->second.share += each.share;
    }
    for (auto& [key, line] : lines) {
      row.id = line.id;
      row.site = std::move(line.site);
      row.samples = line.samples;
      row.ns = std::llround(line.share * static_cast<double>(work.ns));
      setBounds(row, line.share, line.of, work.ns);
      rows.push_back(row);
    }
  }
}

}  // namespace

std::vector<HostTimeRow> hostTime(const LiveStore& store, std::optional<TimeRange> range) {
  const TimeAccount account = accountTime(store, range);
  std::vector<HostTimeRow> rows;
  addWork(store, account.range, rows);
  std::map<std::tuple<Part, Activity, bool, std::string, std::uint32_t>, HostTimeRow> events;
  for (const AccountRow& each : account.rows) {
    if (each.activity == Activity::Work) continue;
    const bool startsLoader = each.activity == Activity::LoaderStart;
    const CallSiteId id = startsLoader ? store.callSiteOfName(each.part.name) : each.site;
    CallSiteParts site = store.callSiteParts(id);
    const auto [at, isNew] = events.try_emplace(
        {each.part, each.activity, each.planned, site.path, site.number}, HostTimeRow());
    HostTimeRow& row = at->second;
    if (isNew) {  // the longest comes first: of several calls of a line it is the one to name
      row.part = each.part;
      row.activity = each.activity;
      row.planned = each.planned;
      row.id = id;
      row.site = std::move(site);
    }
    row.ns += each.ns;
    row.count += each.count;
  }
  for (auto& [key, row] : events) {
    row.lowNs = row.highNs = row.ns;
    rows.push_back(std::move(row));
  }
  std::erase_if(rows, [](const HostTimeRow& each) {
    return each.part.region == Region::Pause || each.part.region == Region::Highwater;
  });
  std::stable_sort(rows.begin(), rows.end(),
                   [](const HostTimeRow& a, const HostTimeRow& b) { return a.ns > b.ns; });
  return rows;
}

}  // namespace highwater::analysis
