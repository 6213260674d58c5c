#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "analysis/account/memory_account.h"
#include "analysis/account/memory_growth.h"
#include "analysis/account/time_account.h"
#include "analysis/device/device_work.h"
#include "analysis/findings/finding_rules.h"
#include "analysis/op_summary.h"
#include "analysis/statistics.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

/// What is copied to the device in a step is about what it leaves from this share of it on, 0 to 1:
/// the allocator hands out larger blocks.
constexpr double kLeastCopiedShare = 0.7;

std::string stepsText(const Finding& finding) {
  return "steps " + std::to_string(finding.firstStep) + " to " + std::to_string(finding.lastStep);
}

/// Current allocated at the end of each step, over the step number.
std::vector<Point> currentAtEnds(const CheckedSteps& steps) {
  std::vector<Point> points;
  for (const StepEnd& end :
       currentAtStepEnds(steps.store, steps.records.front().step(), steps.records.back().step())) {
    points.push_back({static_cast<double>(end.step), end.bytes});
  }
  return points;
}

/// The module whose forward keeps most memory, by the recorded ops. std::nullopt if no module keeps
/// any.
struct Keeper {
  std::string module;
  double bytes = 0;  ///< per step
};

std::optional<Keeper> keeperOf(const LiveStore& store) {
  const OpSummary ops = summarizeOps(store, kMostCountedOps);
  const auto most = std::max_element(
      ops.byModule.begin(), ops.byModule.end(),
      [](const ModuleShare& a, const ModuleShare& b) { return a.net.kept() < b.net.kept(); });
  if (most == ops.byModule.end() || most->net.kept() <= 0) return std::nullopt;
  return Keeper{most->module,
                static_cast<double>(most->net.kept()) / static_cast<double>(ops.steps)};
}

/// Of so many points at most is asked whether they rise, and by so many standard deviations they
/// must: three come by chance in one of 700 runs.
constexpr std::size_t kMostOfTrend = 500;
constexpr double kLeastTrendScore = 3;

/// The share of the growth, 0 to 1, that must come with new shapes to be theirs.
constexpr double kLeastNewShapeShare = 0.8;

/// The medians of the first and of the last quarter of values.
struct Ends {
  double first = 0, last = 0;

  /// How many times as much the last is as the first; infinite if the first is 0.
  [[nodiscard]] double rise() const {
    return first > 0 ? last / first : std::numeric_limits<double>::infinity();
  }
};

Ends endsOf(const std::vector<double>& values) {
  const auto quarter = static_cast<std::ptrdiff_t>((values.size() + 3) / 4);
  return {medianOf({values.begin(), values.begin() + quarter}),
          medianOf({values.end() - quarter, values.end()})};
}

Ends stepTimesAtEnds(const CheckedSteps& steps) {
  return endsOf(steps.stepMs());
}

/// Whether memory grows no faster than the batches do, whose samples and lengths are known: then
/// what a step leaves may be its last batch.
bool isOfLargerBatches(const CheckedSteps& steps, const std::vector<Point>& points) {
  std::vector<double> bytes;
  for (const Point& point : points) bytes.push_back(point.y);
  const double larger = endsOf(steps.batchSizes()).rise();
  return std::isfinite(larger) && larger > 1 &&
         endsOf(bytes).rise() < kLeastGrowthPastSize * larger;
}

/// Whether what is allocated rises beyond chance: a few steps that swing between values have a
/// slope, too. Not asked where shapes vary, and memory with them.
bool isTrend(const CheckedSteps& steps, const std::vector<Point>& points) {
  if (shapesOfData(steps).back() > 1) return true;
  std::vector<double> bytes;
  const std::size_t every = (points.size() + kMostOfTrend - 1) / kMostOfTrend;
  for (std::size_t i = 0; i < points.size(); i += every) bytes.push_back(points[i].y);
  return trendScore(bytes) >= kLeastTrendScore;
}

std::string bytesText(double bytes) {
  return formatBytes(wholeBytes(bytes));
}

