#include "tuning/sweep_planner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "core/units.h"

namespace highwater::tuning {
namespace {

/// A batch counts as the largest if the next step would not be larger by more than this share.
/// The second is for the throughput, which such a step hardly changes.
constexpr double kCloseEnough = 0.02, kCloseEnoughForThroughput = 0.1;
/// Throughput within this share of the best counts as equally good: less memory wins then.
constexpr double kNearlyBest = 0.95;
/// Neighbouring batches whose throughput differs by less need no batch between them.
constexpr double kWorthAGap = 0.05;
/// Neighbours closer than this ratio need none either; those farther apart than the second ratio
/// get one whatever their throughput is.
constexpr double kCloseRatio = 1.15, kFarRatio = 4;
/// Of a batch to the largest measured one: from here on the way to the largest comes first.
constexpr double kMuchLarger = 1.25;
/// A rounder batch is taken that is smaller by at most this share; by the second where the largest
/// is asked for. Between two others any will do that differs by a smaller factor than the third.
constexpr double kRounderBelow = 0.015, kRounderLargest = 0.005, kRounderBetween = 1.1;
/// So many settings at most are measured again in turns, if they have at least this share of the
/// best throughput.
constexpr std::size_t kMostContenders = 3;
constexpr double kContends = 0.85;

/// How many times as many tokens as were measured so far a setting may have: while only bounds are
/// known, and once requests are played. With these the tuner bench needs no more settings than
/// without a bound (with 8 for the second, a third of its pairs needed one more).
constexpr double kMostGrowth = 4, kMostGrowthPlayed = 16;

const Observation& observationOf(const SweptSetting& setting) {
  return setting;
}

double shareOf(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

std::string percent(double share) {
  return formatDecimals(100 * share, 0) + " %";
}

/// "12.3k tokens/s (middle half 12.1k to 12.5k)".
std::string rateText(const SweptSetting& point, const std::string& unit) {
  return formatRate(point.tokensPerS) + ' ' + unit + " (middle half " +
         formatRate(point.lowerQuartile) + " to " + formatRate(point.upperQuartile) + ")";
}

/// Whether the quartiles of two throughputs overlap.
bool isWithinNoise(const SweptSetting& a, const SweptSetting& b) {
  return a.lowerQuartile <= b.upperQuartile && b.lowerQuartile <= a.upperQuartile;
}

/// Whether a setting is nearly as fast as the fastest, or cannot be told from it.
bool isNearlyAsFast(const SweptSetting& each, const SweptSetting& fastest) {
  return each.tokensPerS >= kNearlyBest * fastest.tokensPerS ||
         each.upperQuartile >= fastest.tokensPerS;
}

/// By which of two settings that are as fast the better one is smaller.
std::pair<std::uint64_t, std::uint64_t> memoryRank(const SweptSetting& each) {
  return {each.bytes(), each.setting.tokens()};
}

/// "a, b and c".
std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  }
  return text;
}

}  // namespace

Result<SweepPlanner> SweepPlanner::make(SweepOptions options, const MemoryLimits& limits,
                                        std::vector<Observation> known) {
  std::erase(options.lengths, 0U);
  std::sort(options.lengths.begin(), options.lengths.end());
  options.lengths.erase(std::unique(options.lengths.begin(), options.lengths.end()),
                        options.lengths.end());
  options.batchMultiple = std::max(1U, options.batchMultiple);
  options.smallestBatch = std::max(1U, options.smallestBatch);
  if (options.lengths.empty()) return usageError("the sweep has no sequence length; name one");
  if (options.mostSettings == 0) return usageError("a sweep of 0 settings measures nothing");
  if (!(options.reserve >= 0 && options.reserve < 1)) {
    return usageError("the reserve must be from 0 to below 1, a part of the recommended maximum");
  }
  SweepPlanner planner(std::move(options), limits);
  const SweepOptions& chosen = planner.options_;
  if (planner.smallest() > chosen.largestBatch) {
    const std::string multiple =
        chosen.batchMultiple > 1 ? " that is a multiple of " + std::to_string(chosen.batchMultiple)
                                 : "";
    return usageError("the bounds leave no batch size: there is none from " +
                      std::to_string(chosen.smallestBatch) + " to " +
                      std::to_string(chosen.largestBatch) + multiple);
  }
  if (planner.isLimited() && chosen.knownFixed > planner.limitBytes()) {
    return failure("weights, gradients and optimizer state take " + formatBytes(chosen.knownFixed) +
                   ", which is more than the limit of " + formatBytes(planner.limitBytes()) +
                   ": no batch fits; use a smaller model or a smaller reserve");
  }
  planner.known_ = std::move(known);
  planner.fit();
  return planner;
}

