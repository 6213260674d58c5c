#include "probe/observer/op_census.h"

#include <algorithm>
#include <span>
#include <vector>

namespace highwater::probe {
namespace {

/// Orders amounts of work: Apple's GPUs do some 35 operations in the time in which they move a
/// byte.
double sizeOfWork(const OpCensus::Work& work) {
  return static_cast<double>(work.bytes) + static_cast<double>(work.flops) / 35;
}

}  // namespace

void OpCensus::noteForward(NodeNumber node, CallSiteId site) {
  const std::lock_guard lock(mutex_);
  // An op without a gradient before it has peeked at the same number.
  sites_[node] = site;
}

CallSiteId OpCensus::forwardSite(NodeNumber node) const {
  const std::lock_guard lock(mutex_);
  const auto found = sites_.find(node);
  return found == sites_.end() ? kNoId : found->second;
}

void OpCensus::add(const Key& key, Work work, NameId shapes) {
  const std::lock_guard lock(mutex_);
  (isNext_ ? next_ : rows_)[key].add(
      {.sum = work, .calls = 1, .shapes = shapes, .largest = sizeOfWork(work)});
}

void OpCensus::Row::add(const Row& other) {
  sum.bytes += other.sum.bytes;
  sum.flops += other.sum.flops;
  calls += other.calls;
  if (other.largest >= largest) {
    largest = other.largest;
    shapes = other.shapes;
  }
}

void OpCensus::joinNext() {
  for (const auto& [key, row] : next_) rows_[key].add(row);
  next_.clear();
  isNext_ = false;
}

void OpCensus::nextMayBegin() {
  const std::lock_guard lock(mutex_);
  joinNext();
  isNext_ = true;
}

void OpCensus::dropBefore(bool keepNext) {
  const std::lock_guard lock(mutex_);
  rows_.clear();
  if (!keepNext) next_.clear();
  joinNext();
}

void OpCensus::record(Recorder& recorder, std::uint32_t step, bool withNext) {
  std::vector<std::pair<Key, Row>> rows;
  {
    const std::lock_guard lock(mutex_);
    if (!withNext) next_.clear();
    joinNext();
    rows.assign(rows_.begin(), rows_.end());
    rows_.clear();
    sites_.clear();
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return sizeOfWork(a.second.sum) > sizeOfWork(b.second.sum);
  });
  if (rows.size() > kMostRows) {
    Row rest;
    for (const auto& [key, row] : std::span(rows).subspan(kMostRows - 1)) rest.add(row);
    rest.shapes = kNoId;
    rows.resize(kMostRows - 1);
    rows.emplace_back(Key{.op = kOtherId}, rest);
  }
  for (const auto& [key, row] : rows) {
    recorder.record([&, &key = key, &row = row](std::int64_t nowNs) {
      return events::OpWork(nowNs, row.sum.bytes, row.sum.flops, step, row.calls, key.op,
                            key.module, key.site, row.shapes, key.phase,
                            static_cast<std::uint8_t>(key.isBackward));
    });
  }
}

}  // namespace highwater::probe
