#include <algorithm>
#include <iterator>
#include <map>
#include <string>

#include "analysis/findings/finding_rules.h"
#include "analysis/findings/wait_use.h"
#include "analysis/whole_steps.h"
#include "core/names.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

constexpr std::string_view kKeepWorkers =
    "keep the workers for all epochs (DataLoader(..., persistent_workers=True)), or fetch on the "
    "training thread (num_workers=0) where items are quick to make; macOS starts each worker as a "
    "new Python process, which imports the script and its libraries again";
constexpr std::string_view kKeepLoader =
    "keep one DataLoader with persistent_workers=True for the training and one for the evaluation, "
    "and iterate over them again: each new one starts its own workers; or fetch on the training "
    "thread (num_workers=0) where items are quick to make";

constexpr std::string_view kKeepIterator =
    "make the iterator once, outside of the loop over steps (for batch in loader): iter(loader) "
    "starts the workers anew each time, and throws away what they have loaded ahead. Or fetch on "
    "the training thread (num_workers=0) where items are quick to make. Where an epoch is one "
    "batch: persistent_workers=True";

/// Below this, in ms a batch, DataLoader workers cost more than they save: a training whose batches
/// took 2 ms went on for 3.8 s with two workers, and for 2.9 s with none (two cores of a Xeon).
constexpr double kWorkerMs = 5;

/// The starts of DataLoader workers while the checked steps ran.
struct LoaderStarts {
  std::uint64_t count = 0;
  std::int64_t totalNs = 0;
  std::int64_t startNs = 0;  ///< of that, without the wait for the first batches and the end
  std::map<std::string, std::int64_t> nsByLine;
};

LoaderStarts loaderStartsIn(const LiveStore& store, const TimeRange& range) {
  LoaderStarts starts;
  const SpanIndex& lane = store.namedLane();
  const std::size_t last = lane.firstFrom(range.endNs);
  for (std::size_t i = lane.firstFrom(range.beginNs); i < last; ++i) {
    const events::NamedSpan& span = store.namedSpans()[lane[i].payload];
    if (store.name(span.name()) != kLoaderStartSpan) continue;
    starts.totalNs += span.duration_ns();
    starts.nsByLine[store.callSiteParts(store.callSiteOf(span)).line] += span.duration_ns();
    if (span.continued() != 0) continue;
    ++starts.count;
    starts.startNs += span.duration_ns();
  }
  return starts;
}

/// Whether a line of batch assembly moves samples to the device one by one.
bool movesSamples(const LiveStore& store) {
  const std::vector<events::StepRecord>& steps = store.steps().records;
  if (steps.empty()) return false;
  std::map<CallSiteId, std::uint64_t> bySite;
  for (const events::SyncPoint& each : store.syncPoints()) {
    const bool isMove = each.kind() == events::SyncKind::CopyToDevice;
    if (isMove && each.phase() == events::Phase::BatchAssembly) ++bySite[each.call_site()];
  }
  std::map<std::string, double> byLine;
  for (const auto& [site, moves] : bySite) {
    byLine[store.callSiteParts(site).line] += static_cast<double>(moves);
  }
  const std::uint32_t batch = steps[newestOfSettledBatch(steps)].batch_size();
  return std::any_of(byLine.begin(), byLine.end(), [&](const auto& line) {
    return areSamples(line.second / static_cast<double>(steps.size()), batch);
  });
}

}  // namespace

std::vector<std::int64_t> loaderStartNsOf(const CheckedSteps& steps) {
  std::vector<std::int64_t> ns(steps.records.size());
  for (const events::NamedSpan& span : steps.store.namedSpans()) {
    if (steps.store.name(span.name()) != kLoaderStartSpan) continue;
    const auto after = std::partition_point(
        steps.records.begin(), steps.records.end(),
        [&](const events::StepRecord& step) { return step.begin_ns() <= span.begin_ns(); });
    if (after == steps.records.begin() || span.begin_ns() >= endNsOf(*std::prev(after))) continue;
    ns[static_cast<std::size_t>(std::prev(after) - steps.records.begin())] += span.duration_ns();
  }
  return ns;
}

