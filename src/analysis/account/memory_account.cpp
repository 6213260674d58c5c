#include "analysis/account/memory_account.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace highwater::analysis {
namespace {

constexpr std::array kCounters = {MemoryCounter::Current, MemoryCounter::Driver,
                                  MemoryCounter::Footprint};

void raise(CounterChange& counter, std::uint64_t bytes, bool exact) {
  if (bytes < counter.peak || (bytes == counter.peak && !exact)) return;
  counter.peak = bytes;
  counter.exact = exact;
}

/// Adds up the readings of one counter. Regions and readings both come in order of time, so that
/// each of the two is walked once.
class CounterSum {
 public:
  CounterSum(const std::vector<RunRegion>& regions, const std::vector<std::size_t>& rowOf,
             MemoryCounter counter, MemoryAccount& account)
      : regions_(regions), rowOf_(rowOf), counter_(counter), account_(account) {}

  void add(std::int64_t ns, double reading) {
    if (!(reading >= 0)) return;  // unknown
    const auto bytes = static_cast<std::int64_t>(reading);
    auto& first = account_.first[static_cast<std::size_t>(counter_)];
    auto& last = account_.last[static_cast<std::size_t>(counter_)];
    if (!first) first = bytes;
    const std::int64_t change = bytes - last.value_or(bytes);
    // What a reading says of a counter that grew is of the row that made it grow.
    const std::size_t row = change == 0 ? rowAt(ns) : rowOfChange(ns);
    CounterChange& sum = account_.rows[change < 0 ? rowAt(ns) : row].of(counter_);
    ++sum.readings;
    raise(sum, static_cast<std::uint64_t>(bytes), false);
    account_.rows[row].of(counter_).change += change;
    last = bytes;
    lastNs_ = ns;
  }

 private:
  std::size_t rowAt(std::int64_t ns) {
    while (at_ + 1 < regions_.size() && regions_[at_].time.endNs <= ns) ++at_;
    return rowOf_[at_];
  }

  /// The row in which most of the time from the last reading to this one lies.
  std::size_t rowOfChange(std::int64_t ns) {
    rowAt(lastNs_);
    shares_.clear();
    for (std::size_t i = at_; i < regions_.size() && regions_[i].time.beginNs < ns; ++i) {
      const TimeRange& time = regions_[i].time;
      const std::int64_t share = std::min(time.endNs, ns) - std::max(time.beginNs, lastNs_);
      if (share > 0) shares_[rowOf_[i]] += share;
    }
    if (shares_.empty()) return rowAt(ns);
    return std::max_element(shares_.begin(), shares_.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }

  const std::vector<RunRegion>& regions_;
  const std::vector<std::size_t>& rowOf_;
  MemoryCounter counter_;
  MemoryAccount& account_;
  std::map<std::size_t, std::int64_t> shares_;
  std::size_t at_ = 0;
  std::int64_t lastNs_ = 0;
};

void addReadings(const std::vector<std::int64_t>& timesNs, const SeriesPyramid& values,
                 const std::optional<TimeRange>& range, CounterSum sum) {
  const auto from =
      range ? std::lower_bound(timesNs.begin(), timesNs.end(), range->beginNs) : timesNs.begin();
  const auto to = range ? std::lower_bound(from, timesNs.end(), range->endNs) : timesNs.end();
  for (auto at = from; at != to; ++at) {
    sum.add(*at, values[static_cast<std::size_t>(at - timesNs.begin())]);
  }
}

}  // namespace

CounterChange& RegionMemory::of(MemoryCounter counter) {
  return counters[static_cast<std::size_t>(counter)];
}

const CounterChange& RegionMemory::of(MemoryCounter counter) const {
  return counters[static_cast<std::size_t>(counter)];
}

std::string RegionMemory::text() const {
  if (kind == RegionKind::NamedPhase) return name;
  std::string text(regionName(kind));
  if (kind != RegionKind::Step || batchSize == 0) return text;
  text += " of batch " + std::to_string(batchSize);
  return sequenceLength == 0 ? text : text + " \u00d7 " + std::to_string(sequenceLength);
}

std::int64_t MemoryAccount::change(MemoryCounter counter) const {
  const auto i = static_cast<std::size_t>(counter);
  return first[i] && last[i] ? *last[i] - *first[i] : 0;
}

const RegionMemory* MemoryAccount::highest(MemoryCounter counter) const {
  const auto found = std::max_element(rows.begin(), rows.end(),
                                      [counter](const RegionMemory& a, const RegionMemory& b) {
                                        return a.of(counter).peak < b.of(counter).peak;
                                      });
  return found == rows.end() || found->of(counter).peak == 0 ? nullptr : &*found;
}

MemoryAccount memoryAccount(const LiveStore& store, std::optional<TimeRange> range) {
  std::vector<RunRegion> regions = regionsOf(store);
  if (range) {
    std::erase_if(regions, [&](const RunRegion& each) {
      return each.time.endNs <= range->beginNs || each.time.beginNs >= range->endNs;
    });
  }
  MemoryAccount account;
  if (regions.empty()) return account;
  std::map<std::tuple<RegionKind, NameId, std::uint32_t, std::uint32_t>, std::size_t> places;
  std::vector<std::size_t> rowOf;
  rowOf.reserve(regions.size());
  for (const RunRegion& region : regions) {
    RegionMemory fresh;
    fresh.kind = region.kind;
    const events::StepRecord* step = nullptr;
    if (region.kind == RegionKind::Step) {
      step = &store.steps().records[region.stepRow];
      fresh.batchSize = step->batch_size();
      fresh.sequenceLength = step->sequence_length();
    }
    const auto [place, isNew] = places.try_emplace(
        {region.kind, region.name, fresh.batchSize, fresh.sequenceLength}, account.rows.size());
    if (isNew) {
      if (region.kind == RegionKind::NamedPhase) fresh.name = store.name(region.name);
      account.rows.push_back(std::move(fresh));
    }
    RegionMemory& row = account.rows[place->second];
    ++row.count;
    rowOf.push_back(place->second);
    const bool isWhole =
        !range || (region.time.beginNs >= range->beginNs && region.time.endNs <= range->endNs);
    if (!step || !isWhole) continue;
    raise(row.of(MemoryCounter::Current), step->peak_current_bytes(),
          step->peak_current_exact() != 0);
    raise(row.of(MemoryCounter::Driver), step->peak_driver_bytes(), false);
  }
  // The allocator's own peaks since the phase before, which an evaluation has too.
  for (const events::PhaseMemory& each : store.phaseMemory()) {
    const auto region = std::partition_point(
        regions.begin(), regions.end(),
        [&](const RunRegion& one) { return one.time.endNs <= each.time_ns(); });
    if (region == regions.end() || each.time_ns() < region->time.beginNs) continue;
    const auto row = rowOf[static_cast<std::size_t>(region - regions.begin())];
    raise(account.rows[row].of(MemoryCounter::Current), each.peak_current_bytes(), true);
  }
  for (const MemoryCounter counter : kCounters) {
    const bool isOfProcess = counter == MemoryCounter::Footprint;
    addReadings(isOfProcess ? store.system().timesNs : store.memory().timesNs,
                isOfProcess                        ? store.system().footprint
                : counter == MemoryCounter::Driver ? store.memory().driver
                                                   : store.memory().current,
                range, CounterSum(regions, rowOf, counter, account));
  }
  return account;
}

}  // namespace highwater::analysis
