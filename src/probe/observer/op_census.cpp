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
  Row& row = rows_[key];
  row.sum.bytes += work.bytes;
  row.sum.flops += work.flops;
  ++row.calls;
  if (const double size = sizeOfWork(work); size >= row.largest) {
    row.largest = size;
    row.shapes = shapes;
  }
}

void OpCensus::record(Recorder& recorder, std::uint32_t step) {
  std::vector<std::pair<Key, Row>> rows;
  {
    const std::lock_guard lock(mutex_);
    rows.assign(rows_.begin(), rows_.end());
    rows_.clear();
    sites_.clear();
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return sizeOfWork(a.second.sum) > sizeOfWork(b.second.sum);
  });
  if (rows.size() > kMostRows) {
    Row rest;
    for (const auto& [key, row] : std::span(rows).subspan(kMostRows - 1)) {
      rest.sum.bytes += row.sum.bytes;
      rest.sum.flops += row.sum.flops;
      rest.calls += row.calls;
    }
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