/// "steps 11, 21, 31, 41, 51, 61, ... and 111".
std::string listText(const std::vector<std::uint32_t>& steps) {
  constexpr std::size_t kMostListed = 6;
  std::string text = steps.size() == 1 ? "step " : "steps ";
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool isLast = i + 1 == steps.size();
    if (i >= kMostListed && !isLast) continue;
    if (i > 0) text += isLast ? (i > kMostListed ? ", \u2026 and " : " and ") : ", ";
    text += std::to_string(steps[i]);
  }
  return text;
}

/// std::nullopt where so little is kept that no larger batch would fit without it.
std::optional<Finding> sawtooth(const CheckedSteps& steps, const std::vector<Point>& points,
                                const MemoryGrowth& growth) {
  const auto most = std::max_element(points.begin(), points.end(),
                                     [](const Point& a, const Point& b) { return a.y < b.y; });
  if (growth.riseBytes < kLeastGrowthBytes) return std::nullopt;
  if (growth.heightBytes < kLeastToothShare * most->y) return std::nullopt;
  // Ranked by the height of a tooth: it never adds up to more.
  Finding finding =
      steps.ofGrowth(FindingKind::MemorySawtooth, growth.heightBytes / kGrowthHorizonSteps);
  finding.costBytes = growth.riseBytes;
  finding.count = growth.atSteps.size();
  const std::string freed =
      growth.everySteps ? "every " + std::to_string(*growth.everySteps) + " steps" : "at times";
  finding.title = "Memory sawtooth: each step keeps " + bytesText(growth.riseBytes) +
                  " more, up to " + bytesText(growth.heightBytes) + ", and " + freed +
                  " most of it is freed";
  finding.evidence = ", " + bytesText(most->y) + " at most; it falls in " +
                     listText(growth.atSteps) + ", so it does not add up";
  finding.advice =
      "what an epoch keeps for its metrics is fine as long as it fits; to keep less, sum up the "
      "metric as it goes, or keep output.detach().cpu(): without detach() an output keeps its "
      "graph";
  if (!growth.everySteps && growth.atSteps.size() > 1) {
    finding.advice +=
        "; what is freed at no fixed distance may wait for Python's garbage collector, as objects "
        "do that refer to each other";
  }
  return finding;
}

Finding jumps(const CheckedSteps& steps, const MemoryGrowth& growth) {
  Finding finding = steps.ofGrowth(FindingKind::MemoryJumps, growth.slopeBytes);
  finding.count = growth.atSteps.size();
  finding.title = "Memory growth by jumps: " + bytesText(growth.heightBytes) +
                  " more stay allocated " +
                  (growth.everySteps ? "every " + std::to_string(*growth.everySteps) + " steps"
                                     : "at " + std::to_string(finding.count) + " steps");
  finding.evidence = "; it grew in " + listText(growth.atSteps) + ", by " +
                     bytesText(growth.heightBytes) + " (median), and hardly in between";
  finding.advice =
      "look at what the script does before these steps: what each run, epoch or evaluation makes "
      "(a model with its optimizer, outputs in a list) is kept when it is over";
  return finding;
}

Finding evenGrowth(const CheckedSteps& steps, const MemoryGrowth& growth) {
  Finding finding = steps.ofGrowth(FindingKind::MemoryGrowth, growth.slopeBytes);
  // Half of the steps leave about as much as all do on average; or few leave much.
  const bool isOfEach =
      growth.pairs == 0 || std::abs(growth.medianBytes - growth.slopeBytes) < growth.slopeBytes / 2;
  finding.title = "Memory growth: " +
                  (isOfEach ? "each step leaves " + bytesText(growth.slopeBytes) + " allocated"
                            : "on average a step leaves " + bytesText(growth.slopeBytes) +
                                  " allocated, though not each step does");
  if (growth.pairs > 0) {
    finding.evidence = "; the median step adds " + bytesText(growth.medianBytes);
  }
  finding.advice =
      "look for tensors that outlive their step, as in a list, a dictionary, or a cache without a "
      "bound: a loss keeps its graph, unless it is detached, and so does retain_graph; what serves "
      "a metric can be summed up on the device";
  return finding;
}