std::string loaderAdvice(const LiveStore& store, double loadMs) {
  const auto loader = store.run() ? store.run()->loader : std::nullopt;
  if (loader && loader->deviceData) {
    return "the data set's tensors are on the device, and the DataLoader takes each row of a batch "
           "by an op of its own: index them with the whole batch (x[rows], with rows from "
           "torch.randperm(n, device=x.device).split(batch_size)) without a DataLoader, or keep "
           "them on the CPU and move whole batches";
  }
  // Workers cannot send what is on the device: "_share_filename_: only available on CPU".
  if (movesSamples(store)) {
    return "it moves samples to the device one by one: return them as tensors on the CPU, move the "
           "whole batch, and measure again";
  }
  if (store.sign(kTensorRowsSign)) {
    return "its data set is a TensorDataset, of which the DataLoader takes each row by itself, to "
           "stack them again: take whole batches, x[rows] with rows from "
           "torch.randperm(n).split(batch_size), or give the DataLoader batches of rows: "
           "sampler=BatchSampler(RandomSampler(data), batch_size, drop_last=...), "
           "batch_size=None. Workers do the same work, and send it";
  }
  const bool getsBatches = store.sign(kWholeBatchesSign);
  const std::string wholeBatch =
      getsBatches ? "index tensors with all rows of a batch in its __getitems__ (x[rows])"
                  : "return a whole batch at once, by __getitems__(rows) of the data set or by "
                    "indexing tensors with all rows of a batch (x[rows])";
  if (loader && loader->workers > 0 && loadMs < kWorkerMs) {
    return "its items are quick to make, and its " + std::to_string(loader->workers) +
           " workers may take as long to send them: try num_workers=0, and " + wholeBatch;
  }
  if (loader && loader->workers > 0) {
    return "its " + std::to_string(loader->workers) +
           " workers are too slow: make items cheaper "
           "(decode and resize them once, and keep the result), or raise num_workers as far as "
           "cores are free" +
           (loader->persistentWorkers ? "" : "; persistent_workers=True starts them only once");
  }
  if (loader && loadMs < kWorkerMs) {
    return "its items are quick to make, and a worker would take as long to send them: " +
           wholeBatch + ", or prepare the data once and keep it";
  }
  return "prepare the data once and keep it, or have the DataLoader prepare batches while the "
         "device works (num_workers=2, persistent_workers=True; each worker is a process of its "
         "own, with its own open files and a copy of the data set)";
}

void findLoaderStart(const CheckedSteps& steps, Findings& findings) {
  const TimeRange range = steps.firstToLast();
  const LoaderStarts starts = loaderStartsIn(steps.store, range);
  const double share = static_cast<double>(starts.totalNs) /
                       static_cast<double>(std::max<std::int64_t>(range.endNs - range.beginNs, 1));
  // One that is started once, after the first step, is that of another loader.
  if (starts.count < 2 || share < kLeastLoaderStartShare) return;
  const double waitsMs = steps.perStepMs(starts.totalNs);
  Finding finding = steps.ofTime(FindingKind::LoaderStart, waitsMs);
  finding.count = starts.count;
  finding.title = "Starting DataLoader workers takes " + percentText(share) + " of the time";
  const auto longest =
      std::max_element(starts.nsByLine.begin(), starts.nsByLine.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  finding.line = longest->first;
  finding.where = kLoaderStartSpan;
  const double eachMs = toMs(starts.totalNs) / static_cast<double>(starts.count);
  finding.evidence = "workers were started " + std::to_string(starts.count) + " times, " +
                     formatMs(eachMs) + " each with their first batches and their end";
  if (!finding.line.empty()) finding.evidence += ", at " + finding.line;
  const auto loader = steps.store.run() ? steps.store.run()->loader : std::nullopt;
  if (loader && loader->workers > 0) {
    finding.evidence +=
        "; the training's loader has num_workers=" + std::to_string(loader->workers) +
        ", persistent_workers=" + (loader->persistentWorkers ? "True" : "False");
  }
  const bool isEachStep = static_cast<double>(starts.count) >=
                          kEveryStepShare * static_cast<double>(steps.records.size());
  finding.advice = isEachStep                            ? kKeepIterator
                   : loader && loader->persistentWorkers ? kKeepLoader
                                                         : kKeepWorkers;
  steps.gains.add(findings, std::move(finding),
                  Gain{steps.perStepMs(starts.startNs), waitsMs, waitsMs});
}

}  // namespace highwater::analysis
