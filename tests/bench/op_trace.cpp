#include "bench/op_trace.h"

#include <algorithm>
#include <map>

#include "bench/paired.h"

namespace highwater::bench {
namespace {

std::string describe(const OpTrace& trace, std::size_t at) {
  if (at >= trace.size()) return "nothing";
  return trace[at].name + " at depth " + std::to_string(trace[at].depth);
}

struct Calls {
  std::vector<double> probeNs, kinetoNs, children, apartNs, beginApartNs;
};

}  // namespace

void nestByTime(OpTrace& trace) {
  std::stable_sort(trace.begin(), trace.end(), [](const TracedOp& a, const TracedOp& b) {
    return a.beginNs != b.beginNs ? a.beginNs < b.beginNs : a.durationNs > b.durationNs;
  });
  std::vector<TracedOp*> open;
  for (TracedOp& op : trace) {
    while (!open.empty() && open.back()->beginNs + open.back()->durationNs <= op.beginNs) {
      open.pop_back();
    }
    op.depth = static_cast<std::uint32_t>(open.size());
    op.children = 0;
    if (!open.empty()) ++open.back()->children;
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

double OpMedians::boundNs() const {
  return isLong() ? 0.05 * kinetoNs : 500 * (1 + children);
}

double OpMedians::excess() const {
  return apartNs / boundNs();
}

std::vector<OpMedians> mediansByName(const std::vector<OpTrace>& probe,
                                     const std::vector<OpTrace>& kineto) {
  std::map<std::string, Calls> byName;
  for (std::size_t thread = 0; thread < probe.size(); ++thread) {
    for (std::size_t i = 0; i < probe[thread].size(); ++i) {
      const TracedOp& op = probe[thread][i];
      const TracedOp& other = kineto[thread][i];
      Calls& calls = byName[op.name];
      calls.probeNs.push_back(static_cast<double>(op.durationNs));
      calls.kinetoNs.push_back(static_cast<double>(other.durationNs));
      calls.children.push_back(op.children);
      calls.apartNs.push_back(static_cast<double>(op.durationNs - other.durationNs));
      calls.beginApartNs.push_back(static_cast<double>(other.beginNs - op.beginNs));
    }
  }
  std::vector<OpMedians> medians;
  for (auto& [name, calls] : byName) {
    medians.push_back({name, calls.probeNs.size(), medianOf(calls.probeNs),
                       medianOf(calls.kinetoNs), medianOf(calls.children), medianOf(calls.apartNs),
                       medianOf(calls.beginApartNs)});
  }
  return medians;
}

}  // namespace highwater::bench