std::uint64_t SweepPlanner::limitBytes() const {
  const auto recommended = static_cast<double>(limits_.recommendedBytes);
  double limit = recommended * (1 - options_.reserve);
  if (limits_.highWatermarkRatio > 0) {
    limit = std::min(limit, limits_.highWatermarkRatio * recommended);
  }
  return wholeBytes(limit);
}

void SweepPlanner::fit() {
  std::vector<Observation> seen = known_;
  for (const SweptSetting& each : measured_) {
    if (!each.outOfMemory) seen.push_back(observationOf(each));
  }
  auto requests = RequestModel::make(traces_);
  auto fitted = MemoryModel::fit(seen, limits_, options_.knownFixed / 2,
                                 requests ? std::optional(std::move(*requests)) : std::nullopt,
                                 {.epochSamples = options_.epochSamples});
  model_ = fitted ? std::optional(std::move(*fitted)) : std::nullopt;
  for (SweptSetting& each : measured_) {
    each.withShorterBatch = 0;
    const bool lacksOne = model_ && !each.outOfMemory && !each.sawShorterBatch;
    if (lacksOne && model_->shorterBatch(each.setting) > 0) {
      each.withShorterBatch = model_->driver(each.setting).bytes;
    }
  }
}

void SweepPlanner::record(SweptSetting measured, std::optional<StepTrace> trace) {
  const bool keepsTrace = trace && !measured.outOfMemory;
  const Added added = add(std::move(measured));
  const bool isNew = added == Added::kNew;
  if (isNew && keepsTrace) traces_.push_back(std::move(*trace));
  // A fit takes seconds where requests are known.
  if (added != Added::kSameMemory) fit();
  if (isNew && turns_.empty() && !another()) chooseTurns();
  if (!isNew && turnsAreOver()) {
    tookTurns_ = true;
    for (SweptSetting& each : measured_) {
      if (isInTurns(each.setting)) each.useRatesAgain();
    }
  }
}

SweepPlanner::Added SweepPlanner::add(SweptSetting measured) {
  for (SweptSetting& each : measured_) {
    if (each.setting != measured.setting) continue;
    const auto memory = [&each] {
      return std::tuple(each.peakDriver, each.peakCurrent, each.outOfMemory, each.sawShorterBatch);
    };
    const auto before = memory();
    each.addRepeated(measured);
    return memory() == before ? Added::kSameMemory : Added::kOtherMemory;
  }
  measured_.push_back(std::move(measured));
  return Added::kNew;
}

bool SweepPlanner::wasMeasured(Setting setting) const {
  return std::any_of(measured_.begin(), measured_.end(),
                     [setting](const SweptSetting& each) { return each.setting == setting; });
}

/// Whether a measured setting ran out of memory, or exceeds the limit by the end of an epoch.
bool SweepPlanner::isAbove(const SweptSetting& each) const {
  return each.outOfMemory || (isLimited() && each.bytes() > limitBytes());
}

/// Whether a setting of this length ran out of memory.
bool SweepPlanner::ranOutOfMemory(std::uint32_t length) const {
  return std::any_of(measured_.begin(), measured_.end(), [length](const SweptSetting& each) {
    return each.outOfMemory && each.setting.length == length;
  });
}

/// Whether a setting of this length took more than the limit, which the model did not foresee.
bool SweepPlanner::tookTooMuch(std::uint32_t length) const {
  return std::any_of(measured_.begin(), measured_.end(), [&](const SweptSetting& each) {
    return each.setting.length == length && isAbove(each);
  });
}

/// Whether this or a smaller setting did not stay under the limit.
bool SweepPlanner::wasTooLarge(Setting setting) const {
  return std::any_of(measured_.begin(), measured_.end(), [this, setting](const SweptSetting& each) {
    return each.setting.batch <= setting.batch && each.setting.length <= setting.length &&
           isAbove(each);
  });
}

std::uint32_t SweepPlanner::rounded(std::uint32_t batch) const {
  return batch / options_.batchMultiple * options_.batchMultiple;
}

/// Of the batches from `least` to `most` the one that is a multiple of the largest power of two
/// (times the multiple that all must be); the rounded `most` if there is none.
std::uint32_t SweepPlanner::roundest(double least, double most) const {
  const auto end = static_cast<std::uint64_t>(most);
  for (std::uint64_t step = std::uint64_t{options_.batchMultiple} << 20;
       step >= options_.batchMultiple; step /= 2) {
    const std::uint64_t batch = end / step * step;
    if (batch > 0 && static_cast<double>(batch) >= least) return static_cast<std::uint32_t>(batch);
  }
  return rounded(static_cast<std::uint32_t>(end));
}