/// An argument of backward that keeps the graph, and what to do in place of it.
struct KeptGraph {
  std::string_view sign, advice;
  bool slows = false;  ///< each backward then goes back through all steps before
};
constexpr std::array kKeptGraphs = {
    KeptGraph{kCreateGraphSign,
              "take torch.autograd.grad(loss, parameters, create_graph=True): backward() hangs the "
              "graph on each parameter's .grad, a ring that keeps both; or set .grad to None when "
              "the step is over"},
    KeptGraph{kRetainGraphSign,
              "leave retain_graph=True out, and detach() what one step hands to the next, such as "
              "the hidden state of a recurrent network: else each backward goes back through all "
              "steps before",
              true}};

/// What to do with what keeps a tensor of each step.
std::string_view adviceFor(std::string_view keeper) {
  if (keeper.find(" of a metric with reset(), ") != std::string_view::npos) {
    return "a metric that computes its result from all that it was given keeps all of it: call its "
           "reset() when an epoch or an evaluation is over, and see that this leaves an empty "
           "list, "
           "not the one that it was given; or have it count as it goes, as torchmetrics' curves do "
           "with thresholds=";
  }
  if (keeper.find(", a dict,") != std::string_view::npos) {
    return "give it a bound, or clear it: of a cache, keep few keys, as by rounding up the lengths "
           "that they are made of, or compute one entry for the longest and cut it. What serves a "
           "log, keep as a number";
  }
  return "keep only what is needed later, and that without its graph (.detach()) and on the CPU or "
         "as a number; or give it a bound (deque(maxlen=...)) or clear it in each step";
}

/// Puts first what the run tells of who keeps what each step leaves: the batches, where a line
/// copies about as much to the device, or the graph, where backward is told to keep it.
void addWhatIsKept(const CheckedSteps& steps, double grownBytes, Finding& finding) {
  if (const CodeSign* keeps = steps.store.sign(kKeptTensorsSign)) {
    const std::string where = keeps->line.empty() ? "" : ", at " + keeps->line;
    finding.line = keeps->line;
    finding.evidence += "; " + keeps->text + where;
    finding.advice = (keeps->line.empty() ? "" : "at " + keeps->line + ": ") +
                     std::string(adviceFor(keeps->text)) + ". Else " + finding.advice;
    return;
  }
  if (const CodeSign* grows = steps.store.sign(kGrowingGraphSign)) {
    const std::string where = grows->line.empty() ? "" : ", at " + grows->line;
    finding.line = grows->line;
    finding.evidence +=
        "; the graph of " + grows->text + where + ", goes back through all steps before";
    finding.advice = (grows->line.empty() ? "" : "at " + grows->line + ": ") +
                     "detach() what one step hands to the next, or compute it under "
                     "torch.no_grad(): a sum of losses as total += loss.detach(), a hidden state "
                     "as hidden.detach(). Else " +
                     finding.advice;
    return;
  }
  const CopiedLine copied =
      mostCopied(steps.store, events::SyncKind::CopyToDevice, [&](const events::SyncPoint& each) {
        return steps.holding(each.step(), each.begin_ns()) != nullptr;
      });
  const double bytes =
      static_cast<double>(copied.bytes) / static_cast<double>(steps.records.size());
  if (bytes >= kLeastCopiedShare * grownBytes && bytes <= grownBytes / kLeastCopiedShare) {
    finding.line = copied.line;
    finding.evidence += "; each step copies " + bytesText(bytes) + " to the device at " +
                        copied.line + ", about as much as it leaves: the batches may be kept";
    finding.advice =
        "at " + copied.line +
        ": look for what keeps the batches that are made there, or tensors of their "
        "size: a list, a cache, or itertools.cycle, which keeps all that it has given. "
        "Else " +
        finding.advice;
    return;
  }
  if (const CodeSign* keeps = steps.store.sign(kOutputOnContextSign)) {
    finding.line = keeps->line;
    finding.evidence += "; the autograd Function " + keeps->text +
                        " keeps its own output as a member of ctx, at " + keeps->line;
    finding.advice = "at " + keeps->line +
                     ": hand it to ctx.save_for_backward(), and take it from ctx.saved_tensors in "
                     "backward: an output and the ctx that is its grad_fn else keep each other for "
                     "ever. Else " +
                     finding.advice;
    return;
  }
  for (const KeptGraph& each : kKeptGraphs) {
    const CodeSign* sign = steps.store.sign(each.sign);
    if (!sign || sign->line.empty()) continue;
    // A graph that goes back through all steps makes each longer; else it is kept for another loss.
    if (each.slows && slowingOf(steps) < kLeastSlowing) continue;
    finding.line = sign->line;
    finding.evidence +=
        "; backward(" + std::string(each.sign) + "=True) is called at " + sign->line;
    finding.advice =
        "at " + sign->line + ": " + std::string(each.advice) + ". Else " + finding.advice;
    return;
  }
}

