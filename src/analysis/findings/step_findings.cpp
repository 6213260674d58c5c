#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "analysis/device/device_work.h"
#include "analysis/device/range_timeline.h"
#include "analysis/findings/finding_rules.h"
#include "analysis/statistics.h"
#include "analysis/whole_steps.h"
#include "core/knobs.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

/// The share of a step, 0 to 1, that slow steps must lose on average where nothing tells why.
constexpr double kLeastUnexplainedShare = 0.05;

/// The rank of training without the mixed precision that was asked for, after what is measured to
/// cost more: a public report gained 31 % by it (jingyaogong/minimind, pull request 852), and other
/// chips gain less.
constexpr double kAutocastWeight = 0.15;

using Shape = std::pair<std::uint32_t, std::uint32_t>;

Shape shapeOf(const events::StepRecord& record) {
  return {record.batch_size(), record.sequence_length()};
}

/// The time of each step in ms without the start of a DataLoader's workers, which has a finding of
/// its own.
std::vector<double> stepTimesOf(const CheckedSteps& steps) {
  const std::vector<std::int64_t> starts = loaderStartNsOf(steps);
  std::vector<double> ms;
  ms.reserve(starts.size());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    ms.push_back(toMs(steps.records[i].duration_ns() - starts[i]));
  }
  return ms;
}

/// Sorts the step times by the batch's shape, each in order of the steps.
std::map<Shape, std::vector<double>> timesByShape(const CheckedSteps& steps,
                                                  const std::vector<double>& stepMs) {
  std::map<Shape, std::vector<double>> times;
  for (std::size_t i = 0; i < stepMs.size(); ++i) {
    times[shapeOf(steps.records[i])].push_back(stepMs[i]);
  }
  return times;
}

/// The steps that take far longer than others of the same shape, as indices of
/// CheckedSteps::records.
struct SlowSteps {
  std::vector<std::size_t> slow, others;
  std::vector<double> timesLonger;  ///< of the slow ones: time over the median
  double lostMs = 0;                ///< over the median, of all slow steps
  double mostLostMs = 0;            ///< of one of them
};

/// A shape is that of an epoch's last batch where so many times as many steps have a larger one.
constexpr std::size_t kLeastTimesMore = 4;

/// What a step of a shape usually takes, in ms. The last batch of each epoch, which has a shape of
/// its own, takes at most what those with larger batches do. 0 where that is not known.
double usualMs(const std::map<Shape, std::vector<double>>& times,
               const std::map<Shape, double>& medians, const Shape& shape) {
  const std::size_t count = times.at(shape).size();
  double least = 0;
  for (const auto& [other, ms] : medians) {
    const bool isLarger = shape.first > 0 && other.first >= shape.first &&
                          other.second >= shape.second &&
                          times.at(other).size() >= kLeastTimesMore * count;
    if ((isLarger || other == shape) && (least == 0 || ms < least)) least = ms;
  }
  return least;
}

SlowSteps slowStepsOf(const CheckedSteps& steps, const std::vector<double>& stepMs) {
  SlowSteps found;
  const std::map<Shape, std::vector<double>> times = timesByShape(steps, stepMs);
  std::map<Shape, double> medians;
  for (const auto& [shape, each] : times) {
    if (each.size() >= kLeastSteps) medians[shape] = medianOf(each);
  }
  for (std::size_t i = 0; i < steps.records.size(); ++i) {
    const double median = usualMs(times, medians, shapeOf(steps.records[i]));
    if (median <= 0) continue;
    const double ms = stepMs[i];
    if (ms < kSlowStepFactor * median) {
      found.others.push_back(i);
      continue;
    }
    found.slow.push_back(i);
    found.timesLonger.push_back(ms / median);
    found.lostMs += ms - median;
    found.mostLostMs = std::max(found.mostLostMs, ms - median);
  }
  return found;
}

/// What the host did in each checked step, in ms by HostWork, without waiting for the device.
using WorkOfStep = std::array<double, kHostWorks>;