/// The batch of a setting that is certain to fit, or a rounder one that is little smaller and as
/// certain: a smaller one may need a heap that a larger one does not.
std::uint32_t SweepPlanner::rounder(Setting setting, double less) const {
  if (setting.batch >= options_.largestBatch) return setting.batch;
  const std::uint32_t round = roundest(setting.batch * (1 - less), setting.batch);
  const bool isSafe =
      !isLimited() || !model_ || model_->driver({round, setting.length}).upper <= limitBytes();
  return round >= smallest() && isSafe ? round : setting.batch;
}

std::uint32_t SweepPlanner::smallest() const {
  const std::uint64_t multiple = options_.batchMultiple;
  const std::uint64_t up = (options_.smallestBatch + multiple - 1) / multiple * multiple;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(up, ~std::uint32_t{0}));
}

/// Whether nothing that was measured, in the sweep or before it, stayed under the limit.
bool SweepPlanner::nothingFits() const {
  const auto fits = [this](const Observation& each) {
    return each.peakDriver > 0 && each.peakDriver <= limitBytes();
  };
  return std::all_of(measured_.begin(), measured_.end(),
                     [this](const SweptSetting& each) { return isAbove(each); }) &&
         !(isLimited() && std::any_of(known_.begin(), known_.end(), fits));
}

/// How many of the settings that the user allows are used up. Those before the first that fits do
/// not count: without it there is no result.
std::size_t SweepPlanner::used() const {
  const auto first = std::find_if(measured_.begin(), measured_.end(),
                                  [this](const SweptSetting& each) { return !isAbove(each); });
  return static_cast<std::size_t>(measured_.end() - first);
}

/// While nothing fits: a setting of half the tokens of what did not, at the same length, and at
/// shorter ones where even the smallest batch did not.
std::optional<SweptSetting> SweepPlanner::smaller() const {
  std::vector<Setting> tooLarge;
  for (const SweptSetting& each : measured_) tooLarge.push_back(each.setting);
  for (const Observation& each : known_) {
    if (isLimited() && each.peakDriver > limitBytes()) tooLarge.push_back(each.setting);
  }
  if (tooLarge.empty()) return std::nullopt;
  const Setting least =
      *std::min_element(tooLarge.begin(), tooLarge.end(),
                        [](Setting a, Setting b) { return a.tokens() < b.tokens(); });
  for (auto length = options_.lengths.rbegin(); length != options_.lengths.rend(); ++length) {
    if (*length > least.length) continue;
    const std::uint64_t half = least.tokens() / 2 / *length;
    std::uint32_t batch =
        rounded(static_cast<std::uint32_t>(std::min<std::uint64_t>(half, options_.largestBatch)));
    if (isLimited() && model_) {
      // The likely peak tells how far to go down. It may count a heap of 1 GiB that no smaller
      // batch opens: where no batch is likely to fit, the first that may fit is next.
      const std::uint64_t limit = limitBytes();
      const auto firstUnder = [&](std::uint64_t Prediction::*peak) -> std::optional<std::uint32_t> {
        for (std::uint32_t each = std::max(batch, smallest());;
             each = std::max(rounded(each / 2), smallest())) {
          if (model_->driver({each, *length}).*peak <= limit) return each;
          if (each == smallest()) return std::nullopt;
        }
      };
      auto fits = firstUnder(&Prediction::bytes);
      if (!fits) fits = firstUnder(&Prediction::lower);
      if (!fits) continue;
      batch = *fits;
    }
    batch = std::max(batch, smallest());
    const bool isAsLarge = std::any_of(tooLarge.begin(), tooLarge.end(), [&](Setting each) {
      return each.batch <= batch && each.length <= *length;
    });
    if (isAsLarge) continue;
    return stepTo({batch, *length}, "smaller than " + settingText(least) + ", which did not fit");
  }
  return std::nullopt;
}

