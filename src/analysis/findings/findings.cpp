#include "analysis/findings/findings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "analysis/findings/finding_rules.h"
#include "analysis/findings/wait_use.h"
#include "analysis/statistics.h"
#include "analysis/whole_steps.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

std::uint64_t recommendedBytes(const LiveStore& store) {
  const auto& sampled = store.memory().recommended;
  const std::size_t rows = store.memory().timesNs.size();
  if (rows > 0) return static_cast<std::uint64_t>(sampled[rows - 1]);
  return store.hello() ? store.hello()->limits.recommendedBytes : 0;
}

/// See Findings::noiseMs.
double noiseOf(std::span<const events::StepRecord> records, double medianMs) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<double>> byShape;
  for (const events::StepRecord& record : records) {
    byShape[{record.batch_size(), record.sequence_length()}].push_back(toMs(record.duration_ns()));
  }
  std::vector<double> differences;
  for (const auto& [shape, ms] : byShape) {
    if (ms.size() < 2) continue;
    const double median = medianOf(ms);
    for (const double each : ms) differences.push_back(each - median);
  }
  double noise = 0;
  if (differences.size() >= kLeastSteps) {
    const double quartile1 = percentileOf(differences, 25);
    const double quartile3 = percentileOf(differences, 75);
    noise = 1.57 * (quartile3 - quartile1) / std::sqrt(static_cast<double>(records.size()));
  }
  return std::max(noise, kLeastLostShare * medianMs);
}

constexpr const char* kGradientScaling =
    "PyTorch, Automatic Mixed Precision (gradient scaling): "
    "https://docs.pytorch.org/docs/stable/amp.html";