std::vector<WorkOfStep> hostWorkOf(const CheckedSteps& steps, const std::vector<double>& stepMs) {
  std::vector<WorkOfStep> works(steps.records.size());
  const RangeTimeline timeline(steps.store, steps.firstRow, steps.firstRow + steps.records.size());
  for (const HostSpan& span : timeline.host.work) {
    if (span.row < steps.firstRow || span.row - steps.firstRow >= works.size()) continue;
    works[span.row - steps.firstRow][static_cast<std::size_t>(span.work)] += toMs(span.ns());
  }
  for (std::size_t i = 0; i < works.size(); ++i) {
    double& inStep = works[i][static_cast<std::size_t>(HostWork::InStep)];
    inStep = std::max(inStep - toMs(steps.records[i].duration_ns()) + stepMs[i], 0.0);
  }
  return works;
}

/// What makes the slow steps slow.
struct SwingCause {
  HostWork work = HostWork::InStep;
  double excessMs = 0;  ///< over the median of the other steps, of all slow steps
  double medianMs = 0;  ///< of the other steps
};

template <typename Of>
SwingCause excess(const SlowSteps& steps, Of&& ms) {
  std::vector<double> usual;
  for (const std::size_t i : steps.others) usual.push_back(ms(i));
  SwingCause cause;
  cause.medianMs = medianOf(std::move(usual));
  for (const std::size_t i : steps.slow) {
    cause.excessMs += std::max(ms(i) - cause.medianMs, 0.0);
  }
  return cause;
}

std::optional<SwingCause> hostCauseOf(const CheckedSteps& steps, const std::vector<double>& stepMs,
                                      const SlowSteps& slow) {
  const std::vector<WorkOfStep> works = hostWorkOf(steps, stepMs);
  SwingCause worst;
  for (const HostWork work : {HostWork::BatchAssembly, HostWork::DeviceMove, HostWork::Queueing,
                              HostWork::Reading, HostWork::Fallback, HostWork::InStep}) {
    SwingCause cause =
        excess(slow, [&](std::size_t i) { return works[i][static_cast<std::size_t>(work)]; });
    cause.work = work;
    if (cause.excessMs > worst.excessMs) worst = cause;
  }
  return worst.excessMs >= kLeastExplainedShare * slow.lostMs ? std::optional(worst) : std::nullopt;
}

/// Whether the device itself took longer. Not asked of the simulated device, which shares the
/// machine's cores with every other program.
bool isDeviceSlower(const CheckedSteps& steps, const SlowSteps& slow) {
  if (steps.store.simulated()) return false;
  const auto& deviceMs = steps.store.steps().deviceMs;
  const SwingCause cause = excess(slow, [&](std::size_t i) {
    const double ms = deviceMs[steps.firstRow + i];
    return std::isnan(ms) ? 0 : ms;
  });
  return cause.medianMs > 0 && cause.excessMs >= kLeastExplainedShare * slow.lostMs;
}

const char* workName(HostWork work) {
  switch (work) {
    case HostWork::BatchAssembly:
      return "batch assembly";
    case HostWork::DeviceMove:
      return "the device move";
    case HostWork::Queueing:
      return "queueing ops";
    case HostWork::Reading:
      return "reading and logging values";
    case HostWork::Fallback:
      return "ops that fall back to the CPU";
    default:
      return "host work outside of the step's phases";
  }
}

const char* swingAdvice(HostWork work) {
  switch (work) {
    case HostWork::BatchAssembly:
      return "have batches ready before they are needed: load ahead on another thread or in "
             "DataLoader workers (prefetch_factor), and read the data once";
    case HostWork::Reading:
      return "log and save on another thread, or less often";
    default:
      return "look at one of the slow steps in the timeline: the host stands still there, as for "
             "Python's garbage collection, saving a file, or another program on the same cores";
  }
}