/// The largest batch of the bounds that is safe for a length, as far as is known. 0: none.
std::optional<std::uint32_t> SweepPlanner::largestFor(std::uint32_t length) const {
  if (isLimited() && !model_) return std::nullopt;
  const auto safe = isLimited()
                        ? model_->largestSafeBatch(length, options_.largestBatch, options_.reserve)
                        : std::optional(options_.largestBatch);
  std::uint32_t largest = rounded(safe.value_or(0));
  while (largest >= smallest() && wasTooLarge({largest, length})) {
    largest = rounded(largest - 1);
  }
  if (largest >= smallest() && ranOutOfMemory(length)) {
    // What ran out of memory is not in the model: keep away from it.
    largest =
        std::min(largest, rounded(largestMeasured(length) +
                                  (largest - std::min(largest, largestMeasured(length))) / 2));
  }
  if (isLimited()) largest = belowTooLarge(largest, length);
  return largest >= smallest() ? largest : 0;
}

std::uint32_t SweepPlanner::largestMeasured(std::uint32_t length) const {
  std::uint32_t largest = 0;
  for (const SweptSetting& each : measured_) {
    if (each.setting.length == length && !isAbove(each)) {
      largest = std::max(largest, each.setting.batch);
    }
  }
  return largest;
}

/// What was trained without exceeding the limit, in the sweep and before it.
std::vector<Observation> SweepPlanner::fitting() const {
  std::vector<Observation> all;
  for (const Observation& each : known_) {
    if (!isLimited() || (each.peakDriver > 0 && each.peakDriver <= limitBytes())) {
      all.push_back(each);
    }
  }
  for (const SweptSetting& each : measured_) {
    if (!isAbove(each)) all.push_back(observationOf(each));
  }
  return all;
}

/// How long a setting will take, by the largest one of which that is known: in proportion to the
/// tokens, and to the length if that is larger, as attention is. 0: unknown.
double SweepPlanner::settingSeconds(Setting setting) const {
  std::vector<Observation> all = known_;
  for (const SweptSetting& each : measured_) all.push_back(observationOf(each));
  Observation largest;
  for (const Observation& each : all) {
    const bool isLarger = each.setting.tokens() >= largest.setting.tokens();
    if (each.stepMs > 0 && isLarger) largest = each;
  }
  if (largest.stepMs <= 0) return 0;
  const double longer = std::max(1.0, static_cast<double>(setting.length) / largest.setting.length);
  return largest.stepMs * options_.stepsPerSetting / 1000 * static_cast<double>(setting.tokens()) /
         static_cast<double>(largest.setting.tokens()) * longer;
}

/// How many times as many tokens as what was measured a setting may have. From traces that do not
/// begin with the run two settings do not tell as much.
double SweepPlanner::mostGrowth() const {
  if (!model_ || !model_->confidence().fromRequests) return kMostGrowth;
  const Confidence& confidence = model_->confidence();
  return confidence.fromStart || confidence.settings > 2 ? kMostGrowthPlayed : kMostGrowth;
}

bool SweepPlanner::isTooSlow(Setting setting) const {
  return options_.longestSettingS > 0 && settingSeconds(setting) > options_.longestSettingS;
}

/// The largest batch up to that of `setting` that does not take too long; 0: none.
std::uint32_t SweepPlanner::fastEnough(Setting setting) const {
  if (!isTooSlow(setting)) return setting.batch;
  const double share = options_.longestSettingS / settingSeconds(setting);
  std::uint32_t batch = rounded(static_cast<std::uint32_t>(share * setting.batch));
  while (batch > 0 && isTooSlow({batch, setting.length})) batch = rounded(batch - 1);
  return batch >= smallest() ? batch : 0;
}

/// The largest batch up to that of `setting` that is not too far from what was measured, and safe;
/// 0: none that is larger than the measured ones. The smallest batch of a length is never too far.
std::uint32_t SweepPlanner::nearEnough(Setting setting) const {
  std::uint64_t tokens = 0;
  for (const Observation& each : fitting()) tokens = std::max(tokens, each.setting.tokens());
  const double most =
      mostGrowth() * static_cast<double>(std::max<std::uint64_t>(tokens, 1)) / setting.length;
  if (tokens == 0 || most >= setting.batch) return setting.batch;
  std::uint32_t batch = std::max(smallest(), rounded(static_cast<std::uint32_t>(most)));
  if (isLimited() && model_) {
    // Larger batches may be safe where this one is not: a request of 512 MiB has a heap of its own,
    // a smaller one may open one of 1 GiB.
    batch = rounded(model_->largestSafeBatch(setting.length, batch, options_.reserve).value_or(0));
  }
  return batch >= smallest() && batch > largestMeasured(setting.length) ? batch : 0;
}