/// What is said of a kind of finding wherever it is told.
struct KindFacts {
  FindingKind kind;
  const char *key, *source;
};
constexpr std::array<KindFacts, kFindingKinds> kKinds = {{
    {FindingKind::NearLimit, "near_limit", ""},
    {FindingKind::Fallback, "fallback", ""},
    {FindingKind::ChattyLogging, "chatty_logging", ""},
    {FindingKind::SyncPoint, "sync_point", ""},
    {FindingKind::HostBound, "host_bound", ""},
    {FindingKind::MemoryGrowth, "memory_growth", ""},
    {FindingKind::ShapeGrowth, "shape_growth", ""},
    {FindingKind::StepTimeSwings, "step_time_swings",
     "PyTorch, Performance Tuning Guide (asynchronous data loading): "
     "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"},
    {FindingKind::BatchTooSmall, "batch_too_small",
     "Hugging Face, Efficient training on a single GPU (batch size): "
     "https://huggingface.co/docs/transformers/perf_train_gpu_one"},
    {FindingKind::Fragmentation, "fragmentation",
     "PyTorch, Performance Tuning Guide (preallocate memory in case of variable input "
     "length): https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"},
    {FindingKind::HiddenGrowth, "hidden_growth", ""},
    {FindingKind::CacheAboveLive, "cache_above_live",
     "PyTorch, torch.mps.empty_cache: "
     "https://docs.pytorch.org/docs/stable/generated/torch.mps.empty_cache.html"},
    {FindingKind::SystemPressure, "system_pressure",
     "Apple, Check if your Mac needs more RAM in Activity Monitor: "
     "https://support.apple.com/guide/activity-monitor/actmntr34865/mac"},
    {FindingKind::NonFiniteLoss, "non_finite_loss", kGradientScaling},
    {FindingKind::Float16Unscaled, "float16_unscaled", kGradientScaling},
    {FindingKind::RefusedDtype, "refused_dtype",
     "pytorch/pytorch, MPS has no float64, by design: "
     "https://github.com/pytorch/pytorch/issues/122602"},
    {FindingKind::MissingOp, "missing_op",
     "PyTorch, MPS environment variables (PYTORCH_ENABLE_MPS_FALLBACK): "
     "https://docs.pytorch.org/docs/stable/mps_environment_variables.html"},
    {FindingKind::LoaderStart, "loader_start",
     "PyTorch, torch.utils.data (multi-process data loading, persistent_workers): "
     "https://docs.pytorch.org/docs/stable/data.html"},
    {FindingKind::OutOfMemory, "out_of_memory", ""},
    {FindingKind::Hung, "hung", ""},
    {FindingKind::Recovered, "recovered", ""},
    {FindingKind::ThermalState, "thermal_state",
     "Apple, ProcessInfo.thermalState: "
     "https://developer.apple.com/documentation/foundation/processinfo/"
     "thermalstate-swift.property"},
    {FindingKind::LowPowerMode, "low_power_mode",
     "Apple, ProcessInfo.isLowPowerModeEnabled: "
     "https://developer.apple.com/documentation/foundation/processinfo/"
     "islowpowermodeenabled"},
    {FindingKind::Evaluation, "evaluation", ""},
    {FindingKind::OutsideSteps, "outside_steps", ""},
    {FindingKind::DeviceUnused, "device_unused", ""},
    {FindingKind::MemorySawtooth, "memory_sawtooth", ""},
    {FindingKind::MemoryJumps, "memory_jumps", ""},
    {FindingKind::DriverGrowth, "driver_growth", ""},
    {FindingKind::AutocastOff, "autocast_off",
     "PyTorch, Automatic Mixed Precision package (torch.autocast, device_type): "
     "https://docs.pytorch.org/docs/stable/amp.html"},
    {FindingKind::AnomalyDetection, "anomaly_detection",
     "PyTorch, Automatic differentiation package (anomaly detection): "
     "https://docs.pytorch.org/docs/stable/autograd.html#anomaly-detection"},
    {FindingKind::UnusedGradients, "unused_gradients",
     "PyTorch, Autograd mechanics (setting requires_grad, no-grad mode): "
     "https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-"
     "computation"},
    {FindingKind::Padding, "padding",
     "Transformers, Padding and truncation (padding=True, pad_to_multiple_of): "
     "https://huggingface.co/docs/transformers/pad_truncation"},
    {FindingKind::MovedBack, "moved_back", ""},
    {FindingKind::FrozenModel, "frozen_model",
     "Diffusers, cache latents to avoid VAE passes for every training step: "
     "https://github.com/huggingface/diffusers/pull/6076"},
    {FindingKind::RepeatedWeights, "repeated_weights",
     "PyTorch, torch.nn.utils.parametrize.cached: "
     "https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.parametrize.cached.html"},
    {FindingKind::RepeatedBackward, "repeated_backward",
     "PyTorch, torch.autograd.backward (retain_graph): "
     "https://docs.pytorch.org/docs/stable/generated/torch.autograd.backward.html"},
    {FindingKind::SlowingSteps, "slowing_steps", ""},
}};
static_assert(
    [] {
      for (std::size_t i = 0; i < kKinds.size(); ++i) {
        if (kKinds[i].kind != static_cast<FindingKind>(i)) return false;
      }
      return true;
    }(),
    "kKinds must have the order of FindingKind");

const KindFacts& factsOf(FindingKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

}  // namespace

std::string_view findingKey(FindingKind kind) {
  return factsOf(kind).key;
}

std::string_view findingSource(FindingKind kind) {
  return factsOf(kind).source;
}

bool isOfWaits(const Finding& finding) {
  return finding.kind == FindingKind::SyncPoint || finding.kind == FindingKind::ChattyLogging;
}

std::vector<CallSiteId> triedSitesOf(const LiveStore& store, const Finding& finding) {
  std::set<CallSiteId> sites(finding.callSites.begin(), finding.callSites.end()), seen = sites;
  // By its path: two files may have the same name.
  std::set<std::pair<std::string, std::uint32_t>> lines;
  for (const CallSiteId site : finding.callSites) {
    const CallSiteParts parts = store.callSiteParts(site);
    if (parts.number > 0 && parts.line == finding.line) lines.emplace(parts.path, parts.number);
  }
  for (const events::SyncPoint& each : store.syncPoints()) {
    if (!seen.insert(each.call_site()).second) continue;
    const CallSiteParts parts = store.callSiteParts(each.call_site());
    if (lines.contains({parts.path, parts.number})) sites.insert(each.call_site());
  }
  return {sites.begin(), sites.end()};
}