/// Puts first that what stays comes with each new shape of the batch, if most of it does.
void addNewShapes(const CheckedSteps& steps, const std::vector<Point>& points, Finding& finding) {
  const std::vector<std::size_t> shapes = shapesOfData(steps);
  if (points.size() != shapes.size() || shapes.empty() || shapes.back() < kLeastShapes) return;
  double ofNew = 0, ofAll = 0;
  std::size_t known = 0;
  for (std::size_t i = 1; i < shapes.size(); ++i) {
    const double change = points[i].y - points[i - 1].y;
    ofAll += change;
    if (shapes[i] > shapes[i - 1]) {
      ofNew += change;
    } else {
      ++known;
    }
  }
  // Where nearly each step has a new shape, that tells nothing.
  if (4 * known < shapes.size() || ofAll <= 0) return;
  // More than all of it is noise: a batch that is still alive at the end of its step.
  if (ofNew < kLeastNewShapeShare * ofAll || kLeastNewShapeShare * ofNew > ofAll) return;
  finding.evidence += "; " + percentText(std::min(ofNew / ofAll, 1.0)) +
                      " of it came in the steps that were the first of their shape, " +
                      std::to_string(shapes.back()) + " of " + std::to_string(shapes.size());
  finding.advice =
      "look for what is kept for each new length: a cache such as functools.lru_cache or a "
      "dictionary by length. Give it a bound, or keep one tensor for the longest and slice it. "
      "Else " +
      finding.advice;
}

/// Says by how much the steps have become slower, if they have while memory grew, and what has more
/// to do: it works on what is kept.
void addSlowing(const CheckedSteps& steps, Finding& finding) {
  const Ends ms = stepTimesAtEnds(steps);
  if (ms.rise() >= kLeastSlowing) {
    finding.evidence +=
        "; and the steps become slower, from " + formatMs(ms.first) + " to " + formatMs(ms.last);
  }
  const std::optional<GrowingWork> growing = growingWork(steps.store);
  if (!growing) return;
  finding.evidence += "; the device's work grows as well, by the sizes of the ops: ";
  // What else may vary from step to step, such as the nodes of a graph, is not known.
  const bool isSure = growing->joined || ms.rise() >= kLeastSlowing;
  if (!finding.line.empty() || !isSure) {
    finding.evidence += growingWorkText(*growing);
    return;
  }
  const std::string advice = finding.advice;
  nameGrowingWork(*growing, finding);
  finding.advice += ". Else " + advice;
}

/// Puts first that it is evaluations that leave what a jump adds, if one came before each.
void addEvaluations(const CheckedSteps& steps, const MemoryGrowth& growth, Finding& finding) {
  const auto& records = steps.store.steps().records;
  std::vector<TimeRange> stays;
  std::set<std::uint32_t> visits;
  NameId name = kNoId;
  walkAccount(steps.store, steps.firstToLast(), [&](const AccountSpan& span) {
    if (span.part.region != Region::Evaluation) return;
    if (span.part.name != kNoId) name = span.part.name;
    visits.insert(span.visit);
    stays.push_back({span.beginNs, span.endNs});
  });
  const auto follows = [&](std::uint32_t step) {
    const auto row = std::partition_point(records.begin(), records.end(),
                                          [step](const auto& each) { return each.step() < step; });
    if (row == records.begin() || row == records.end()) return false;
    const std::int64_t fromNs = (row - 1)->begin_ns(), toNs = row->begin_ns() + row->duration_ns();
    return std::any_of(stays.begin(), stays.end(), [&](const TimeRange& each) {
      return each.endNs > fromNs && each.beginNs < toNs;
    });
  };
  const auto count = std::count_if(growth.atSteps.begin(), growth.atSteps.end(), follows);
  if (stays.empty() || 5 * static_cast<std::size_t>(count) < 4 * growth.atSteps.size()) return;
  // Where there are many more, that one comes before a jump says nothing.
  if (visits.size() > 2 * growth.atSteps.size() + 1) return;
  const std::string line = steps.store.callSiteParts(steps.store.callSiteOfName(name)).line;
  finding.line = line;
  finding.evidence +=
      "; an evaluation comes before " +
      (static_cast<std::size_t>(count) == growth.atSteps.size() ? std::string("each")
                                                                : std::to_string(count)) +
      " of them" + (line.empty() ? "" : ", at " + line);
  finding.advice = (line.empty() ? "" : "at " + line + ": ") +
                   std::string(
                       "look at what an evaluation keeps when it is over: outputs or losses "
                       "in a list, activations that a forward hook stores. Call the model "
                       "under torch.no_grad(), and keep .detach().cpu(), or a sum, of what "
                       "is needed later. Else ") +
                   finding.advice;
}