/// For each length the next larger setting, if it was not measured, and why.
std::vector<SweptSetting> SweepPlanner::leftOut() const {
  std::vector<SweptSetting> all;
  for (const std::uint32_t length : options_.lengths) {
    const std::uint32_t reached = largestMeasured(length);
    const auto twice = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(std::uint64_t{2} * reached, options_.largestBatch));
    const Setting next{std::max(smallest(), rounded(twice)), length};
    if (next.batch <= reached || wasMeasured(next)) continue;
    SweptSetting left;
    left.setting = next;
    left.leftOut = true;
    if (isLimited() && model_) left.predicted = model_->driver(next);
    const auto safe = isLimited() && model_
                          ? model_->largestSafeBatch(length, next.batch, options_.reserve)
                          : std::nullopt;
    if (wasTooLarge(next)) {
      left.reason = "a setting that is no larger did not fit";
    } else if (isLimited() &&
               std::min(largestFor(length).value_or(0), safe.value_or(0)) < next.batch) {
      if (left.predicted.bytes <= 0) {
        left.reason = "nothing is known of what it would take";
      } else if (left.predicted.upper > limitBytes() || !tookTooMuch(length)) {
        left.reason = "it may take up to " + formatBytes(left.predicted.upper) +
                      ", and nothing may exceed " + formatBytes(limitBytes());
      } else {
        left.reason =
            "a larger one of this length " +
            std::string(ranOutOfMemory(length) ? "ran out of memory" : "took more than the limit") +
            ", so what it would take is not sure";
      }
    } else if (isTooSlow(next)) {
      left.reason = "its " + std::to_string(options_.stepsPerSetting) + " steps would take about " +
                    formatDecimals(settingSeconds(next), 0) + " s, and a setting may take " +
                    formatDecimals(options_.longestSettingS, 0) + " s";
    } else if (used() >= options_.mostSettings) {
      left.reason =
          "the number of settings, " + std::to_string(options_.mostSettings) + ", was used up";
    } else {
      continue;
    }
    all.push_back(std::move(left));
  }
  return all;
}

SweptSetting SweepPlanner::stepTo(Setting setting, std::string reason) const {
  SweptSetting step;
  step.setting = setting;
  step.reason = std::move(reason);
  if (model_) step.predicted = model_->driver(setting);
  return step;
}

std::optional<SweptSetting> SweepPlanner::next() const {
  // One that does not fit when it is measured again tells more than the turns would.
  const bool goOn = std::all_of(measured_.begin(), measured_.end(), [this](const auto& each) {
    return !isInTurns(each.setting) || !isAbove(each);
  });
  return turns_.empty() || !goOn ? another() : again();
}

bool SweepPlanner::turnsAreOver() const {
  return !turns_.empty() &&
         std::all_of(measured_.begin(), measured_.end(), [this](const SweptSetting& each) {
           return !isInTurns(each.setting) || (each.times > 2 && !isAbove(each));
         });
}

/// Chooses the settings whose throughput decides what is recommended: the fastest, the one of the
/// least memory that is nearly as fast with the next smaller one, which may only seem slower, and
/// where there is no such pair, the fastest of the larger ones. None where one is much faster than
/// all others, or only memory decides.
void SweepPlanner::chooseTurns() {
  if (options_.onlyLargest) return;
  const std::vector<SweptSetting> all = points();
  const std::optional<std::uint32_t> length = comparedLength(all);
  std::vector<const SweptSetting*> fast;
  for (const SweptSetting& each : all) {
    if (each.safe && each.setting.length == length && each.tokensPerS > 0) fast.push_back(&each);
  }
  if (fast.empty()) return;
  const auto isFaster = [](const SweptSetting* a, const SweptSetting* b) {
    return a->tokensPerS > b->tokensPerS;
  };
  const SweptSetting* fastest = *std::min_element(fast.begin(), fast.end(), isFaster);
  std::erase_if(fast, [fastest](const SweptSetting* each) {
    const double most = std::max(each->tokensPerS, each->upperQuartile);
    return each == fastest || most < kContends * fastest->tokensPerS;
  });
  if (fast.empty()) return;
  const auto larger = std::partition(fast.begin(), fast.end(), [fastest](const auto* each) {
    return memoryRank(*each) < memoryRank(*fastest);
  });
  std::sort(fast.begin(), larger, [](const SweptSetting* a, const SweptSetting* b) {
    return memoryRank(*a) < memoryRank(*b);
  });
  std::sort(larger, fast.end(), isFaster);
  const auto nearly = std::find_if(fast.begin(), larger, [fastest](const SweptSetting* each) {
    return isNearlyAsFast(*each, *fastest);
  });
  turns_.push_back(fastest->setting);
  for (auto each = nearly == fast.begin() ? nearly : nearly - 1; each != fast.end(); ++each) {
    if (turns_.size() < kMostContenders) turns_.push_back((*each)->setting);
  }
}