/// Whether what the driver holds may double: PyTorch empties its cache by itself before an
/// allocation fails, but not before other programs must swap.
static bool hasRoomForCache(const LiveStore& store) {
  const MemoryColumns& memory = store.memory();
  if (memory.timesNs.empty() || store.limits().recommendedBytes == 0) return false;
  const double peak = memory.driver.minMax(0, memory.timesNs.size()).max;
  return 2 * peak <= static_cast<double>(store.limits().recommendedBytes);
}

std::optional<Finding> waitsAt(const LiveStore& store, const std::string& line) {
  Finding finding;
  finding.line = line;
  std::set<CallSiteId> sites, others;
  for (const events::SyncPoint& each : store.syncPoints()) {
    if (!isUnplanned(each) || sites.contains(each.call_site())) continue;
    if (!others.insert(each.call_site()).second) continue;
    const CallSiteParts parts = store.callSiteParts(each.call_site());
    if (parts.line != line) continue;
    sites.insert(each.call_site());
    const std::string op = store.name(each.op());
    WaitCase wait;
    wait.op = op;
    wait.kind = each.kind();
    wait.phase = each.phase();
    wait.ownScript = true;
    wait.site = parts;
    finding.readsSize = finding.readsSize || useOf(wait).what == kReadsSize;
  }
  if (sites.empty()) return std::nullopt;
  finding.callSites.assign(sites.begin(), sites.end());
  return finding;
}

bool readsWhereTried(const LiveStore& store, const Finding& finding) {
  const std::vector<CallSiteId> sites = triedSitesOf(store, finding);
  return std::any_of(store.syncPoints().begin(), store.syncPoints().end(),
                     [&](const events::SyncPoint& each) {
                       return each.kind() != events::SyncKind::Synchronize &&
                              std::binary_search(sites.begin(), sites.end(), each.call_site());
                     });
}

std::string whyNotTried(const LiveStore& store, const Finding& finding) {
  using events::SyncKind;
  if (!isOfWaits(finding)) return "only waits for values can be left out";
  if (!store.ownScript()) return "only waits of a script can be left out";
  if (finding.line.empty()) return "the line that waits is not known";
  if (finding.readsSize) return "the value is a size, and an old one does not fit";
  const std::vector<CallSiteId> sites = triedSitesOf(store, finding);
  if (sites.size() > kMostTriedSites) return "it is about too many places";
  for (const CallSiteId site : sites) {
    if (site == kOtherId) return "not all of its places are known";
    // GradScaler.step() skips the optimizer where the gradients are not finite.
    const CallSiteParts parts = store.callSiteParts(site);
    for (const char* sign : {"scaler", "grad_scaler", "accelerate/optimizer.py"}) {
      if (parts.text.find(sign) == std::string::npos &&
          parts.library.find(sign) == std::string::npos) {
        continue;
      }
      return "the value decides whether the optimizer steps";
    }
  }
  for (const events::SyncPoint& each : store.syncPoints()) {
    const bool isOfIt = std::binary_search(sites.begin(), sites.end(), each.call_site());
    const bool isRead = each.kind() == SyncKind::ScalarRead ||
                        each.kind() == SyncKind::CopyToHost || each.kind() == SyncKind::Synchronize;
    if (isOfIt && store.name(each.op()).find("empty_cache") != std::string::npos &&
        !hasRoomForCache(store)) {
      return "without it memory could run out";
    }
    if (isOfIt && !isRead) {
      return "the op that waits there needs the value: " + store.name(each.op());
    }
  }
  return {};
}

std::string costText(double ms) {
  return formatMs(ms) + " a step";
}

std::string percentText(double share) {
  return std::to_string(std::lround(100 * share)) + " %";
}

std::string gainText(const Gain& gain) {
  const auto text = [](double ms) {
    const std::string written = formatMs(ms);
    return written == formatMs(0) ? std::string("0") : written;
  };
  const std::string low = text(gain.low), high = text(gain.high), estimate = text(gain.estimate);
  if (low == high) return high == "0" ? "nothing" : high + " a step";
  const std::string bounds = low + " to " + high;
  if (estimate == low || estimate == high) return bounds + " a step";
  return "about " + estimate + " a step (" + bounds + ')';
}