/// The share of the slow steps, 0 to 1, that must come at the same interval: another program may
/// make others slow. By chance, where a fifth of the steps are slow, a quarter come four to six
/// steps after the one before.
constexpr double kLeastRegularShare = 0.6;
constexpr std::size_t kLeastIntervals = 8;

/// The interval at which the slow steps come, as what a script does every few steps; 0: they do
/// not.
std::size_t intervalOf(const SlowSteps& steps) {
  const auto& slow = steps.slow;
  if (slow.size() < kLeastSlowSteps) return 0;
  std::vector<double> intervals;
  for (std::size_t i = 1; i < slow.size(); ++i) {
    intervals.push_back(static_cast<double>(slow[i] - slow[i - 1]));
  }
  const double interval = medianOf(intervals);
  if (intervals.size() < kLeastIntervals) {  // then all must fit
    const auto [least, longest] = std::minmax_element(intervals.begin(), intervals.end());
    return *least > 1 && *longest - *least <= 1 ? static_cast<std::size_t>(*least) : 0;
  }
  const double most = interval >= 4 ? 1 : 0;
  const auto regular = std::count_if(intervals.begin(), intervals.end(), [&](double each) {
    return std::abs(each - interval) <= most;
  });
  const bool isRegular =
      static_cast<double>(regular) >= kLeastRegularShare * static_cast<double>(intervals.size());
  return isRegular && interval > 1 ? static_cast<std::size_t>(std::lround(interval)) : 0;
}

/// Whether most of the slow steps wait until the workers of a DataLoader have started.
bool startsLoaders(const CheckedSteps& steps, const SlowSteps& slow) {
  const std::vector<std::int64_t> starts = loaderStartNsOf(steps);
  const auto count = std::count_if(slow.slow.begin(), slow.slow.end(),
                                   [&](std::size_t i) { return starts[i] > 0; });
  return 2 * static_cast<std::size_t>(count) >= slow.slow.size();
}

/// Whether the work tells by itself why the host was slow.
bool isExplained(HostWork work) {
  return work == HostWork::BatchAssembly || work == HostWork::Reading || work == HostWork::Fallback;
}

/// Few steps, as the first of each epoch, matter where they lose this share of all time, 0 to 1.
constexpr double kLeastStillShare = 0.1;
/// What loses more than this share of that in one step may never come again.
constexpr double kMostOfOneStep = 0.75;

/// Whether a few steps lose so much time that the host stands still in them, and not in one alone.
bool standsStill(const CheckedSteps& steps, const SlowSteps& slow) {
  if (slow.mostLostMs > kMostOfOneStep * slow.lostMs) return false;
  std::int64_t allNs = 0;
  for (const events::StepRecord& each : steps.records) allNs += each.duration_ns();
  return slow.slow.size() > 1 && slow.lostMs >= kLeastStillShare * toMs(allNs);
}

/// Names the lines at which the host works in the slow steps, if host samples tell: half as many as
/// there are such steps. A host whose core is taken by another program is hardly sampled. Returns
/// whether they do.
bool nameSlowLines(const CheckedSteps& steps, const SlowSteps& slow, HostWork work,
                   Finding& finding) {
  const bool assembles = work == HostWork::BatchAssembly;
  finding.advice =
      (assembles ? std::string()
                 : "do it less often, only with what is new since the last time, or on another "
                   "thread. Else ") +
      swingAdvice(work);
  const auto phase = assembles ? events::Phase::BatchAssembly : events::Phase::None;
  nameHostLines(
      steps, steps.firstToLast(),
      [&](const AccountSpan& span) {
        return span.part.region == Region::Step && span.part.phase == phase &&
               std::binary_search(slow.slow.begin(), slow.slow.end(), span.row - steps.firstRow);
      },
      finding, (slow.slow.size() + 1) / 2);
  return !finding.line.empty();
}

/// A setting of batch and length that the run has trained at.
struct Setting {
  Shape shape;
  double lowMs = 0, medianMs = 0, highMs = 0;  ///< quartiles of the step time
  [[nodiscard]] double samples() const { return shape.first; }
};