bool SweepPlanner::isInTurns(Setting setting) const {
  return std::find(turns_.begin(), turns_.end(), setting) != turns_.end();
}

/// The setting whose turn it is: all of them, and all of them backwards, so that what gets slower
/// from one measurement to the next slows each of them alike.
std::optional<SweptSetting> SweepPlanner::again() const {
  std::size_t turns = 0;
  for (const SweptSetting& each : measured_) turns += each.times - 1;
  if (turns >= 2 * turns_.size()) return std::nullopt;
  const std::size_t turn = turns < turns_.size() ? turns : 2 * turns_.size() - 1 - turns;
  return stepTo(turns_[turn], "again, in turns with what is nearly as fast");
}

/// A setting that was not measured, from which something is to be learned.
std::optional<SweptSetting> SweepPlanner::another() const {
  if (used() >= options_.mostSettings) return std::nullopt;
  if (measured_.empty() && (!isLimited() || !model_)) {
    const Setting first = options_.start.value_or(Setting{smallest(), options_.lengths.front()});
    return stepTo(first, "the first: nothing is known yet");
  }
  auto up = towardsLargest();
  if (nothingFits() && (!isLimited() || !up)) {
    if (auto step = smaller()) return step;
  }
  if (!up) up = secondTrace();
  if (options_.onlyLargest) return up;
  auto between = betweenMeasured();
  if (!up || !between) return up ? up : between;
  // The wider gap first, but a batch a few percent larger tells less than one in the middle, and
  // one that is much larger tells more of what is safe.
  const double ratio = stepRatio(up->setting);
  return ratio < kMuchLarger && ratio < stepRatio(between->setting) ? between : up;
}

/// How many times as large as the next smaller measured batch of its length a batch is.
double SweepPlanner::stepRatio(Setting setting) const {
  std::uint32_t below = 0;
  for (const SweptSetting& each : measured_) {
    const Setting other = each.setting;
    if (other.length == setting.length && other.batch < setting.batch) {
      below = std::max(below, other.batch);
    }
  }
  return below > 0 ? static_cast<double>(setting.batch) / below
                   : std::numeric_limits<double>::infinity();
}

/// The batch or, where one that is little larger took more than the limit, a batch that is as much
/// smaller than that one as it was above the limit; once such a batch fits, one in the middle. The
/// model did not foresee it, and would go on just below.
std::uint32_t SweepPlanner::belowTooLarge(std::uint32_t batch, std::uint32_t length) const {
  const std::uint32_t reached = largestMeasured(length);
  std::uint32_t tooLarge = 0;
  double most = batch;
  for (const SweptSetting& each : measured_) {
    if (each.setting.length != length || each.outOfMemory || !isAbove(each)) continue;
    tooLarge = tooLarge == 0 ? each.setting.batch : std::min(tooLarge, each.setting.batch);
    most = std::min(most, each.setting.batch * static_cast<double>(limitBytes()) /
                              static_cast<double>(each.bytes()));
  }
  if (tooLarge == 0 || reached >= tooLarge) return batch;
  const auto below = rounded(static_cast<std::uint32_t>(most));
  return std::min(batch, below > reached ? below : rounded(reached + (tooLarge - reached) / 2));
}

/// Towards the largest safe batch, at the length whose largest step is the least certain.
std::optional<SweptSetting> SweepPlanner::towardsLargest() const {
  std::optional<Setting> best;
  std::uint32_t bestTarget = 0;
  double widest = -1;
  for (const std::uint32_t length : options_.lengths) {
    const std::uint32_t reached = largestMeasured(length);
    std::uint32_t target = fastEnough({largestFor(length).value_or(0), length});
    if (target == 0 || wasMeasured({target, length})) continue;
    const double less = options_.onlyLargest ? kRounderLargest : kRounderBelow;
    target = rounder({target, length}, less);
    if (wasMeasured({target, length})) continue;
    const double close = options_.onlyLargest ? kCloseEnough : kCloseEnoughForThroughput;
    const double allowed = std::max<double>(options_.batchMultiple, close * reached);
    if (reached > 0 && static_cast<double>(target) < reached + allowed) continue;
    const std::uint32_t near = nearEnough({target, length});
    if (near == 0 || wasMeasured({near, length})) continue;
    const Range range = model_ ? model_->formula().at({target, length}) : Range{};
    const double width = range.upper - range.lower;
    if (width <= widest) continue;
    widest = width;
    best = Setting{near, length};
    bestTarget = target;
  }
  if (!best) return std::nullopt;
  if (best->batch < bestTarget) {
    return stepTo(*best, "on the way to batch " + std::to_string(bestTarget) +
                             ", as far as the settings so far reach");
  }
  const bool isOfBounds = best->batch + options_.batchMultiple > options_.largestBatch;
  return stepTo(*best, isLimited() && !isOfBounds
                           ? "the largest that is certain to stay under the limit"
                           : "the largest of the bounds");
}