GainAccount::GainAccount(const LiveStore& store, std::size_t firstRow, std::size_t lastRow,
                         double medianMs, double noiseMs)
    : store_(store),
      firstRow_(firstRow),
      lastRow_(lastRow),
      medianMs_(medianMs),
      noiseMs_(noiseMs) {}

void GainAccount::add(Findings& findings, Finding finding, Fix fix, double mostMs) {
  std::sort(fix.removed.begin(), fix.removed.end(),
            [](const TimeRange& a, const TimeRange& b) { return a.beginNs < b.beginNs; });
  noted_.push_back({findings.found.size(), std::move(fix), mostMs});
  findings.found.push_back(std::move(finding));
}

double GainAccount::meanMs() const {
  const auto records = std::span(store_.steps().records).subspan(firstRow_, lastRow_ - firstRow_);
  const TimeRange range = firstToLast(records);
  return static_cast<double>(range.endNs - range.beginNs) / kNsPerMs /
         static_cast<double>(records.size());
}

void GainAccount::add(Findings& findings, Finding finding, const Gain& gain) const {
  price(finding, gain);
  findings.found.push_back(std::move(finding));
}

void GainAccount::noteLoopWork(events::Phase phase, double ms) {
  using events::Phase;
  if (phase == Phase::None) ownLoopWorkMs_ += ms;
  if (phase == Phase::Forward || phase == Phase::Backward || phase == Phase::OptimizerStep) {
    queueLoopWorkMs_ += ms;
  }
}

bool hasKind(const Findings& findings, FindingKind kind) {
  return std::any_of(findings.found.begin(), findings.found.end(),
                     [kind](const Finding& each) { return each.kind == kind; });
}

Turns<> GainAccount::settle(Findings& findings) {
  if (noted_.empty()) co_return;
  GainEstimator estimator(store_, firstRow_, lastRow_);
  co_await NextTurn{};
  co_await estimator.read();
  if (!estimator.known()) co_return;
  const auto gainOf = [&](const Fix& fix, double mostMs) {
    Gain gain = estimator.of(fix);
    gain.high = std::max(gain.high, std::min(mostMs, medianMs_));
    return gain;
  };
  Fix all, whole;
  double mostMs = 0, attainable = 1;
  for (const Noted& each : noted_) {
    price(findings.found[each.index], gainOf(each.fix, each.mostMs));
    all.add(each.fix);
    if (each.fix.attainable == 1) whole.add(each.fix);
    attainable = std::min(attainable, each.fix.attainable);
    mostMs = std::max(mostMs, each.mostMs);
    co_await NextTurn{};
  }
  ofFixes_ = gainOf(all, mostMs);
  if (attainable == 1) co_return;
  // Of what those add that can be had in part only, that part counts.
  co_await NextTurn{};
  const Gain sure = estimator.of(whole);
  const auto part = [attainable](double least, double most) {
    return least + attainable * std::max(most - least, 0.0);
  };
  ofFixes_->low = part(sure.low, ofFixes_->low);
  ofFixes_->estimate = part(sure.estimate, ofFixes_->estimate);
}

void GainAccount::price(Finding& finding, Gain gain) const {
  if (finding.waitsMs) {
    gain.low = std::min(gain.low, *finding.waitsMs);
    gain.estimate = std::min(gain.estimate, *finding.waitsMs);
    if (!finding.estimate) gain.high = std::min(gain.high, *finding.waitsMs);
  }
  finding.gainMs = gain;
  finding.gain = gainText(gain);
  const double rankedMs = finding.assumed ? gain.estimate / 2 : gain.estimate;
  finding.weight = medianMs_ > 0 ? std::min(rankedMs / medianMs_, 1.0) : 0;
  finding.withinNoise = gain.estimate < noiseMs_;
  if (!finding.withinNoise) return;
  finding.evidence += "; that saves less than step times vary by chance, " + formatMs(noiseMs_);
}

