#include "analysis/op_columns.h"

#include <algorithm>
#include <limits>

#include "analysis/growing.h"

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
  return row < firstRow || row >= endRow() ? nullptr : &records[row - firstRow];
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
  // A quarter at a time, because dropping costs time for all that remain.
  if (records.size() >= kMostOps) forgetDownTo(kMostOps / 4 * 3);
  lanes[{op.thread(), op.depth()}].append(spanOf(op, endRow(), look));
  reserveOneMore(records);
  records.push_back(op);
}

void OpColumns::markLostTime(ThreadId thread, std::int64_t beginNs, std::uint8_t look) {
  for (auto lane = lanes.lower_bound({thread, 0});
       lane != lanes.end() && lane->first.first == thread && lane->first.second <= kDeepestMarked;
       ++lane) {
    if (lane->second.addCategoryBits(beginNs, look)) return;  // a nested op begins later
  }
}

void OpColumns::forgetDownTo(std::size_t most) {
  if (records.size() <= most) return;
  const std::size_t count = records.size() - most;
  for (std::size_t i = 0; i < count; ++i) {
    forgottenUpToNs = std::max(forgottenUpToNs, records[i].begin_ns() + records[i].duration_ns());
  }
  records.erase(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(count));
  firstRow += count;
  for (auto& [key, spans] : lanes) {
    std::size_t old = 0;
    while (old < spans.size() && spans[old].payload < firstRow) ++old;
    spans.dropFirst(old);
  }
}

}  // namespace highwater::analysis