/// A heap of 1 GiB may be due at any larger setting as long as the requests of only one are known:
/// then a smaller one tells how they grow.
std::optional<SweptSetting> SweepPlanner::secondTrace() const {
  if (!isLimited() || measured_.size() != 1 || traces_.empty()) return std::nullopt;
  const Setting only = measured_.front().setting;
  const Setting half{std::max(smallest(), rounded(only.batch / 2)), only.length};
  if (half == only) return std::nullopt;
  return stepTo(half, "a smaller one, to learn how the allocations grow");
}

/// Between two neighbouring safe batches of a length, where the throughput differs most for how far
/// they are apart.
std::optional<SweptSetting> SweepPlanner::betweenMeasured() const {
  std::optional<Setting> best;
  double widest = 0;
  const std::vector<SweptSetting> all = points();
  for (const std::uint32_t length : options_.lengths) {
    std::vector<std::pair<std::uint32_t, double>> row;
    for (const SweptSetting& point : all) {
      if (point.setting.length != length || !point.safe) continue;
      row.emplace_back(point.setting.batch, point.tokensPerS);
    }
    std::sort(row.begin(), row.end());
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      // In the middle of their logarithms, where a curve that flattens bends.
      const double middle = std::sqrt(static_cast<double>(row[i].first) * row[i + 1].first);
      const double ratio = static_cast<double>(row[i + 1].first) / row[i].first;
      const double within = std::min(kRounderBetween, std::pow(ratio, 0.1));
      const std::uint32_t batch = roundest(middle / within, middle * within);
      if (batch <= row[i].first || batch >= row[i + 1].first) continue;
      if (ratio < kCloseRatio || wasMeasured({batch, length})) continue;
      const double most = std::max(row[i].second, row[i + 1].second);
      const double gap = shareOf(std::abs(row[i + 1].second - row[i].second), most);
      if (gap < kWorthAGap && ratio < kFarRatio) continue;
      const double worth = std::max(gap, kWorthAGap) * std::log(ratio);
      if (worth <= widest) continue;
      if (isLimited() && model_ && model_->driver({batch, length}).upper > limitBytes()) continue;
      widest = worth;
      best = Setting{batch, length};
    }
  }
  if (!best) return std::nullopt;
  return stepTo(*best, "the widest gap in batch and throughput between measured settings");
}

std::vector<SweptSetting> SweepPlanner::points() const {
  std::vector<SweptSetting> all = measured_;
  for (SweptSetting& point : all) {
    point.safe = !point.outOfMemory && (!isLimited() || point.bytes() <= limitBytes());
    if (point.safe || point.outOfMemory || point.withShorterBatch <= limitBytes()) continue;
    if (point.peakDriver > limitBytes()) continue;
    point.reason += "; the batch of " + std::to_string(model_->shorterBatch(point.setting)) +
                    " with which an epoch ends may take it to " +
                    formatBytes(point.withShorterBatch);
  }
  for (SweptSetting& point : all) {
    point.onFront =
        point.safe && std::none_of(all.begin(), all.end(), [&](const SweptSetting& other) {
          const bool noWorse =
              other.tokensPerS >= point.tokensPerS && other.bytes() <= point.bytes();
          const bool better = other.tokensPerS > point.tokensPerS || other.bytes() < point.bytes();
          const bool isAlike = other.setting.length == point.setting.length;
          return other.safe && isAlike && noWorse && better;
        });
  }
  return all;
}

/// The length whose settings are compared: that of the start, else the longest. Where nothing of it
/// is safe, the longest that has something. Tokens of another length are those of another task.
std::optional<std::uint32_t> SweepPlanner::comparedLength(
    const std::vector<SweptSetting>& points) const {
  std::optional<std::uint32_t> longest;
  const std::uint32_t wanted = options_.start ? options_.start->length : options_.lengths.back();
  for (const SweptSetting& point : points) {
    if (!point.safe) continue;
    const std::uint32_t length = point.setting.length;
    if (length == wanted) return wanted;
    longest = std::max(longest.value_or(0), length);
  }
  return longest;
}