const events::StepRecord* CheckedSteps::holding(std::uint32_t step, std::int64_t beginNs) const {
  // Steps without a gap in their numbers, as most are, need no search.
  auto found = records.begin();
  const std::size_t guess = step - std::size_t{records.front().step()};
  if (guess < records.size() && records[guess].step() == step) {
    found += static_cast<std::ptrdiff_t>(guess);
  } else {
    found = std::partition_point(
        records.begin(), records.end(),
        [step](const events::StepRecord& record) { return record.step() < step; });
  }
  if (found == records.end() || found->step() != step) return nullptr;
  const bool within =
      beginNs >= found->begin_ns() && beginNs < found->begin_ns() + found->duration_ns();
  return within ? &*found : nullptr;
}

std::string CheckedSteps::withoutText() const {
  if (firstRow != 1) return {};
  return "; step " + std::to_string(store.steps().records.front().step()) + " is warm-up";
}

TimeRange CheckedSteps::firstToLast() const {
  return analysis::firstToLast(records);
}

TimeRange CheckedSteps::timeRange() const {
  if (!ofRange) {
    return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  }
  return firstToLast();
}

double CheckedSteps::perStepMs(std::int64_t totalNs) const {
  return static_cast<double>(totalNs) / kNsPerMs / static_cast<double>(records.size());
}

Finding CheckedSteps::ofTime(FindingKind kind, double waitsMs) const {
  Finding finding;
  finding.kind = kind;
  finding.waitsMs = waitsMs;
  finding.weight = medianMs > 0 ? std::min(waitsMs / medianMs, 1.0) : 0;
  finding.firstStep = records.front().step();
  finding.lastStep = records.back().step();
  return finding;
}

Finding CheckedSteps::ofGrowth(FindingKind kind, double costBytes) const {
  const auto limit = static_cast<double>(recommendedBytes(store));
  // Without a known limit the finding ranks last.
  Finding finding =
      ofWeight(kind, limit > 0 ? std::min(costBytes * kGrowthHorizonSteps / limit, 1.0) : 0);
  finding.costBytes = costBytes;
  return finding;
}

std::vector<double> CheckedSteps::stepMs() const {
  std::vector<double> ms;
  for (const events::StepRecord& each : records) ms.push_back(toMs(each.duration_ns()));
  return ms;
}

std::vector<double> CheckedSteps::batchSizes() const {
  std::vector<double> sizes;
  for (const events::StepRecord& each : records) {
    sizes.push_back(static_cast<double>(each.batch_size()) *
                    std::max(static_cast<double>(each.sequence_length()), 1.0));
  }
  return sizes;
}

Finding CheckedSteps::ofWeight(FindingKind kind, double weight) const {
  Finding finding = ofTime(kind, 0);
  finding.waitsMs.reset();
  finding.weight = weight;
  return finding;
}

bool leftDeviceUnused(const LiveStore& store) {
  const MemoryColumns& memory = store.memory();
  const std::size_t samples = memory.timesNs.size();
  if (!store.ownScript() || !store.hasQueue() || samples == 0) return false;
  if (memory.current.minMax(0, samples).max > 0 || !store.fallbacks().empty()) return false;
  // A call such as torch.mps.synchronize(), or of a generator, which a library may make, needs no
  // tensor.
  return std::all_of(
      store.syncPoints().begin(), store.syncPoints().end(),
      [&](const events::SyncPoint& each) { return store.name(each.op()).starts_with("torch."); });
}

