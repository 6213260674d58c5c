#include "report/report_memory.h"

#include <QJsonObject>
#include <algorithm>

#include "analysis/account/memory_account.h"
#include "core/plain_text.h"
#include "core/units.h"
#include "report/report_values.h"

namespace highwater::report {
namespace {

using analysis::CounterChange;
using analysis::MemoryAccount;
using analysis::MemoryCounter;
using analysis::Region;
using analysis::RegionMemory;

/// Steps of many lengths have a row each: those with the highest peaks tell enough.
constexpr std::size_t kMostRegions = 10;
/// The share of the driver's peak, 0 to 1, that a region other than the steps must add to be shown.
constexpr double kLeastShare = 0.1;

QJsonObject counterJson(const MemoryAccount& account, const RegionMemory& row,
                        MemoryCounter which) {
  const CounterChange& counter = row.of(which);
  const bool isRead = account.first[static_cast<std::size_t>(which)].has_value();
  return {{"change", orNull(isRead, static_cast<qint64>(counter.change))},
          {"peak", orNull(counter.peak > 0, integer(counter.peak))},
          {"peak_kind", orNull(counter.peak > 0, counter.exact ? "exact" : "sampled")}};
}

bool isOfSteps(const RegionMemory& row) {
  return row.region == Region::Step;
}

/// Whether a peak came outside of the steps, or much was added there after the first of them.
bool tellsMore(const MemoryAccount& account) {
  const RegionMemory* driver = account.highest(MemoryCounter::Driver);
  const RegionMemory* current = account.highest(MemoryCounter::Current);
  if (!driver || std::none_of(account.rows.begin(), account.rows.end(), isOfSteps)) return false;
  if (!isOfSteps(*driver) || (current && !isOfSteps(*current))) return true;
  const double least = kLeastShare * static_cast<double>(driver->of(MemoryCounter::Driver).peak);
  return std::any_of(account.rows.begin(), account.rows.end(), [&](const RegionMemory& row) {
    return !isOfSteps(row) && row.region != Region::StartUp &&
           static_cast<double>(row.of(MemoryCounter::Driver).change) > least;
  });
}

std::string peakText(const char* name, const CounterChange& counter) {
  if (counter.peak == 0) return std::string(name) + " not read";
  return std::string(name) + ' ' + formatBytes(counter.peak);
}

std::string changeText(const CounterChange& counter) {
  const auto bytes = static_cast<std::uint64_t>(std::abs(counter.change));
  return (counter.change > 0 ? "+" : counter.change < 0 ? "\u2212" : "") + formatBytes(bytes);
}

}  // namespace

QJsonArray memoryRegionsJson(const analysis::LiveStore& store) {
  QJsonArray all;
  const MemoryAccount account = analysis::memoryAccount(store);
  for (const RegionMemory& row : account.rows) {
    all.append(QJsonObject{
        {"region", text(analysis::regionKey(row.region))},
        {"name", textOrNull(row.name)},
        {"batch_size", orNull(row.batchSize > 0, integer(row.batchSize))},
        {"sequence_length", orNull(row.sequenceLength > 0, integer(row.sequenceLength))},
        {"count", integer(row.count)},
        {"current", counterJson(account, row, MemoryCounter::Current)},
        {"driver", counterJson(account, row, MemoryCounter::Driver)},
        {"footprint", counterJson(account, row, MemoryCounter::Footprint)}});
  }
  return all;
}

TextTable memoryRegionsTable(const analysis::LiveStore& store, bool full) {
  TextTable table(std::vector<TextTable::Align>(5, TextTable::Align::kLeft));
  table.foldFrom(2);
  MemoryAccount account = analysis::memoryAccount(store);
  if (!account.highest(MemoryCounter::Driver) || (!full && !tellsMore(account))) return table;
  const auto driverPeak = [](const RegionMemory& row) {
    return row.of(MemoryCounter::Driver).peak;
  };
  std::vector<std::uint64_t> peaks;
  for (const RegionMemory& row : account.rows) peaks.push_back(driverPeak(row));
  std::sort(peaks.rbegin(), peaks.rend());
  const std::uint64_t least = peaks.size() > kMostRegions ? peaks[kMostRegions - 1] : 0;
  std::size_t shown = 0;
  for (const RegionMemory& row : account.rows) {
    if (driverPeak(row) < least || shown == kMostRegions) continue;
    ++shown;
    const CounterChange& driver = row.of(MemoryCounter::Driver);
    const CounterChange& current = row.of(MemoryCounter::Current);
    table.add({plainText(row.text()), std::to_string(row.count) + "\u00d7",
               peakText("peak of current", current), peakText("of driver", driver),
               std::string(row.count > 1 ? "left in all" : "left") + ": current " +
                   changeText(current) + ", driver " + changeText(driver)});
  }
  if (shown < account.rows.size()) {
    table.add({"and " + std::to_string(account.rows.size() - shown) + " more (--json lists them)"});
  }
  return table;
}

}  // namespace highwater::report