Setting settingOf(const Shape& shape, std::vector<double> times) {
  Setting setting{shape, percentileOf(times, 25), 0, percentileOf(times, 75)};
  setting.medianMs = medianOf(std::move(times));
  return setting;
}

}  // namespace

void findStepSwings(const CheckedSteps& steps, Findings& findings) {
  if (steps.store.phases().empty()) return;  // the cause would be unknown
  const std::vector<double> stepMs = stepTimesOf(steps);
  const SlowSteps slow = slowStepsOf(steps, stepMs);
  const auto counted = static_cast<double>(slow.slow.size() + slow.others.size());
  const bool isRare = slow.slow.size() < kLeastSlowSteps ||
                      static_cast<double>(slow.slow.size()) < kLeastSlowShare * counted;
  if (slow.others.size() < kLeastSteps || (isRare && !standsStill(steps, slow))) return;
  const std::optional<SwingCause> host = hostCauseOf(steps, stepMs, slow);
  if (!host && (isRare || !isDeviceSlower(steps, slow))) return;
  const double lostMs = slow.lostMs / static_cast<double>(steps.records.size());
  const std::size_t interval = intervalOf(slow);
  Finding finding = steps.ofTime(FindingKind::StepTimeSwings, lostMs);
  finding.where = host ? workName(host->work) : "the device";
  const bool isNamed =
      host &&
      (host->work == HostWork::InStep || (isRare && host->work == HostWork::BatchAssembly)) &&
      nameSlowLines(steps, slow, host->work, finding);
  // Where nothing tells why the host stood still, another program may have had its core: only what
  // comes at intervals, or at one line each time, is the script's own.
  const bool isExplainedHere = host && isExplained(host->work);
  if (isRare ? !isNamed : host && !isExplainedHere && interval == 0) return;
  const double leastMs = std::max(kLeastUnexplainedShare * steps.medianMs, steps.gains.noiseMs());
  if (host && !isExplainedHere && lostMs / 2 < leastMs) return;
  // The starts of DataLoader workers are a finding of their own.
  if (host && host->work == HostWork::BatchAssembly && startsLoaders(steps, slow)) return;
  finding.firstStep = steps.records[slow.slow.front()].step();
  finding.lastStep = steps.records[slow.slow.back()].step();
  finding.count = slow.slow.size();
  const std::string count = std::to_string(slow.slow.size()) + " of " +
                            std::to_string(slow.slow.size() + slow.others.size()) + " steps";
  finding.title =
      "Step times swing: " +
      (isRare ? count
              : percentText(static_cast<double>(slow.slow.size()) / counted) + " of the steps") +
      " take " + formatDecimals(medianOf(slow.timesLonger), 1) + " times as long as others, " +
      costText(*finding.waitsMs);
  const std::string lines = std::exchange(finding.evidence, {});
  finding.evidence = count + ", the first " + std::to_string(finding.firstStep) +
                     "; most of the time is lost in " + finding.where;
  if (interval > 1) finding.evidence += "; mostly every " + std::to_string(interval) + " steps";
  if (host) {
    const double perSlow = host->excessMs / static_cast<double>(slow.slow.size());
    finding.evidence += ": " + formatMs(host->medianMs + perSlow) + " in place of " +
                        formatMs(host->medianMs) + lines;
    if (!isNamed) finding.advice = swingAdvice(host->work);
    // It may be another program, so that nothing of the script's can be mended.
    if (!isExplainedHere && !isNamed) {
      const Gain gain{0, *finding.waitsMs / 2, *finding.waitsMs};
      finding.vague = true;
      steps.gains.add(findings, std::move(finding), gain);
      return;
    }
    Fix fix;
    fix.longestNs[static_cast<std::size_t>(host->work)] =
        static_cast<std::int64_t>(host->medianMs * kNsPerMs);
    steps.gains.add(findings, std::move(finding), std::move(fix));
  } else {
    finding.advice =
        "look for other programs that use the GPU, and for heat: a Mac that is warm "
        "slows down";
    const Gain gain{0, *finding.waitsMs, *finding.waitsMs};
    steps.gains.add(findings, std::move(finding), gain);
  }
}