namespace {

using Rule = void (*)(const CheckedSteps&, Findings&);
/// In the order of findings of equal rank. The null is findHostBound().
constexpr std::array<Rule, 25> kRules = {&findNonFiniteLoss,
                                         &findNearLimit,
                                         &findFallbacks,
                                         &findSyncPoints,
                                         nullptr,
                                         &findLoaderStart,
                                         &findMemoryGrowth,
                                         &findTimeOutsideSteps,
                                         &findShapeGrowth,
                                         &findStepSwings,
                                         &findSlowingSteps,
                                         &findSmallBatch,
                                         &findFragmentation,
                                         &findHiddenGrowth,
                                         &findCacheAboveLive,
                                         &findSystemPressure,
                                         &findThermalState,
                                         &findLowPowerMode,
                                         &findDriverGrowth,
                                         &findAutocastOff,
                                         &findUnusedGradients,
                                         &findPadding,
                                         &findFrozenModel,
                                         &findRepeatedWeights,
                                         &findRepeatedBackward};

/// What was measured takes the place of what was estimated, which is told beside it. Returns by how
/// many ms a step all estimates together were too high.
double useTries(const CheckedSteps& steps, Findings& findings) {
  if (findings.ofRange) return 0;
  double tooHighMs = 0;
  for (Finding& each : findings.found) each.canBeTried = whyNotTried(steps.store, each).empty();
  for (TriedFix& fix : triedFixesOf(steps.store)) {
    bool isTold = false;
    for (Finding& each : findings.found) {
      if (fix.change.line.empty() || each.line != fix.change.line) continue;
      if (!isOfWaits(each) || each.tried) continue;
      isTold = true;
      // First, as a panel shows the beginning of the evidence only.
      std::string tried = triedText(fix);
      const bool isNoisy =
          fix.gain.low <= 0 && each.gainMs && fix.gain.high > each.gainMs->estimate;
      if (isNoisy) {  // it says nothing against the estimate
        tried += ", too noisy to tell (" + formatMs(fix.gain.low) + " to " +
                 formatMs(fix.gain.high) + ')';
      } else if (!each.gain.empty()) {
        tried += ", the estimate was " + each.gain;
      }
      each.evidence = std::move(tried) + "; " + each.evidence;
      if (isNoisy) break;
      if (each.gainMs) tooHighMs += each.gainMs->estimate - std::max(fix.gain.estimate, 0.0);
      each.gainMs = Gain{std::max(fix.gain.low, 0.0), std::max(fix.gain.estimate, 0.0),
                         std::max(fix.gain.high, 0.0)};
      each.gain = measuredGainText(fix.gain);
      each.withinNoise = fix.gain.low <= 0;
      if (steps.medianMs > 0) each.weight = std::min(each.gainMs->estimate / steps.medianMs, 1.0);
      each.tried = fix;
      break;
    }
    if (!isTold) findings.tried.push_back(std::move(fix));
  }
  return tooHighMs;
}

/// A share of a step, 0 to 1, that is hardly worth saving.
constexpr double kLittleSaved = 0.05;

/// Of findings about the same time the one that gains most counts. Evaluations, what lies between
/// steps and starts of workers take time of their own, which adds up. `tooHighMs`: of useTries().
void addGainOfAll(const GainAccount& gains, double tooHighMs, Findings& findings) {
  double waitsMs = 0, highMs = 0;
  Gain most;  // of one of them alone
  for (const Finding& each : findings.found) {
    if (!each.gainMs || !each.waitsMs) continue;
    waitsMs += *each.waitsMs;
    highMs += each.tried ? each.gainMs->high : std::max(*each.waitsMs, each.gainMs->high);
    if (!isOfWaits(each)) continue;
    most = {std::max(most.low, each.gainMs->low), std::max(most.estimate, each.gainMs->estimate),
            std::max(most.high, each.gainMs->high)};
  }
  const auto bounded = [&](const Gain& gain) {
    return Gain{std::min(gain.low, waitsMs), std::min(gain.estimate, waitsMs),
                std::min(gain.high, highMs)};
  };
  auto ofFixes = gains.ofFixes();
  if (ofFixes && tooHighMs != 0) {
    *ofFixes = {std::max(ofFixes->low - tooHighMs, most.low),
                std::max(ofFixes->estimate - tooHighMs, most.estimate),
                std::max(ofFixes->high - tooHighMs, most.high)};
  }
  if (ofFixes) findings.gainOfWaitsMs = bounded(*ofFixes);
  if (findings.priced() == 0) return;
  Gain inSteps = ofFixes.value_or(Gain{}), outside;
  for (const Finding& each : findings.found) {
    if (!each.gainMs) continue;
    const Gain& gain = *each.gainMs;
    const bool isOutside = each.kind == FindingKind::Evaluation ||
                           each.kind == FindingKind::OutsideSteps ||
                           each.kind == FindingKind::LoaderStart;
    if (isOutside) {
      outside = {outside.low + gain.low, outside.estimate + gain.estimate,
                 outside.high + gain.high};
    } else {
      inSteps = {std::max(inSteps.low, gain.low), std::max(inSteps.estimate, gain.estimate),
                 std::max(inSteps.high, gain.high)};
    }
  }
  const double mostMs = gains.meanMs();
  findings.gainOfAllMs = Gain{std::min(inSteps.low + outside.low, mostMs),
                              std::min(inSteps.estimate + outside.estimate, mostMs),
                              std::min(std::max(highMs, inSteps.high + outside.high), mostMs)};
}

/// Of a run that ran out of memory because it grew, that is the cause; and that its memory was
/// near the limit is clear.
void settleOutOfMemory(std::vector<Finding>& found) {
  const auto end = std::find_if(found.begin(), found.end(), [](const Finding& each) {
    return each.kind == FindingKind::OutOfMemory;
  });
  if (end == found.end()) return;
  const auto growth = std::find_if(found.begin(), found.end(), [](const Finding& each) {
    return each.kind == FindingKind::MemoryGrowth || each.kind == FindingKind::MemoryJumps ||
           each.kind == FindingKind::DriverGrowth || each.kind == FindingKind::ShapeGrowth;
  });
  if (growth != found.end()) {
    end->advice = "memory grows while the training goes on: mend that first (" + growth->title +
                  "); a smaller batch would only end later";
  }
  std::erase_if(found, [](const Finding& each) { return each.kind == FindingKind::NearLimit; });
}

/// A value that is read at times, as the advice says, is no problem.
void dropRareReads(double meanStepMs, std::vector<Finding>& found) {
  std::erase_if(found, [leastMs = kLeastRareShare * meanStepMs](const Finding& each) {
    if (!each.rare || each.withinNoise) return each.rare;
    // Of a single wait in the whole run nothing tells what it gains.
    return each.gainMs ? each.gainMs->estimate < leastMs : each.count == 1;
  });
}

/// What is vague, as that ops are queued slowly, comes after what is measured and gains a fifth of
/// its weight.
double rankOf(const Finding& finding) {
  return finding.vague ? finding.weight / 5 : finding.weight;
}

/// Where the device is the bottleneck, waits take much of the host's time and hardly any of the
/// training's: says so beside the verdict. What findings save otherwise is theirs to say.
void addCostOfWaits(double medianMs, Findings& findings) {
  Verdict& verdict = findings.verdict;
  if (verdict.bottleneck != Bottleneck::kDevice) return;
  const auto& gain = findings.gainOfWaitsMs;
  findings.waitsCostLittle =
      gain ? gain->estimate <= kLittleSaved * medianMs
           : std::none_of(findings.found.begin(), findings.found.end(),
                          [](const Finding& each) { return each.waitsMs.has_value(); });
  if (!findings.waitsCostLittle) return;
  verdict.text += (gain ? " Removing the host's waits saves " + gainText(*gain)
                        : " The host's waits cost little") +
                  ": the device works meanwhile.";
}

Finding deviceUnused(const LiveStore& store) {
  const auto& steps = store.steps().records;
  Finding finding;
  finding.kind = FindingKind::DeviceUnused;
  finding.weight = 1;
  finding.firstStep = steps.front().step();
  finding.lastStep = steps.back().step();
  const bool trains = store.run() && store.run()->stepsAre == StepsAre::kTraining;
  finding.title = std::string("The device is not used: the script ") +
                  (trains ? "trains" : "runs") + " on the CPU";
  finding.evidence =
      "in " + std::to_string(steps.size()) +
      " steps no tensor was on MPS: current stayed at 0 B, and the host never waited "
      "for the device";
  finding.advice =
      "choose the device with torch.accelerator.current_accelerator(), or with "
      "torch.backends.mps.is_available() in place of torch.cuda.is_available(), and move the model "
      "and its batches there";
  return finding;
}

}  // namespace