/// Puts first that what stays are forward passes without a backward, if the steps in which memory
/// grew had more of them than others.
void addOpenForwards(const CheckedSteps& steps, const MemoryGrowth& growth, Finding& finding) {
  // Of each step: its forward passes, without those that have a backward.
  std::map<std::uint32_t, double> open;
  for (const events::StepRecord& each : steps.records) open[each.step()] = 0;
  for (const events::PhaseSpan& each : steps.store.phases()) {
    const auto step = open.find(each.step());
    if (step == open.end()) continue;
    if (each.phase() == events::Phase::Forward) ++step->second;
    if (each.phase() == events::Phase::Backward) --step->second;
  }
  std::vector<double> counts;
  for (const auto& [step, count] : open) counts.push_back(count);
  const double usual = medianOf(counts);
  const auto hasMore = [&](std::uint32_t step) { return open[step] > usual; };
  const auto all =
      std::count_if(counts.begin(), counts.end(), [usual](double each) { return each > usual; });
  const auto grown = std::count_if(growth.atSteps.begin(), growth.atSteps.end(), hasMore);
  const auto jumps = static_cast<std::ptrdiff_t>(growth.atSteps.size());
  if (5 * grown < 4 * jumps || all > 3 * jumps) return;
  finding.evidence +=
      "; in " + std::to_string(grown) +
      " of these steps the model is called more often, without a backward for each call";
  finding.advice =
      "look for forward passes whose backward never comes, as of a batch that is given up, and for "
      "what keeps their outputs: a list, or an exception, whose traceback holds the tensors of all "
      "its frames (keep str(error) in its place). Else " +
      finding.advice;
}

/// Adds to a finding the module that keeps most, where ops were recorded.
void addKeeper(const CheckedSteps& steps, Finding& finding) {
  const std::optional<Keeper> keeper = keeperOf(steps.store);
  if (!keeper) return;
  finding.where = keeper->module;
  finding.evidence += "; of forward's allocations most is kept by " +
                      (keeper->module.empty() ? "ops outside of any module" : keeper->module) +
                      ", " + bytesText(keeper->bytes) + " a step";
}

/// Driver allocated, over the number of shapes seen so far.
std::vector<Point> driverByShapes(const CheckedSteps& steps) {
  const std::vector<std::size_t> shapes = shapesOfData(steps);
  std::vector<Point> points;
  for (std::size_t row = 0; row < shapes.size(); ++row) {
    const auto driver = static_cast<double>(steps.records[row].peak_driver_bytes());
    if (driver > 0) points.push_back({static_cast<double>(shapes[row]), driver});
  }
  return points;
}

}  // namespace

double slowingOf(const CheckedSteps& steps) {
  return stepTimesAtEnds(steps).rise();
}