void findSmallBatch(const CheckedSteps& steps, Findings& findings) {
  const auto times = timesByShape(steps, stepTimesOf(steps));
  const Shape now = shapeOf(steps.records[newestOfSettledBatch(steps.records)]);
  const auto current = times.find(now);
  if (now.first == 0 || current->second.size() < kLeastSteps) return;
  const Setting small = settingOf(now, current->second);
  std::optional<Setting> best;
  for (const auto& [shape, ms] : times) {
    // Only the batch differs, so that the samples are the same work.
    if (shape.second != now.second || shape.first < 2 * now.first || ms.size() < kLeastSteps) {
      continue;
    }
    const Setting large = settingOf(shape, ms);
    const auto perSample = [](const Setting& each) { return each.medianMs / each.samples(); };
    if (!best || perSample(large) < perSample(*best)) best = large;
  }
  if (!best || best->medianMs <= 0) return;
  const double share = small.samples() / best->samples();
  const double faster = small.medianMs / (best->medianMs * share);
  if (faster < kLeastBatchSpeedup) return;
  const Gain gain{std::max(small.lowMs - best->highMs * share, 0.0),
                  small.medianMs - best->medianMs * share, small.highMs - best->lowMs * share};
  Finding finding = steps.ofTime(FindingKind::BatchTooSmall, gain.estimate);
  finding.estimate = true;
  finding.title = "Batch too small to fill the device: batch size " +
                  std::to_string(best->shape.first) + " trained " + formatDecimals(faster, 1) +
                  " times as many samples a second as " + std::to_string(now.first);
  finding.evidence = "median step time " + formatMs(small.medianMs) + " at batch size " +
                     std::to_string(now.first) + " (" + std::to_string(current->second.size()) +
                     " steps), " + formatMs(best->medianMs) + " at " +
                     std::to_string(best->shape.first) + " (" +
                     std::to_string(times.at(best->shape).size()) +
                     " steps), the same sequence length; the gain is for " +
                     std::to_string(now.first) + " samples";
  finding.advice = "use a larger batch, as memory allows, and adapt the learning rate to it";
  steps.gains.add(findings, std::move(finding), gain);
}

/// What the forward pass of a step computed in: the model's dtype, or autocast's.
std::string computedIn(const LiveStore& store, const events::StepRecord& step) {
  if (!store.run()) return {};
  Precision precision = store.run()->knobs.precision;
  for (const events::Marker& marker : store.markers()) {
    const bool isChange = marker.kind() == events::MarkerKind::Precision;
    if (isChange && marker.step() <= step.step()) {
      precision = static_cast<Precision>(static_cast<int>(marker.value_after()));
    }
  }
  const bool isAutocast = precision == Precision::kFloat16 || precision == Precision::kBFloat16;
  if (isAutocast) return std::string(precisionName(precision));
  // Of a script: "float32, autocast float16".
  constexpr std::string_view kAutocast = "autocast ";
  const std::string& dtype = store.run()->dtype;
  const auto at = dtype.find(kAutocast);
  return at == std::string::npos ? dtype : dtype.substr(at + kAutocast.size());
}

