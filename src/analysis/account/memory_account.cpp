#include "analysis/account/memory_account.h"

#include <algorithm>
#include <limits>
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

/// A stay in a region.
struct RegionStay {
  TimeRange time;
  std::size_t row = 0;  ///< of the account
};

/// Adds up the readings of one counter. Stays and readings both come in order of time, so that
/// each of the two is walked once.
class CounterSum {
 public:
  CounterSum(const std::vector<RegionStay>& stays, MemoryCounter counter, MemoryAccount& account)
      : stays_(stays), counter_(counter), account_(account) {}

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
    while (at_ + 1 < stays_.size() && stays_[at_].time.endNs <= ns) ++at_;
    return stays_[at_].row;
  }

  /// The row in which most of the time from the last reading to this one lies.
  std::size_t rowOfChange(std::int64_t ns) {
    rowAt(lastNs_);
    shares_.clear();
    for (std::size_t i = at_; i < stays_.size() && stays_[i].time.beginNs < ns; ++i) {
      const TimeRange& time = stays_[i].time;
      const std::int64_t share = std::min(time.endNs, ns) - std::max(time.beginNs, lastNs_);
      if (share > 0) shares_[stays_[i].row] += share;
    }
    if (shares_.empty()) return rowAt(ns);
    return std::max_element(shares_.begin(), shares_.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }

  const std::vector<RegionStay>& stays_;
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

/// Makes the rows of an account, and the stays in their regions.
class RegionRows {
 public:
  RegionRows(const LiveStore& store, MemoryAccount& account) : store_(store), account_(account) {}

  /// The row of a region; `step` only of Region::Step.
  std::size_t of(Region region, NameId name, const events::StepRecord* step) {
    const std::uint32_t batch = step ? step->batch_size() : 0;
    const std::uint32_t length = step ? step->sequence_length() : 0;
    const NameId own = region == Region::NamedPhase ? name : kNoId;
    const auto [place, isNew] =
        places_.try_emplace({region, own, batch, length}, account_.rows.size());
    if (isNew) {
      RegionMemory& row = account_.rows.emplace_back();
      row.region = region;
      if (own != kNoId) row.name = store_.name(own);
      row.batchSize = batch;
      row.sequenceLength = length;
    }
    return place->second;
  }

  /// The stays that touch a range, in order of time and without gaps; of the whole run the first
  /// begins, and the last ends, beyond all readings.
  std::vector<RegionStay> stays(const std::optional<TimeRange>& range) {
    std::vector<RegionStay> stays;
    std::pair<Region, std::uint32_t> before{};
    walkAccount(store_, range.value_or(wholeRun(store_)), [&](const AccountSpan& span) {
      const auto& records = store_.steps().records;
      const Region region = span.part.region;
      const std::size_t row =
          of(region, span.part.name, region == Region::Step ? &records[span.row] : nullptr);
      const std::pair stay{region, span.visit};
      if (!stays.empty() && stay == before && stays.back().row == row) {
        stays.back().time.endNs = span.endNs;
        return;
      }
      before = stay;
      stays.push_back({{span.beginNs, span.endNs}, row});
      if (region != Region::Step) ++account_.rows[row].count;
    });
    if (stays.empty()) stays.push_back({{}, of(Region::StartUp, kNoId, nullptr)});
    stays.front().time.beginNs = std::numeric_limits<std::int64_t>::min();
    stays.back().time.endNs = std::numeric_limits<std::int64_t>::max();
    return stays;
  }

 private:
  const LiveStore& store_;
  MemoryAccount& account_;
  std::map<std::tuple<Region, NameId, std::uint32_t, std::uint32_t>, std::size_t> places_;
};

}  // namespace

CounterChange& RegionMemory::of(MemoryCounter counter) {
  return counters[static_cast<std::size_t>(counter)];
}

const CounterChange& RegionMemory::of(MemoryCounter counter) const {
  return counters[static_cast<std::size_t>(counter)];
}

std::string RegionMemory::text() const {
  if (region == Region::NamedPhase) return name;
  std::string text(regionName(region));
  if (region != Region::Step || batchSize == 0) return text;
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
  MemoryAccount account;
  RegionRows rows(store, account);
  const std::vector<RegionStay> stays = rows.stays(range);
  for (const events::StepRecord& step : store.steps().records) {
    const std::int64_t endNs = step.begin_ns() + step.duration_ns();
    if (range && (step.begin_ns() < range->beginNs || endNs > range->endNs)) continue;
    RegionMemory& row = account.rows[rows.of(Region::Step, kNoId, &step)];
    ++row.count;
    raise(row.of(MemoryCounter::Current), step.peak_current_bytes(),
          step.peak_current_exact() != 0);
    raise(row.of(MemoryCounter::Driver), step.peak_driver_bytes(), false);
  }
  // The allocator's own peaks since the phase before, which an evaluation has too.
  for (const events::PhaseMemory& each : store.phaseMemory()) {
    if (range && (each.time_ns() < range->beginNs || each.time_ns() > range->endNs)) continue;
    const auto stay = std::partition_point(stays.begin(), stays.end(), [&](const RegionStay& one) {
      return one.time.endNs <= each.time_ns();
    });
    if (stay == stays.end()) continue;
    raise(account.rows[stay->row].of(MemoryCounter::Current), each.peak_current_bytes(), true);
  }
  for (const MemoryCounter counter : kCounters) {
    const bool isOfProcess = counter == MemoryCounter::Footprint;
    addReadings(isOfProcess ? store.system().timesNs : store.memory().timesNs,
                isOfProcess                        ? store.system().footprint
                : counter == MemoryCounter::Driver ? store.memory().driver
                                                   : store.memory().current,
                range, CounterSum(stays, counter, account));
  }
  return account;
}

}  // namespace highwater::analysis