void addGrowingRegion(const CheckedSteps& steps, MemoryCounter counter, Finding& finding) {
  const MemoryAccount account = memoryAccount(steps.store, steps.firstToLast());
  const auto most = std::max_element(account.rows.begin(), account.rows.end(),
                                     [&](const RegionMemory& a, const RegionMemory& b) {
                                       return a.of(counter).change < b.of(counter).change;
                                     });
  if (most == account.rows.end() || most->region == Region::Step) return;
  const std::int64_t change = most->of(counter).change;
  // What an evaluation allocates and a step then frees is more than what stays.
  const std::int64_t all = account.change(counter);
  if (change <= 0 || 2 * change < all || 10 * change > 11 * all) return;
  finding.evidence += "; " + formatBytes(static_cast<std::uint64_t>(change)) +
                      " of it came outside of the steps: " + most->text();
}

void findMemoryGrowth(const CheckedSteps& steps, Findings& findings) {
  const std::vector<Point> points = currentAtEnds(steps);
  if (points.size() < 2 * kLeastSteps) return;
  // Compare steps of the same shape, if shapes repeat.
  const std::optional<MemoryGrowth> ofShapes =
      memoryGrowth(steps.store, steps.records.front().step(), steps.records.back().step());
  MemoryGrowth growth = ofShapes.value_or(MemoryGrowth());
  if (!ofShapes) {
    if (isOfLargerBatches(steps, points)) return;
    growth.slopeBytes = robustSlope(points);
  }
  std::optional<Finding> finding;
  if (growth.shape == GrowthShape::Sawtooth) {
    finding = sawtooth(steps, points, growth);
  } else if (growth.slopeBytes < kLeastGrowthBytes) {
    return;
  } else if (growth.shape == GrowthShape::Jumps) {
    finding = jumps(steps, growth);
    addNewShapes(steps, points, *finding);
    addOpenForwards(steps, growth, *finding);
    addEvaluations(steps, growth, *finding);
  } else if (const double lasting = lastingSlope(points, 2 * kLeastSteps);
             lasting >= kLeastGrowthBytes && isTrend(steps, points)) {
    growth.slopeBytes = std::min(growth.slopeBytes, lasting);
    finding = evenGrowth(steps, growth);
    addNewShapes(steps, points, *finding);
    addWhatIsKept(steps, growth.slopeBytes, *finding);
    addSlowing(steps, *finding);
  }
  if (!finding) return;
  finding->evidence = "current at the end of a step, " + stepsText(*finding) + ": " +
                      formatBytes(wholeBytes(points.front().y)) + " to " +
                      formatBytes(wholeBytes(points.back().y)) + finding->evidence;
  if (growth.shape != GrowthShape::Sawtooth) {
    addKeeper(steps, *finding);
    addGrowingRegion(steps, MemoryCounter::Current, *finding);
  }
  findings.found.push_back(std::move(*finding));
}

void findShapeGrowth(const CheckedSteps& steps, Findings& findings) {
  const std::vector<Point> points = driverByShapes(steps);
  if (points.empty() || points.back().x < static_cast<double>(kLeastShapes)) return;
  if (steadySlope(points) < kLeastShapeGrowthBytes) return;
  const DriverGrowth growth = driverGrowthOf(steps);
  if (growth.knownShapeBytes > growth.newShapeBytes) return;  // fragmentation
  const double grownBytes = points.back().y - points.front().y;
  const double newShapes = points.back().x - points.front().x;
  if (grownBytes <= 0 || newShapes < 1) return;
  const double bytes = grownBytes / static_cast<double>(steps.records.size() - 1);
  // Growth of current allocated is another finding.
  const std::vector<Point> current = currentAtEnds(steps);
  if (!current.empty() && steadySlope(current) > bytes / 2) return;
  Finding finding = steps.ofGrowth(FindingKind::ShapeGrowth, bytes);
  finding.count = static_cast<std::uint64_t>(newShapes);
  finding.title = "Each new shape adds " + formatBytes(wholeBytes(grownBytes / newShapes)) +
                  " of driver memory";
  finding.evidence = std::to_string(finding.count) + " new shapes of a batch, " +
                     stepsText(finding) + ": driver " + formatBytes(wholeBytes(points.front().y)) +
                     " to " + formatBytes(wholeBytes(points.back().y));
  finding.advice =
      "pad to a few fixed lengths, so that compiled graphs and cached blocks are reused";
  if (steps.store.ownScript()) finding.advice += " (pad_to_multiple_of in a Hugging Face collator)";
  findings.found.push_back(std::move(finding));
}