void findNonFiniteLoss(const CheckedSteps& steps, Findings& findings) {
  std::uint64_t reads = 0, nonFinite = 0;
  const events::StepRecord *first = nullptr, *last = nullptr, *finite = nullptr;
  for (const events::StepRecord& record : steps.records) {
    if (record.loss_read() == 0) continue;
    ++reads;
    if (std::isfinite(record.loss())) {
      if (!first) finite = &record;
      continue;
    }
    ++nonFinite;
    if (!first) first = &record;
    last = &record;
  }
  if (!first) return;
  const std::string dtype = computedIn(steps.store, *first);
  const bool isFloat16 = dtype == "float16";
  Finding finding =
      steps.ofWeight(isFloat16 ? FindingKind::Float16Unscaled : FindingKind::NonFiniteLoss, 1);
  finding.firstStep = first->step();
  finding.lastStep = last->step();
  const std::string value = std::isnan(first->loss()) ? "NaN" : "infinite";
  const std::string when = value + " at step " + std::to_string(first->step());
  finding.title =
      isFloat16 ? "float16 without loss scaling: the loss was " + when : "Non-finite loss: " + when;
  finding.evidence = std::to_string(nonFinite) + " of " + std::to_string(reads) +
                     " losses that were read, steps " + std::to_string(first->step()) + " to " +
                     std::to_string(last->step());
  if (finite) {
    finding.evidence += "; at step " + std::to_string(finite->step()) + " it was " +
                        formatDecimals(static_cast<double>(finite->loss()), 4);
  }
  if (!dtype.empty()) finding.evidence += "; the forward pass computes in " + dtype;
  if (isFloat16) {
    finding.advice =
        "use bfloat16, which needs no loss scaling: float16 ends at 65504, and gradients below "
        "6e-8 become 0; or " +
        std::string(steps.store.ownScript() ? "scale the loss"
                                            : "train in a script of your own (highwater run), "
                                              "which can scale the loss") +
        " (torch.amp.GradScaler, on MPS since PyTorch 2.8). If it is not finite in float32 "
        "either, lower the learning rate";
  } else if (dtype == "bfloat16") {
    finding.advice =
        "train a few steps in float32: if the loss stays finite, keep the softmax, the "
        "norms and the loss in float32 (torch.autocast)";
  } else {
    finding.advice =
        "lower the learning rate, clip the gradients, look for log(0) and division by "
        "0; torch.autograd.detect_anomaly() names the op";
  }
  findings.found.push_back(std::move(finding));
}

void findAutocastOff(const CheckedSteps& steps, Findings& findings) {
  // A script may also use the autocast of its device, or hold its model in another type.
  const CodeSign* sign = steps.store.sign(kAutocastOffSign);
  if (!sign || steps.store.run()->dtype != "float32") return;
  Finding finding = steps.ofWeight(FindingKind::AutocastOff, kAutocastWeight);
  finding.line = sign->line;
  const std::string device = '"' + sign->text + '"';
  finding.title = "No mixed precision: autocast is for " + device +
                  ", which this machine has not, so all is computed in " + steps.store.run()->dtype;
  finding.evidence = "torch.autocast(" + device + ") at " + sign->line +
                     "; PyTorch says so in one warning, and turns it off";
  finding.advice = "at " + sign->line +
                   ": give the device that trains, torch.autocast(\"mps\", torch.bfloat16), which "
                   "needs no GradScaler; compare the times of a step, as not each chip gains";
  findings.found.push_back(std::move(finding));
}