std::size_t Findings::priced() const {
  return static_cast<std::size_t>(std::count_if(
      found.begin(), found.end(), [](const Finding& each) { return each.gainMs.has_value(); }));
}

bool Findings::driverMemoryGrows() const {
  return std::any_of(found.begin(), found.end(), [](const Finding& each) {
    return each.kind == FindingKind::MemoryGrowth || each.kind == FindingKind::MemoryJumps ||
           each.kind == FindingKind::ShapeGrowth || each.kind == FindingKind::Fragmentation ||
           each.kind == FindingKind::DriverGrowth;
  });
}

namespace {

/// The most steps in a row of which none was tried; all where these are few.
StepRows longestUntried(const LiveStore& store) {
  const auto& records = store.steps().records;
  const StepRows all{0, records.size()};
  StepRows longest, current{0, 0};
  for (const auto& [first, last] : store.tried()) {
    current.last = store.steps().firstRowFrom(first);
    if (current.size() > longest.size()) longest = current;
    // The step after a try begins with an idle device.
    current.first =
        last < records.back().step() ? store.steps().firstRowFrom(last + 2) : records.size();
  }
  current.last = records.size();
  if (current.last > current.first && current.size() > longest.size()) longest = current;
  return longest.size() > kLeastSteps + 1 ? longest : all;
}

}  // namespace