namespace {

/// Whether waits tell that a Trainer of transformers runs the training.
bool isTrainers(const LiveStore& store) {
  std::set<CallSiteId> sites;
  for (const events::SyncPoint& each : store.syncPoints()) sites.insert(each.call_site());
  return std::any_of(sites.begin(), sites.end(), [&store](CallSiteId site) {
    return store.callSiteParts(site).library.starts_with("transformers/trainer");
  });
}

std::string outsideAdvice(const LiveStore& store, const RegionMemory& region) {
  std::string advice =
      "what needs so much is not a step of the training but: " + region.text() + "; ";
  if (region.region == Region::Evaluation && isTrainers(store)) {
    return advice +
           "a Trainer of transformers keeps the outputs of all batches of an evaluation on the "
           "device: give it preprocess_logits_for_metrics, which keeps what the metrics need, or "
           "eval_accumulation_steps, or prediction_loss_only";
  }
  return advice +
         "give that smaller batches and keep no outputs on the device, and call "
         "torch.mps.empty_cache() after it";
}

}  // namespace

void findNearLimit(const CheckedSteps& steps, Findings& findings) {
  const MemoryColumns& memory = steps.store.memory();
  if (memory.timesNs.empty() || !steps.store.hello()) return;
  // Where an evaluation used the memory up, the batch of the training is no remedy.
  const bool endSaysSo =
      std::any_of(findings.found.begin(), findings.found.end(),
                  [](const Finding& each) { return each.kind == FindingKind::OutOfMemory; });
  if (endSaysSo && steps.store.failedInEvaluation()) return;
  const std::size_t rows = memory.timesNs.size();
  const double recommended = memory.recommended[rows - 1];
  const double high = steps.store.limits().highWatermarkRatio;
  const double limit = recommended * (high > 0 ? std::min(high, 1.0) : 1.0);
  if (limit <= 0) return;
  // Most runs are far from it: what the whole run reached is quickly known.
  double highest = memory.driver.minMax(0, rows).max;
  for (const events::StepRecord& record : steps.records) {
    highest = std::max(highest, static_cast<double>(record.peak_driver_bytes()));
  }
  if (highest < kNearLimitShare * limit) return;
  const MemoryAccount account =
      memoryAccount(steps.store, steps.ofRange ? std::optional(steps.firstToLast()) : std::nullopt);
  const RegionMemory* region = account.highest(MemoryCounter::Driver);
  if (!region) return;
  const std::uint64_t peak = region->of(MemoryCounter::Driver).peak;
  const double share = static_cast<double>(peak) / limit;
  if (share < kNearLimitShare) return;
  const auto percent = std::to_string(std::lround(100 * share));
  Finding finding = steps.ofWeight(FindingKind::NearLimit, std::min(share, 1.0));
  const std::string limitName = high > 0 && high < 1 ? "the high watermark" : "recommended max";
  const bool isOver = share > 1 && limitName == "recommended max";
  finding.title = std::string(isOver ? "Over" : "Near") + " the limit: driver memory reaches " +
                  percent + " % of " + limitName;
  const bool inSteps = region->region == Region::Step;
  finding.evidence = "driver peak " + formatBytes(peak) + ", " +
                     (inSteps ? "" : "not in a step (" + region->text() + "), ") + limitName + ' ' +
                     formatBytes(wholeBytes(limit));
  if (high > 0) {
    finding.evidence +=
        "; the allocator fails beyond " + formatBytes(wholeBytes(recommended * high));
  }
  if (isOver) {
    finding.evidence +=
        "; beyond it macOS may have to compress or swap the memory of all programs, which slows "
        "the "
        "whole machine";
  }
  if (!inSteps) finding.where = region->text();
  finding.advice = !inSteps ? outsideAdvice(steps.store, *region)
                   : steps.store.ownScript()
                       ? "use a smaller batch, or a shorter sequence; smaller batches with "
                         "accumulated gradients "
                         "train the same; after a single large step, torch.mps.empty_cache()"
                       : "use a smaller batch or sequence, or empty the cache after a large step";
  findings.found.push_back(std::move(finding));
}

}  // namespace highwater::analysis