namespace {

/// A finding that is known by a sign of the script's code: up to the sign's share of a step can be
/// saved, of which half is assumed. What is computed for nothing takes another share of the time
/// than it has of the parameters or of the tokens. Empty without the sign.
std::optional<Finding> findingOfSign(const CheckedSteps& steps, FindingKind kind,
                                     const CodeSign* sign) {
  if (!sign) return std::nullopt;
  // The mean: a host that waits only now and then has a median step without the device's time.
  std::int64_t stepsNs = 0;
  for (const events::StepRecord& each : steps.records) stepsNs += each.duration_ns();
  Finding finding = steps.ofTime(kind, sign->share * steps.perStepMs(stepsNs));
  finding.estimate = true;
  finding.line = sign->line;
  return finding;
}

/// Adds it, with its advice for its line.
void addOfSign(const CheckedSteps& steps, Finding finding, const std::string& advice,
               Findings& findings) {
  finding.advice = (finding.line.empty() ? "" : "at " + finding.line + ": ") + advice;
  const double mostMs = *finding.waitsMs;
  steps.gains.add(findings, std::move(finding), Gain{0, mostMs / 2, mostMs});
}

void findRaggedRows(const CheckedSteps& steps, Findings& findings) {
  const CodeSign* sign = steps.store.sign(kRaggedRowsSign);
  auto finding = findingOfSign(steps, FindingKind::Padding, sign);
  if (!finding) return;
  finding->title = "Padding: " + percentText(sign->share) +
                   " of each batch is padding, as the lengths of its rows differ";
  finding->evidence = sign->text + "; the model computes the padding too";
  addOfSign(steps, std::move(*finding),
            "put rows of about the same length into a batch: shuffle, sort some hundred of them at "
            "a time by length, and cut batches from these (a bucket sampler; a Trainer of "
            "transformers can group by length); then pad to a multiple of 32 or 64, so that few "
            "lengths occur: each new one takes time and memory of its own on MPS",
            findings);
}

}  // namespace

void findPadding(const CheckedSteps& steps, Findings& findings) {
  const CodeSign* sign = steps.store.sign(kPaddingSign);
  auto finding = findingOfSign(steps, FindingKind::Padding, sign);
  if (!finding) return findRaggedRows(steps, findings);
  finding->title = "Padding: " + percentText(sign->share) + " of each batch is padding in all rows";
  finding->evidence = sign->text +
                      "; unless the script packs them, the model computes them all, and "
                      "attention by the square of the length";
  addOfSign(
      steps, std::move(*finding),
      "pad to the longest row of each batch (padding=True in place of \"max_length\"), rounded "
      "up to a multiple of 32 or 64 (pad_to_multiple_of) so that few lengths occur: each new "
      "one takes time and memory of its own on MPS",
      findings);
}

/// A frozen model that does less of the work, 0 to 1, is not worth a change of the script.
constexpr double kLeastFrozenShare = 0.15;

void findFrozenModel(const CheckedSteps& steps, Findings& findings) {
  const CodeSign* sign = steps.store.sign(kFrozenModelSign);
  if (!sign) return;
  const DeviceWorkShare share = deviceWorkShare(steps.store, sign->text);
  if (share.low < kLeastFrozenShare) return;
  CodeSign ofDevice = *sign;
  ofDevice.share = share.high;
  auto finding = findingOfSign(steps, FindingKind::FrozenModel, &ofDevice);
  finding->title = "Untrained model: " + sign->text + " takes " + shareText(share) +
                   " of the device's work in a step, and no optimizer trains it";
  finding->evidence = "by the sizes of its ops; it is called without gradients in each step";
  addOfSign(steps, std::move(*finding),
            "where its input is the same in each epoch and it stays as it is (it does not follow "
            "the trained model), compute its outputs once, before the training, and load those "
            "(random augmentation comes after it then, or in a few variants); else call it in "
            "bfloat16, or take a smaller one",
            findings);
}

/// What is computed again in less of the work, 0 to 1, is not worth a change of the script.
constexpr double kLeastRepeatedShare = 0.1;

