#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analysis/device/device_path.h"
#include "analysis/findings/finding_rules.h"
#include "core/names.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

/// Adds up the events of one finding.
struct LostTime {
  std::int64_t totalNs = 0;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::map<std::string, std::int64_t> nsByOp;
  std::map<std::string, std::int64_t> nsByPlace;
  std::set<std::uint32_t> steps;

  template <typename Event>
  void add(const LiveStore& store, const Event& event, std::uint64_t eventBytes) {
    totalNs += event.duration_ns();
    ++count;
    bytes += eventBytes;
    nsByOp[store.name(event.op())] += event.duration_ns();
    nsByPlace[placeOf(store, event)] += event.duration_ns();
    steps.insert(event.step());
  }

  template <typename Event>
  static std::string placeOf(const LiveStore& store, const Event& event) {
    std::string place(phaseName(event.phase()));
    for (const std::string& more :
         {store.modulePath(event.module_id()), store.callSite(event.call_site())}) {
      if (!more.empty()) place += ", " + more;
    }
    return place;
  }

  /// Fills in the finding from the events.
  void describe(Finding& finding) const {
    finding.count = count;
    finding.firstStep = *steps.begin();
    finding.lastStep = *steps.rbegin();
    std::vector<std::pair<std::int64_t, std::string>> byCost;
    for (const auto& [op, ns] : nsByOp) byCost.emplace_back(-ns, op);
    std::sort(byCost.begin(), byCost.end());
    for (const auto& [ns, op] : byCost) finding.ops.push_back(op);
    finding.where = std::max_element(nsByPlace.begin(), nsByPlace.end(), [](auto& a, auto& b) {
                      return a.second < b.second;
                    })->first;
    finding.evidence = std::to_string(count) + " times in " + std::to_string(steps.size()) +
                       " steps (" + std::to_string(finding.firstStep) + " to " +
                       std::to_string(finding.lastStep) + "), most " +
                       (finding.where.starts_with("outside") ? "" : "in ") + finding.where + ", " +
                       formatBytes(bytes) + " moved";
  }
};

bool readsLossEachStep(const CheckedSteps& steps) {
  const auto reads = std::count_if(steps.records.begin(), steps.records.end(),
                                   [](const auto& record) { return record.loss_read() != 0; });
  return static_cast<double>(reads) >= kEveryStepShare * static_cast<double>(steps.records.size());
}

void addChattyLogging(const CheckedSteps& steps, const LostTime& lost, Findings& findings) {
  const double costMs = steps.perStepMs(lost.totalNs);
  Finding finding = steps.ofTime(FindingKind::ChattyLogging, costMs);
  if (finding.weight < kLeastLostShare) return;
  lost.describe(finding);
  finding.title = "Chatty logging: the host waits " + costText(costMs) + " to read values";
  finding.advice =
      "read and print the loss only every few steps; until then sum it up on the device";
  findings.found.push_back(std::move(finding));
}

void addSyncPoint(const CheckedSteps& steps, const LostTime& lost, Findings& findings) {
  const double costMs = steps.perStepMs(lost.totalNs);
  Finding finding = steps.ofTime(FindingKind::SyncPoint, costMs);
  if (finding.weight < kLeastLostShare) return;
  lost.describe(finding);
  finding.title =
      "Unplanned sync point: " + finding.ops.front() + " makes the host wait " + costText(costMs);
  finding.advice = "move it out of the step, or keep the value on the device";
  findings.found.push_back(std::move(finding));
}

/// The median backend switches of a step; empty if none is unplanned.
std::string switchesText(const PathSummary& paths) {
  if (paths.unplannedP50 < 1) return {};
  const auto count = [](double median) { return std::to_string(std::lround(median)); };
  return "; a step switches backends " + count(paths.changesP50) + " times, " +
         count(paths.deliberateP50) + " of them planned" +
         (paths.acceptedP50 > 0 ? ", " + count(paths.acceptedP50) + " accepted" : "");
}

}  // namespace

void findFallbacks(const CheckedSteps& steps, Findings& findings) {
  const LiveStore& store = steps.store;
  std::map<std::string, LostTime> byOp;
  std::map<std::string, std::int64_t> waitNs;
  for (const events::FallbackEvent& each : store.fallbacks()) {
    if (!steps.holding(each.step(), each.begin_ns())) continue;
    waitNs[store.name(each.op())] += each.wait_ns();
    byOp[store.name(each.op())].add(store, each, each.bytes_to_cpu() + each.bytes_to_device());
  }
  const std::string switches = byOp.empty() ? "" : switchesText(summarizePaths(store));
  for (const auto& [op, lost] : byOp) {
    const double costMs = steps.perStepMs(lost.totalNs);
    if (const FallbackAcceptance* accepted = store.acceptanceOf(op)) {
      findings.accepted.push_back({op, accepted->reason, lost.count, costMs});
      continue;
    }
    Finding finding = steps.ofTime(FindingKind::Fallback, costMs);
    if (finding.weight < kLeastLostShare) continue;
    lost.describe(finding);
    // Without the fallback, part of this wait would move to the next sync point.
    finding.evidence += "; of that time " + costText(steps.perStepMs(waitNs[op])) +
                        " is waiting for the device, including the copies" + switches;
    finding.title = "Fallback: " + op + " runs on the CPU and blocks the host, " + costText(costMs);
    finding.advice = "use an op that has an MPS kernel, or move it out of the step; or accept it";
    findings.found.push_back(std::move(finding));
  }
}

void findSyncPoints(const CheckedSteps& steps, Findings& findings) {
  const LiveStore& store = steps.store;
  const bool lossEachStep = readsLossEachStep(steps);
  LostTime logging;
  std::map<std::pair<NameId, events::Phase>, LostTime> others;
  for (const events::SyncPoint& each : store.syncPoints()) {
    if (!steps.holding(each.step(), each.begin_ns())) continue;
    const bool inLossRead = each.phase() == events::Phase::LossRead;
    const bool isLoss = inLossRead && each.kind() == events::SyncKind::ScalarRead;
    if (isUnplanned(each) || (lossEachStep && isLoss)) {
      LostTime& lost = inLossRead ? logging : others[{each.op(), each.phase()}];
      lost.add(store, each, each.bytes());
    }
  }
  if (logging.count > 0) addChattyLogging(steps, logging, findings);
  for (const auto& [key, lost] : others) addSyncPoint(steps, lost, findings);
}

}  // namespace highwater::analysis
