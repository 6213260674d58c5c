#include "report/report_account.h"

#include <algorithm>
#include <map>

#include <QJsonArray>

#include "core/names.h"
#include "core/plain_text.h"
#include "core/units.h"
#include "report/report_values.h"

namespace highwater::report {
namespace {

using analysis::AccountRow;
using analysis::Activity;
using analysis::LiveStore;
using analysis::Region;
using analysis::TimeAccount;

std::int64_t lengthOf(const TimeAccount& account) {
  return account.range.endNs - account.range.beginNs;
}

std::string shareText(std::int64_t ns, std::int64_t allNs) {
  const double percent = 100.0 * static_cast<double>(ns) / static_cast<double>(allNs);
  return (percent > 0 && percent < 1 ? "under 1" : formatDecimals(percent, 0)) + " %";
}

/// A part of a region, by its text: parts that read alike are one row.
struct PartSum {
  std::int64_t ns = 0, waitNs = 0, fallbackNs = 0;
};

std::map<std::pair<Region, std::string>, PartSum> partsOf(const LiveStore& store,
                                                          const TimeAccount& account) {
  std::map<std::pair<Region, std::string>, PartSum> parts;
  for (const AccountRow& row : account.rows) {
    PartSum& sum = parts[{row.part.region, partText(store, row.part)}];
    sum.ns += row.ns;
    if (row.activity == Activity::Wait) sum.waitNs += row.ns;
    if (row.activity == Activity::Fallback) sum.fallbackNs += row.ns;
  }
  return parts;
}

std::string noteOf(const PartSum& sum) {
  std::string note;
  const auto add = [&](std::int64_t ns, const char* what) {
    if (ns > 0) note += (note.empty() ? "" : ", ") + formatDuration(ns) + ' ' + what;
  };
  add(sum.waitNs, "waiting for the device");
  add(sum.fallbackNs, "in ops on the CPU");
  return note;
}

}  // namespace

std::string accountLine(const TimeAccount& account) {
  if (lengthOf(account) <= 0) return {};
  std::vector<std::pair<std::int64_t, Region>> regions;
  for (std::size_t i = 0; i < analysis::kRegions; ++i) {
    const auto region = static_cast<Region>(i);
    if (const std::int64_t ns = account.nsIn(region); ns > 0) regions.emplace_back(ns, region);
  }
  std::stable_sort(regions.begin(), regions.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string line = formatDuration(lengthOf(account));
  for (std::size_t i = 0; i < regions.size(); ++i) {
    const auto& [ns, region] = regions[i];
    line += (i == 0 ? ": " : ", ") + std::string(regionName(region)) + ' ' +
            shareText(ns, lengthOf(account));
  }
  return line;
}

TextTable accountTable(const LiveStore& store, const TimeAccount& account) {
  using Align = TextTable::Align;
  TextTable table({Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kLeft});
  constexpr std::size_t kWidestPart = 24;
  table.limit(1, kWidestPart);
  table.foldFrom(4);
  const auto parts = partsOf(store, account);
  for (std::size_t i = 0; i < analysis::kRegions; ++i) {
    std::vector<std::pair<std::string, PartSum>> ofRegion;
    for (const auto& [key, sum] : parts) {
      if (key.first == static_cast<Region>(i)) ofRegion.emplace_back(key.second, sum);
    }
    std::stable_sort(ofRegion.begin(), ofRegion.end(),
                     [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
    const auto which = static_cast<Region>(i);
    std::string region(regionName(which));
    // The steps are counted above.
    if (which != Region::Step && (account.visits[i] > 1 || which == Region::Evaluation)) {
      region += " (" + std::to_string(account.visits[i]) + "\u00d7)";
    }
    for (const auto& [name, sum] : ofRegion) {
      table.add({region, name == regionName(which) ? "" : plainText(name), formatDuration(sum.ns),
                 shareText(sum.ns, lengthOf(account)), noteOf(sum)});
      region.clear();
    }
  }
  return table;
}

QJsonObject accountJson(const LiveStore& store, const TimeAccount& account) {
  QJsonArray regions, rows;
  for (std::size_t i = 0; i < analysis::kRegions; ++i) {
    const auto region = static_cast<Region>(i);
    const std::int64_t ns = account.nsIn(region);
    if (ns <= 0) continue;
    regions.append(QJsonObject{{"region", text(regionKey(region))},
                               {"count", integer(account.visits[i])},
                               {"total_ms", real(toMs(ns))}});
  }
  for (const AccountRow& row : account.rows) {
    const bool isEvent = row.activity == Activity::Wait || row.activity == Activity::Fallback;
    rows.append(QJsonObject{
        {"region", text(regionKey(row.part.region))},
        {"part", text(partText(store, row.part))},
        {"activity", text(activityKey(row.activity))},
        {"kind", row.activity == Activity::Wait ? text(syncKindKey(row.kind)) : QJsonValue()},
        {"planned", row.activity == Activity::Wait ? QJsonValue(row.planned) : QJsonValue()},
        {"op", isEvent ? text(store.name(row.op)) : QJsonValue()},
        {"module", textOrNull(store.modulePath(row.module))},
        {"line", textOrNull(store.callSiteParts(row.site).line)},
        {"count", isEvent ? integer(row.count) : QJsonValue()},
        {"total_ms", real(toMs(row.ns))}});
  }
  return {{"range_ms", real(toMs(lengthOf(account)))}, {"regions", regions}, {"rows", rows}};
}

}  // namespace highwater::report