void findRepeatedWeights(const CheckedSteps& steps, Findings& findings) {
  const auto& work = steps.store.opWork();
  if (work.empty() || !steps.store.ownScript()) return;
  const std::uint32_t step = work.front().step();
  const auto calls = std::count_if(
      steps.store.phases().begin(), steps.store.phases().end(), [step](const auto& each) {
        return each.step() == step && each.phase() == events::Phase::Forward;
      });
  const RepeatedWeights found = repeatedWeights(steps.store, static_cast<std::uint32_t>(calls));
  if (found.low < kLeastRepeatedShare) return;
  CodeSign sign;
  sign.line = found.site.line;
  sign.share = found.high;
  auto finding = findingOfSign(steps, FindingKind::RepeatedWeights, &sign);
  finding->where = found.module;
  finding->title = "Repeated weights: " + std::to_string(found.times) +
                   " times a step the weights of " + found.module +
                   " are computed from the same parameters";
  finding->evidence = "by the sizes of its ops in step " + std::to_string(step) +
                      " all times but the first take " + shareText(found) +
                      " of the device's work, backward included";
  if (found.modules > 1) {
    finding->evidence += "; so it is with " + std::to_string(found.modules) + " modules in all";
  }
  addOfSign(
      steps, std::move(*finding),
      "the weights that are used here are computed once where the model is called in a with "
      "torch.nn.utils.parametrize.cached(): block; end the block before optimizer.step(), "
      "and let nothing under torch.no_grad(), such as a reentrant checkpoint, be the first to "
      "use them in it: they have no gradients then. The older torch.nn.utils.weight_norm has no "
      "such cache: take torch.nn.utils.parametrizations.weight_norm",
      findings);
}

void findRepeatedBackward(const CheckedSteps& steps, Findings& findings) {
  const CodeSign* grad = steps.store.sign(kRepeatedGradSign);
  const CodeSign* sign = grad ? grad : steps.store.sign(kRepeatedBackwardSign);
  if (!sign) return;
  const DeviceWorkShare backward = backwardWorkShare(steps.store);
  if (backward.high <= 0) return;
  CodeSign ofDevice = *sign;
  // Nodes differ in their work: of this addOfSign() takes half as the estimate.
  ofDevice.share = std::min(2 * sign->share, 1.0) * backward.high;
  auto finding = findingOfSign(steps, FindingKind::RepeatedBackward, &ofDevice);
  finding->title = std::string("Repeated backward: ") +
                   (grad ? "torch.autograd.grad()" : "backward()") +
                   " goes through what the backward() of the same step goes through again";
  finding->evidence = "of all nodes that the backwards of a step go through, by their number, " +
                      percentText(sign->share) + " are gone through there, and " +
                      (sign->text.empty() ? "a later line" : sign->text) +
                      " goes through them again; backward is " + shareText(backward) +
                      " of the device's work, by the sizes of its ops";
  addOfSign(steps, std::move(*finding),
            grad ? "weigh the losses anew every tenth step only; or, where the gradients of all "
                   "terms of the loss are there, add them up, weighted, into .grad in place of "
                   "calling backward()"
                 : "add the losses, and call backward() once, without retain_graph=True: the "
                   "gradients are the same, unless the script uses those of each loss by "
                   "themselves or a hook changes them",
            findings);
}

void findUnusedGradients(const CheckedSteps& steps, Findings& findings) {
  const CodeSign* dropped = steps.store.sign(kDroppedGradientsSign);
  if (auto finding = findingOfSign(steps, FindingKind::UnusedGradients, dropped)) {
    finding->title =
        "Unused gradients: backward goes on into " + dropped->text + ", which is not trained then";
    finding->evidence =
        "its gradients, " + percentText(dropped->share) +
        " of all by the number of parameters, are cleared before its own optimizer steps";
    addOfSign(steps, std::move(*finding),
              "call it under torch.no_grad() where another model is trained with its output, or "
              "detach() the output",
              findings);
  }
  const CodeSign* sign = steps.store.sign(kUnusedGradientsSign);
  auto finding = findingOfSign(steps, FindingKind::UnusedGradients, sign);
  if (!finding) return;
  finding->title = "Unused gradients: " + percentText(sign->share) +
                   " of the parameters with gradients are in no optimizer";
  finding->evidence =
      "backward computes them, and forward keeps its activations for that: most are of the model " +
      sign->text + (sign->line.empty() ? "" : ", which is called at " + sign->line);
  addOfSign(steps, std::move(*finding),
            "set requires_grad_(False) on what is not trained, before the training; a model that "
            "nothing trained feeds, such as a teacher, is best called under torch.no_grad()",
            findings);
}

}  // namespace highwater::analysis
