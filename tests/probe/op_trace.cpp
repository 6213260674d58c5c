#include "op_trace.h"

#include <algorithm>

namespace highwater::test {
namespace {

std::string describe(const OpTrace& trace, std::size_t at) {
  if (at >= trace.size()) return "nothing";
  return trace[at].name + " at depth " + std::to_string(trace[at].depth);
}

}  // namespace

void nestByTime(OpTrace& trace) {
  std::stable_sort(trace.begin(), trace.end(), [](const TracedOp& a, const TracedOp& b) {
    return a.beginNs != b.beginNs ? a.beginNs < b.beginNs : a.durationNs > b.durationNs;
  });
  std::vector<const TracedOp*> open;
  for (TracedOp& op : trace) {
    while (!open.empty() && open.back()->beginNs + open.back()->durationNs <= op.beginNs) {
      open.pop_back();
    }
    op.depth = static_cast<std::uint32_t>(open.size());
    open.push_back(&op);
  }
}

std::string firstDifference(const OpTrace& probe, const OpTrace& kineto) {
  const std::size_t count = std::max(probe.size(), kineto.size());
  for (std::size_t i = 0; i < count; ++i) {
    const bool both = i < probe.size() && i < kineto.size();
    if (both && probe[i].name == kineto[i].name && probe[i].depth == kineto[i].depth) continue;
    return "op " + std::to_string(i) + " of " + std::to_string(probe.size()) + " and " +
           std::to_string(kineto.size()) + ": the probe has " + describe(probe, i) +
           ", kineto has " + describe(kineto, i) +
           (i > 0 ? ", after " + describe(kineto, i - 1) : std::string());
  }
  return {};
}

}  // namespace highwater::test
