#include "analysis/op_columns.h"

#include <algorithm>
#include <limits>

namespace highwater::analysis {
namespace {

Span spanOf(const events::OpSpan& op, std::size_t row, std::uint8_t look) {
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  const std::int64_t durationNs = std::max<std::int64_t>(op.duration_ns(), 0);
  const std::int64_t endNs = op.begin_ns() > kEnd - durationNs ? kEnd : op.begin_ns() + durationNs;
  const auto phase = static_cast<std::uint8_t>(op.phase());
  return {op.begin_ns(), endNs, static_cast<std::uint32_t>(row),
          static_cast<std::uint8_t>((phase & OpLook::kPhaseMask) | look)};
}

}  // namespace

const events::OpSpan* OpColumns::at(std::size_t row) const {
  if (row >= firstRow && row < endRow()) return &records[row - firstRow];
  const std::size_t readBack = row - firstReadBackRow_;
  return row >= firstReadBackRow_ && readBack < readBack_.records.size()
             ? &readBack_.records[readBack]
             : nullptr;
}

const SpanIndex& OpColumns::laneOf(const events::OpSpan& op) const {
  static const SpanIndex kNone;
  const auto found = lanes.find({op.thread(), op.depth()});
  return found == lanes.end() ? kNone : found->second;
}

std::int64_t OpColumns::selfNs(const events::OpSpan& op) const {
  const auto children = lanes.find({op.thread(), static_cast<std::uint16_t>(op.depth() + 1)});
  if (children == lanes.end()) return op.duration_ns();
  const std::int64_t within =
      children->second.summedNs(op.begin_ns(), op.begin_ns() + op.duration_ns());
  return std::max<std::int64_t>(op.duration_ns() - within, 0);
}

void OpColumns::add(const events::OpSpan& op, std::uint8_t look) {
  // Half of them at a time, because dropping costs time for all that remain.
  if (records.size() >= most) forgetDownTo(most / 2);
  lanes[{op.thread(), op.depth()}].append(spanOf(op, endRow(), look));
  records.push_back(op);
}

void OpColumns::markLostTime(ThreadId thread, std::int64_t beginNs, std::uint8_t look) {
  for (auto lane = lanes.lower_bound({thread, 0});
       lane != lanes.end() && lane->first.first == thread && lane->first.second <= kDeepestMarked;
       ++lane) {
    if (lane->second.addCategoryBits(beginNs, look)) return;  // a nested op begins later
  }
}

void OpColumns::forgetDownTo(std::size_t count) {
  dropReadBack();
  if (records.size() <= count) return;
  const std::size_t dropped = records.size() - count;
  for (std::size_t i = 0; i < dropped; ++i) {
    forgottenUpToNs = std::max(forgottenUpToNs, records[i].begin_ns() + records[i].duration_ns());
  }
  records.erase(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(dropped));
  firstRow += dropped;
  for (auto& [key, spans] : lanes) {
    spans.eraseIf([this](const Span& span) { return span.payload < firstRow; });
  }
}

void OpColumns::showReadBack(ReadBack ops,
                             const std::function<std::uint8_t(const events::OpSpan&)>& lookOf) {
  dropReadBack();
  // What ended after the last dropped op may still be here.
  std::erase_if(ops.records, [this](const events::OpSpan& op) {
    bool isHere = false;
    laneOf(op).eachAt(op.begin_ns(), [&isHere](const Span&) { return isHere = true; });
    return isHere;
  });
  constexpr std::size_t kEnd = std::numeric_limits<std::uint32_t>::max();
  if (firstReadBackRow_ + ops.records.size() > kEnd) firstReadBackRow_ = kReadBackRows;
  readBack_ = std::move(ops);
  std::map<LaneKey, std::vector<Span>> spans;
  for (std::size_t i = 0; i < readBack_.records.size(); ++i) {
    const events::OpSpan& op = readBack_.records[i];
    spans[{op.thread(), op.depth()}].push_back(spanOf(op, firstReadBackRow_ + i, lookOf(op)));
  }
  for (auto& [key, each] : spans) lanes[key].insert(std::move(each));
}

void OpColumns::dropReadBack() {
  if (readBack_.beginNs == readBack_.endNs) return;
  for (auto& [key, spans] : lanes) {
    spans.eraseIf([](const Span& span) { return span.payload >= kReadBackRows; });
  }
  firstReadBackRow_ += readBack_.records.size();
  readBack_ = {};
}

bool OpColumns::isMissing(std::int64_t beginNs, std::int64_t endNs) const {
  const std::int64_t neededUpToNs = std::min(endNs, forgottenUpToNs);
  if (beginNs >= neededUpToNs) return false;
  return beginNs < readBack_.beginNs || neededUpToNs > readBack_.endNs;
}

}  // namespace highwater::analysis
