#include "analysis/device/waited_ops.h"

#include <utility>

#include "core/event_kinds.h"

namespace highwater::analysis {
namespace {

/// A wait follows another at once if that is not longer ago than this part of it.
constexpr std::int64_t kAtOncePart = 10;

}  // namespace

bool readsOwnValues(events::SyncKind kind) {
  return kind == events::SyncKind::Nonzero || kind == events::SyncKind::Unique ||
         kind == events::SyncKind::ValueRead;
}

bool waitsForOneOp(const LiveStore& store, const events::SyncPoint& before,
                   const events::SyncPoint& wait) {
  if (!readsOwnValues(wait.kind()) || before.kind() != wait.kind()) return false;
  if (before.thread() != wait.thread() || before.step() != wait.step()) return false;
  const std::int64_t sinceNs = wait.begin_ns() - endNsOf(before);
  if (sinceNs < 0 || sinceNs > wait.duration_ns() / kAtOncePart) return false;
  const CallSiteParts site = store.callSiteParts(wait.call_site());
  const CallSiteParts last = store.callSiteParts(before.call_site());
  return !site.line.empty() && site.path == last.path && site.line == last.line;
}

std::map<std::string, WaitedOps> waitedOps(const LiveStore& store) {
  const auto& steps = store.steps().records;
  if (steps.empty()) return {};
  const auto allNs = static_cast<double>(endNsOf(steps.back()) - steps.front().begin_ns());
  if (allNs <= 0) return {};
  std::map<std::string, WaitedOps> byLine;
  std::map<CallSiteId, WaitedOps*> bySite;  // the nodes of a map stay where they are
  const events::SyncPoint* before = nullptr;
  const SpanIndex& lane = store.syncLane();
  for (std::size_t i = 0; i < lane.size(); ++i) {
    const events::SyncPoint& wait = store.syncPoints()[lane[i].payload];
    const events::SyncPoint* last = std::exchange(before, &wait);
    // Step 0 is what lies outside of the steps.
    if (wait.step() == 0 || !readsOwnValues(wait.kind())) continue;
    WaitedOps*& ops = bySite[wait.call_site()];
    if (!ops) {
      const CallSiteParts site = store.callSiteParts(wait.call_site());
      ops = &byLine[site.path + site.line];
    }
    ops->most += static_cast<double>(wait.duration_ns()) / allNs;
    if (last && waitsForOneOp(store, *last, wait)) {
      ops->least += static_cast<double>(endNsOf(wait) - endNsOf(*last)) / allNs;
    }
  }
  std::erase_if(byLine, [](const auto& each) { return each.second.least <= 0; });
  return byLine;
}

}  // namespace highwater::analysis