Turns<Findings> findProblemsInTurns(const LiveStore& store, std::optional<TimeRange> range) {
  Findings findings;
  findings.ofRange = range.has_value();
  findings.unobserved = store.isUnobserved();
  if (!range) findEnd(store, findings);
  const std::size_t all = store.steps().records.size();
  if (all <= kLeastSteps) {
    if (!range) findings.verdict = earlyVerdict(store);
    co_return findings;
  }
  if (leftDeviceUnused(store)) {  // then there is nothing to say about how it is used
    if (!range) findings.found.push_back(deviceUnused(store));
    co_return findings;
  }
  const StepRows whole = range ? wholeStepsIn(store, *range) : longestUntried(store);
  const std::size_t first = std::max<std::size_t>(whole.first, 1), last = whole.last;
  if (last < first + kLeastSteps) co_return findings;

  std::vector<double> durations;
  for (const events::StepRecord& each : StepRows{first, last}.in(store)) {
    durations.push_back(toMs(each.duration_ns()));
  }
  const double meanMs = std::accumulate(durations.begin(), durations.end(), 0.0) /
                        static_cast<double>(durations.size());
  const double medianMs = medianOf(std::move(durations));
  findings.steps = last - first;
  findings.noiseMs = noiseOf(StepRows{first, last}.in(store), medianMs);
  GainAccount gains(store, first, last, medianMs, findings.noiseMs);
  const auto steps = [&] {
    const bool isPart = first > 1 || last < all;
    return CheckedSteps{store, first, StepRows{first, last}.in(store), medianMs, gains, isPart};
  };
  co_await NextTurn{};
  for (const Rule rule : kRules) {
    if (rule) {
      rule(steps(), findings);
    } else {
      co_await findHostBound(steps(), findings);
    }
    co_await NextTurn{};
  }
  findings.verdict = verdictOn(steps());
  co_await NextTurn{};
  co_await gains.settle(findings);
  const double tooHighMs = useTries(steps(), findings);
  dropRareReads(meanMs, findings.found);
  addGainOfAll(gains, tooHighMs, findings);
  addCostOfWaits(medianMs, findings);
  settleOutOfMemory(findings.found);
  std::stable_sort(findings.found.begin(), findings.found.end(),
                   [](const Finding& a, const Finding& b) {
                     return a.withinNoise != b.withinNoise ? b.withinNoise : rankOf(a) > rankOf(b);
                   });
  co_return findings;
}

Findings findProblems(const LiveStore& store, std::optional<TimeRange> range) {
  return findProblemsInTurns(store, range).finish();
}

}  // namespace highwater::analysis