Sweep SweepPlanner::result() const {
  return resultNow(false);
}

Sweep SweepPlanner::endedWith(std::optional<SweptSetting> last) const {
  SweepPlanner ended = *this;
  if (last) ended.add(std::move(*last));
  return ended.resultNow(true);
}

Sweep SweepPlanner::resultNow(bool hasEnded) const {
  Sweep result;
  result.settings = points();
  if (!hasEnded) {
    const bool isOver = !next();
    result.complete = isOver && !measured_.empty() && used() < options_.mostSettings;
    if (isOver) result.leftOut = leftOut();
  }
  const std::optional<std::uint32_t> length = comparedLength(result.settings);
  const auto takesPart = [&](const SweptSetting& point) {
    return point.safe && point.setting.length == length &&
           (!tookTurns_ || isInTurns(point.setting));
  };
  const SweptSetting* fastest = nullptr;
  for (const SweptSetting& point : result.settings) {
    if (takesPart(point) && (!fastest || point.tokensPerS > fastest->tokensPerS)) fastest = &point;
  }
  if (!fastest) {
    if (result.settings.empty()) {
      result.reason = "nothing was measured";
      if (!result.leftOut.empty()) {
        const SweptSetting& left = result.leftOut.front();
        result.reason += ", not even " + settingText(left.setting) + ": " + left.reason;
      }
    } else {
      const std::string fixed =
          model_ ? "; weights and optimizer take about " + formatBytes(model_->fixedPart().bytes)
                 : "";
      result.reason = "no setting stayed under the limit of " + formatBytes(limitBytes()) + fixed;
    }
    return result;
  }
  // The knee: of all that are nearly as fast as the fastest, or not distinguishable from it, the
  // one with the least memory.
  const SweptSetting* knee = fastest;
  for (const SweptSetting& point : result.settings) {
    if (!takesPart(point)) continue;
    if (options_.onlyLargest) {
      if (point.setting.batch > knee->setting.batch) knee = &point;
      continue;
    }
    if (isNearlyAsFast(point, *fastest) && memoryRank(point) < memoryRank(*knee)) knee = &point;
  }
  result.best = knee->setting;
  const std::string rate = rateText(*knee, options_.rateUnit);
  std::vector<std::string> alike;
  for (const SweptSetting& point : result.settings) {
    if (&point == knee || !takesPart(point)) continue;
    if (isWithinNoise(point, *knee)) alike.push_back(shortSettingText(point.setting));
  }
  if (options_.onlyLargest) {
    result.reason = settingText(knee->setting) + " is the largest that was safe, " + rate;
    alike.clear();
  } else if (knee == fastest) {
    result.reason = settingText(knee->setting) +
                    (alike.empty() ? " is the fastest, " : " is among the fastest, ") + rate;
    const bool isLargest = std::none_of(result.settings.begin(), result.settings.end(),
                                        [&](const SweptSetting& other) {
                                          return other.safe && other.setting.length == length &&
                                                 other.setting.batch > knee->setting.batch;
                                        });
    if (isLargest && result.settings.size() > 1) result.reason += " and the largest that was safe";
  } else {
    result.reason = settingText(knee->setting) + " has " +
                    percent(shareOf(knee->tokensPerS, fastest->tokensPerS)) +
                    " of the best throughput: " + rate + ", against " +
                    rateText(*fastest, options_.rateUnit) + " at " + settingText(fastest->setting);
    if (knee->bytes() > 0 && knee->bytes() < fastest->bytes()) {
      result.reason += " with " +
                       percent(1 - shareOf(static_cast<double>(knee->bytes()),
                                           static_cast<double>(fastest->bytes()))) +
                       " less memory";
    }
  }
  if (tookTurns_) result.reason += "; rates were measured in turns, one setting after the other";
  if (!alike.empty()) {
    result.reason += "; the difference to " + joined(alike) +
                     " is within the noise, because the ranges of the middle half overlap";
  }
  if (options_.lengths.size() > 1) {
    result.reason += "; only settings of length " + std::to_string(*length) +
                     " were compared, because cutting texts to another length changes the task";
  }
  if (!options_.hasMemory) {
    result.reason += "; the CPU has no device memory, so only throughput was compared";
  } else if (!isLimited()) {
    result.reason += "; the recommended maximum is unknown, so no limit was kept";
  }
  return result;
}

}  // namespace highwater::tuning
