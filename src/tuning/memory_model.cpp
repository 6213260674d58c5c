#include "tuning/memory_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/mps_heaps.h"
#include "core/units.h"

namespace highwater::tuning {
namespace {

/// Repeated steps at one setting differ by the order in which blocks are reused.
constexpr double kRepeatNoise = 0.02;
constexpr double kSmallHeap = HeapRules::kSmallHeap, kLargeHeap = HeapRules::kLargeHeap;
constexpr double kSmallAndLargeHeaps = kSmallHeap + kLargeHeap;
constexpr double kExtraLargeHeap = HeapRules::kExtraLargeHeap;
constexpr double kMinExtraLargeRequest = HeapRules::kMinLarge;
// Played peaks on the simulated device were within 1 % for batches of a traced length, and within
// 7 % for other lengths.
constexpr double kPlayedMargin = 0.01;
constexpr double kPlayedMarginOfLengths = 0.07;
/// Requests that explain the measured peaks no better are not used.
constexpr double kMostPlayedError = 0.1;
/// The least share by which played peaks must differ to bound how they grow; to say how, beyond
/// what repeated steps differ by; and the least and (as its inverse) the most that measured ones
/// may grow by for each byte.
constexpr double kLeastPlayedGrowth = 0.05, kCalibratingGrowth = 0.25, kLeastGrowth = 0.5;

std::uint64_t bytesOf(double bytes) {
  constexpr double kMost = 9e18;
  return wholeBytes(std::min(bytes, kMost));
}

Prediction predictionOf(const Range& range, Basis basis) {
  return {bytesOf(range.likely), bytesOf(range.lower), bytesOf(range.upper), basis};
}

/// By how much the reuse of cached blocks may change a played peak of current: small steps depend
/// on the order in which blocks were freed, most of all if another setting was trained before.
double reuseSlack(double bytes, bool fromStart) {
  return fromStart ? std::min({std::max(0.1 * bytes, kSmallHeap / 4), bytes / 2, kSmallHeap / 2})
                   : std::min(0.25 * bytes, 3 * kSmallHeap);
}

/// Whether `a` has no more tokens than `b`, and no longer rows.
bool isNoLarger(Setting a, Setting b) {
  return a.tokens() <= b.tokens() && a.length <= b.length;
}

/// Whether neither batch nor length of `a` is larger: then every request of `a` is no larger.
bool isWithin(Setting a, Setting b) {
  return a.batch <= b.batch && a.length <= b.length;
}

/// The batch of the newest setting, if it was trained at so many lengths that the next step will
/// have another one; otherwise 0.
std::uint32_t batchOfManyLengths(const HeldMemory& held) {
  if (held.trained.empty()) return 0;
  const std::uint32_t batch = held.trained.back().setting.batch;
  const auto lengths =
      std::count_if(held.trained.begin(), held.trained.end(),
                    [batch](const auto& each) { return each.setting.batch == batch; });
  return changesLength(static_cast<std::size_t>(lengths)) ? batch : 0;
}

/// What a run holds whose length changes from step to step: blocks of each.
struct ManyLengths {
  std::uint32_t batch = 0;      ///< 0: the run is not one
  double peak = 0, cached = 0;  ///< of driver, in bytes, and what of it does not stay allocated
};

/// Of the largest batch that was trained at many lengths without emptying the cache between them.
ManyLengths manyLengthsIn(std::span<const Observation> observations) {
  std::map<std::uint32_t, std::pair<std::size_t, std::size_t>> byBatch;  // lengths, with earlier
  for (const Observation& each : observations) {
    auto& [lengths, withEarlier] = byBatch[each.setting.batch];
    ++lengths;
    withEarlier += each.driverIncludesEarlier ? 1 : 0;
  }
  ManyLengths many;
  for (const auto& [batch, counts] : byBatch) {
    if (changesLength(counts.first) && 2 * counts.second >= counts.first) many.batch = batch;
  }
  double live = std::numeric_limits<double>::infinity();
  for (const Observation& each : observations) {
    if (each.leftAllocated > 0) live = std::min(live, static_cast<double>(each.leftAllocated));
    if (each.setting.batch == many.batch) {
      many.peak = std::max(many.peak, static_cast<double>(each.peakDriver));
    }
  }
  many.cached = std::max(0.0, many.peak - (std::isinf(live) ? 0.0 : live));
  return many;
}

void raiseTo(Range& range, double least) {
  range.likely = std::max(range.likely, least);
  range.upper = std::max(range.upper, range.likely);
}

void limitTo(Range& range, double most) {
  range.upper = std::min(range.upper, most);
  range.likely = std::min(range.likely, range.upper);
  range.lower = std::min(range.lower, range.upper);
}

std::uint64_t watermark(double ratio, std::uint64_t recommended) {
  return bytesOf(ratio * static_cast<double>(recommended));
}

std::vector<PeakPoint> pointsOf(std::span<const Observation> observations) {
  std::vector<PeakPoint> points;
  for (const Observation& each : observations) {
    points.push_back({each.setting, static_cast<double>(each.peakCurrent)});
  }
  return points;
}

/// One observation for each setting, by tokens: of repeated ones the larger peak.
std::vector<Observation> merged(std::span<const Observation> observations) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, Observation> bySetting;
  for (const Observation& each : observations) {
    if (each.peakCurrent == 0 || each.setting.batch == 0 || each.setting.length == 0) continue;
    const auto [place, isNew] =
        bySetting.try_emplace({each.setting.length, each.setting.batch}, each);
    if (isNew) continue;
    Observation& kept = place->second;
    kept.peakCurrent = std::max(kept.peakCurrent, each.peakCurrent);
    kept.exact = kept.exact && each.exact;
    kept.steps += each.steps;
    if (kept.stepMs == 0 || (each.stepMs > 0 && each.stepMs < kept.stepMs)) {
      kept.stepMs = each.stepMs;
    }
    if (kept.leftAllocated == 0 ||
        (each.leftAllocated > 0 && each.leftAllocated < kept.leftAllocated)) {
      kept.leftAllocated = each.leftAllocated;
    }
    // A peak without the cache of earlier settings says more, even if it is smaller.
    if (kept.driverIncludesEarlier != each.driverIncludesEarlier) {
      if (kept.driverIncludesEarlier) {
        kept.peakDriver = each.peakDriver;
        kept.sawShorterBatch = each.sawShorterBatch;
      }
      kept.driverIncludesEarlier = false;
    } else {
      kept.sawShorterBatch = kept.sawShorterBatch || each.sawShorterBatch;
      kept.peakDriver = kept.driverIncludesEarlier ? std::min(kept.peakDriver, each.peakDriver)
                                                   : std::max(kept.peakDriver, each.peakDriver);
    }
  }
  std::vector<Observation> all;
  for (auto& [key, each] : bySetting) all.push_back(each);
  std::stable_sort(all.begin(), all.end(), [](const Observation& a, const Observation& b) {
    return a.setting.tokens() < b.setting.tokens();
  });
  return all;
}

}  // namespace

std::string_view basisKey(Basis basis) {
  switch (basis) {
    case Basis::kMeasured:
      return "measured";
    case Basis::kRequests:
      return "requests";
    case Basis::kFit:
      return "fit";
    case Basis::kBound:
      break;
  }
  return "bound";
}

std::string Prediction::text() const {
  if (basis == Basis::kMeasured) return formatBytes(bytes) + " (measured)";
  return "about " + formatBytes(bytes) + " (" + formatBytes(lower) + " to " + formatBytes(upper) +
         ')';
}

std::string_view headroomName(Headroom headroom) {
  switch (headroom) {
    case Headroom::kSafe:
      return "safe";
    case Headroom::kAboveRecommended:
      return "above the recommended maximum";
    case Headroom::kAboveLowWatermark:
      return "above the low watermark";
    case Headroom::kAboveHighWatermark:
      break;
  }
  return "above the high watermark";
}

Headroom headroomOf(std::uint64_t bytes, const MemoryLimits& limits) {
  const std::uint64_t recommended = limits.recommendedBytes;
  if (recommended == 0) return Headroom::kSafe;
  const auto isAbove = [&](double ratio) {
    return ratio > 0 && bytes > watermark(ratio, recommended);
  };
  if (isAbove(limits.highWatermarkRatio)) return Headroom::kAboveHighWatermark;
  if (isAbove(limits.lowWatermarkRatio)) return Headroom::kAboveLowWatermark;
  return bytes > recommended ? Headroom::kAboveRecommended : Headroom::kSafe;
}

Result<MemoryModel> MemoryModel::fit(std::span<const Observation> observations,
                                     const MemoryLimits& limits, std::uint64_t knownFixed,
                                     std::optional<RequestModel> requests, RunBounds bounds) {
  std::vector<Observation> all = merged(observations);
  // Gradients may be freed before the forward pass, where the peak is: for plain SGD they are half
  // of what a step leaves allocated.
  double atLeastFixed = static_cast<double>(knownFixed);
  std::uint64_t left = std::numeric_limits<std::uint64_t>::max();
  for (const Observation& each : all) {
    if (each.leftAllocated > 0) left = std::min(left, each.leftAllocated);
  }
  if (left != std::numeric_limits<std::uint64_t>::max()) {
    atLeastFixed = std::max(atLeastFixed, 0.5 * static_cast<double>(left));
  }
  auto fitted = PeakFit::make(pointsOf(all), atLeastFixed);
  if (!fitted) {
    return failure(
        "no step with known batch size and device memory was measured; the CPU has no memory "
        "counters, so only its throughput can be compared");
  }
  MemoryModel model(std::move(*fitted));
  model.observations_ = std::move(all);
  model.limits_ = limits;
  model.bounds_ = std::move(bounds);
  if (requests) model.useRequests(std::move(*requests));
  model.judge(atLeastFixed);
  return model;
}

/// Keeps the requests if they explain what was measured.
void MemoryModel::useRequests(RequestModel requests) {
  double error = 0, rawError = 0, driverOff = 0;
  std::vector<std::pair<double, double>> peaks;  // played and measured
  for (const Observation& each : observations_) {
    if (!requests.canPlay(each.setting)) continue;
    const PlayedPeak peak = requests.play(each.setting, limits_);
    const auto measured = static_cast<double>(each.peakCurrent);
    const auto played = static_cast<double>(peak.current);
    rawError = std::max(rawError, std::abs(played / measured - 1));
    const bool isPlayed = !each.sawShorterBatch || shorterBatch(each.setting) == 0;
    if (each.peakDriver > 0 && !each.driverIncludesEarlier && isPlayed) {
      driverOff = std::max(driverOff, std::abs(static_cast<double>(peak.driver) -
                                               static_cast<double>(each.peakDriver)));
    }
    const double reused = reuseSlack(measured, requests.fromStart());
    error = std::max(error, (std::abs(played - measured) - reused) / measured);
    peaks.emplace_back(played, measured);
  }
  if (peaks.empty() || error > kMostPlayedError) return;
  requests_ = std::move(requests);
  const auto [least, most] = std::minmax_element(peaks.begin(), peaks.end());
  const double playedGrowth = most->first - least->first;
  const double measuredGrowth = most->second - least->second;
  mostPlayed_ = most->first;
  measuredAtMost_ = most->second;
  if (playedGrowth > kCalibratingGrowth * most->first) {
    growth_ = std::clamp(measuredGrowth / playedGrowth, kLeastGrowth, 1 / kLeastGrowth);
  }
  if (playedGrowth > kLeastPlayedGrowth * most->first) {
    const double unplayed = measuredGrowth - playedGrowth - kRepeatNoise * most->second;
    unplayedGrowth_ = std::max(0.0, unplayed) / playedGrowth;
  }
  playedError_ = std::max(0.0, error);
  playedDriverOff_ = driverOff;
  confidence_.error = rawError;
  confidence_.fromRequests = true;
  confidence_.fromStart = requests_->fromStart();
}

/// By how much a played peak may be off, as a share.
double MemoryModel::playedMargin(Setting setting) const {
  std::size_t sameLength = 0;
  for (const Setting& each : requests_->settings()) sameLength += each.length == setting.length;
  return std::max(sameLength > 1 ? kPlayedMargin : kPlayedMarginOfLengths, 1.5 * playedError_);
}

/// How many bytes more than the played ones a setting may take: where what was measured grew by
/// more than what was played, it will beyond the largest measured setting too.
double MemoryModel::unplayed(double played) const {
  return std::max(unplayedGrowth_ * std::max(0.0, played - mostPlayed_),
                  calibrated(played) - played);
}

/// The likely peak of current where so many bytes were played. Traces that do not begin with the
/// run leave open which blocks of before their first step frees, so that played peaks are too small
/// or too large by some bytes and by a share, which the measured ones tell.
double MemoryModel::calibrated(double played) const {
  if (requests_->fromStart()) return played;
  return std::max(0.0, measuredAtMost_ + growth_ * (played - mostPlayed_));
}

/// Driver memory jumps where a request needs another heap: what slightly smaller and larger
/// settings would take is possible here too. `held`: the heaps of the process; nullptr: none yet.
Range MemoryModel::playedDriver(Setting setting, const MpsHeaps* held) const {
  const double margin = playedMargin(setting);
  const auto batchAt = [&](double factor) {
    const double batch = std::clamp(factor * setting.batch, 1.0, 4e9);
    return Setting{static_cast<std::uint32_t>(factor < 1 ? std::floor(batch) : std::ceil(batch)),
                   setting.length};
  };
  const auto played = [&](Setting each) {
    const PlayedPeak peak = held ? requests_->playIn(*held, each) : requests_->play(each, limits_);
    if (!peak.refused) return static_cast<double>(peak.driver);
    // What it would take where nothing is refused, and in any case more than is allowed.
    const double most = limits_.highWatermarkRatio * static_cast<double>(limits_.recommendedBytes);
    return std::max(static_cast<double>(requests_->play(each, {}).driver), most + 1.0 * kMiB);
  };
  // More batch does not tell all of what was not played, as a part of each peak is fixed.
  const auto current = std::max(1.0, static_cast<double>(requests_->play(setting, {}).current));
  const double likely = calibrated(current) - current;
  const double unplayed = std::max(0.0, this->unplayed(current));
  Range range;
  const double here = played(setting);
  range.likely = std::max(0.0, here + likely);
  const double fewer = played(batchAt(1 - margin + std::min(0.0, likely) / current));
  const double more = played(batchAt(1 + margin + unplayed / current));
  // Where the heaps of three measured settings were played exactly, no more are expected here.
  const double least = held ? kLargeHeap : requests_->settings().size() > 2 ? 0 : kSmallHeap;
  const double heap = requests_->fromStart()
                          ? std::clamp(playedDriverOff_, least, kSmallAndLargeHeaps)
                          : kSmallAndLargeHeaps;
  range.lower = std::min({range.likely, fewer, more}) - heap;
  range.upper = std::max({here + unplayed, fewer, more}) + heap;
  return range;
}

void MemoryModel::judge(double atLeastFixed) {
  std::set<std::uint64_t> tokens;
  std::set<std::uint32_t> lengths;
  for (const Observation& each : observations_) {
    tokens.insert(each.setting.tokens());
    lengths.insert(each.setting.length);
  }
  const bool withLength = *lengths.rbegin() > 1;
  confidence_.settings = observations_.size();
  confidence_.extrapolatesBatch = tokens.size() > 1;
  confidence_.extrapolatesLength =
      observations_.size() > 2 && tokens.size() > 1 && lengths.size() > 1;
  if (!confidence_.fromRequests) confidence_.error = std::numeric_limits<double>::quiet_NaN();
  const std::vector<PeakPoint> points = pointsOf(observations_);
  if (!confidence_.fromRequests && points.size() > 2) {
    confidence_.error = 0;
    for (std::size_t out = 0; out < points.size(); ++out) {
      std::vector<PeakPoint> others = points;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(out));
      const auto fitted = PeakFit::make(others, atLeastFixed);
      if (!fitted) continue;
      const double off = fitted->at(points[out].setting).likely / points[out].bytes - 1;
      confidence_.error = std::max(confidence_.error, std::abs(off));
    }
  }
  const Setting& largest = observations_.back().setting;
  const Setting twice{largest.batch * 2, largest.length};
  const Setting half{largest.batch / 2, largest.length};
  const Setting quarter{largest.batch / 4, largest.length};
  const Setting longer{std::max(1U, largest.batch / 2), largest.length * 2};
  const Setting shorter{largest.batch, largest.length / 2};
  const std::string otherBatch = advice({twice, half, quarter});
  const std::string otherLength = advice({longer, shorter});
  if (observations_.size() == 1) {
    confidence_.text = "Only " + settingText(largest) +
                       " was measured, so other settings have wide bounds" + otherBatch;
  } else if (!confidence_.extrapolatesBatch) {
    confidence_.text =
        "All settings have the same number of tokens, so their growth is unknown" + otherBatch;
  } else if (withLength && lengths.size() == 1) {
    confidence_.text = "Only length " + std::to_string(largest.length) +
                       " was measured, so other lengths have wide bounds" + otherLength;
  } else if (!confidence_.extrapolatesLength && withLength) {
    confidence_.text =
        "Two settings cannot tell growth by tokens from growth by length" + otherBatch;
  } else {
    confidence_.text = "Fitted to " + std::to_string(observations_.size()) + " settings";
    if (!std::isnan(confidence_.error)) {
      confidence_.text += "; the current allocated of each is predicted from the others within " +
                          formatDecimals(100 * confidence_.error, 1) + " %";
    }
  }
  if (confidence_.fromRequests) {
    confidence_.text = "Predicted from the allocations of a step at " +
                       std::to_string(requests_->settings().size()) + " settings, within " +
                       formatDecimals(100 * confidence_.error, 1) + " %";
    const bool canTell = requests_->canPlay(longer);
    if (withLength && !canTell && mayBeTried(longer)) {
      confidence_.text +=
          "; to cover other lengths, measure " + settingText(longer) + " with ops recorded";
    }
  }
}

/// "; measure batch 32 next" with the first of the candidates that may be tried; empty without one.
std::string MemoryModel::advice(const std::vector<Setting>& candidates) const {
  for (const Setting& each : candidates) {
    if (mayBeTried(each)) return "; measure " + settingText(each) + " next";
  }
  return {};
}

/// Whether the run takes a setting, it was not measured and did not run out of memory, and it
/// probably fits.
bool MemoryModel::mayBeTried(Setting setting) const {
  if (setting.batch == 0 || setting.length == 0 || observed(setting)) return false;
  if (bounds_.maxBatch > 0 && setting.batch > bounds_.maxBatch) return false;
  if (bounds_.maxLength > 0 && setting.length > bounds_.maxLength) return false;
  if (ranOutOfMemory(setting)) return false;
  const std::uint64_t limit = safeBytes();
  return limit == 0 || isBelowMeasured(setting, limit) || driver(setting).bytes <= limit;
}

const Observation* MemoryModel::observed(Setting setting) const {
  const auto found =
      std::find_if(observations_.begin(), observations_.end(),
                   [setting](const Observation& each) { return each.setting == setting; });
  return found == observations_.end() ? nullptr : &*found;
}

Prediction MemoryModel::current(Setting setting) const {
  if (const Observation* seen = observed(setting)) {
    const auto bytes = static_cast<double>(seen->peakCurrent);
    return predictionOf({bytes * (1 - kRepeatNoise), bytes, bytes * (1 + kRepeatNoise)},
                        Basis::kMeasured);
  }
  Range range;
  const bool isPlayed = canPlay(setting);
  if (isPlayed) {
    const PlayedPeak peak = requests_->play(setting, limits_);
    const auto played =
        static_cast<double>(peak.refused ? requests_->play(setting, {}).current : peak.current);
    const double bytes = calibrated(played);
    const double off = playedMargin(setting) * played + reuseSlack(played, requests_->fromStart());
    range = {std::min(bytes, played) - off, bytes, played + std::max(0.0, unplayed(played)) + off};
  } else {
    range = fit_.at(setting);
  }
  limitTo(range, mostBelow(setting, &Observation::peakCurrent));
  return predictionOf(range, isPlayed ? Basis::kRequests : Basis::kFit);
}

std::uint32_t MemoryModel::shorterBatch(Setting setting) const {
  const std::uint32_t samples = bounds_.epochSamples;
  return setting.batch > 0 && setting.batch < samples ? samples % setting.batch : 0;
}

/// What the shorter batch at the end of an epoch adds to driver memory: a cached block that is more
/// than 32 MiB too large is not used for its requests (MPSAllocator.mm), so these take memory of
/// their own, which stays in the cache.
double MemoryModel::addedByShorterBatch(Setting setting) const {
  const std::uint32_t shorter = shorterBatch(setting);
  if (shorter == 0 || !canPlay(setting)) return 0;
  const std::array<Setting, 2> epoch{setting, {shorter, setting.length}};
  const PlayedPeak alone = requests_->play(setting, limits_);
  PlayedPeak both = requests_->playIn(requests_->heapsAfter(epoch, limits_), setting);
  if (both.refused) both = requests_->playIn(requests_->heapsAfter(epoch, {}), setting);
  return std::max(0.0, static_cast<double>(both.driver) - static_cast<double>(alone.driver));
}

/// What a setting takes at most because a larger one was measured: that and one heap, since the
/// order in which blocks are reused may need one more.
double MemoryModel::mostBelow(Setting setting, std::uint64_t Observation::*peak) const {
  double most = std::numeric_limits<double>::infinity();
  for (const Observation& each : observations_) {
    if (each.*peak == 0 || !isNoLarger(setting, each.setting)) continue;
    most = std::min(most, static_cast<double>(each.*peak) * (1 + kRepeatNoise) + kLargeHeap);
  }
  return most;
}

/// Whether a setting at least as large was measured with no more than `limit` bytes of driver.
bool MemoryModel::isBelowMeasured(Setting setting, std::uint64_t limit) const {
  if (held_) {
    if (held_->driverNow > limit) return false;
    return std::any_of(held_->trained.begin(), held_->trained.end(),
                       [&](const HeldMemory::Trained& each) {
                         return each.peakDriver > 0 && each.peakDriver <= limit &&
                                isNoLarger(setting, each.setting);
                       });
  }
  const bool isBelow =
      std::any_of(observations_.begin(), observations_.end(), [&](const Observation& each) {
        return each.peakDriver > 0 && each.peakDriver <= limit && isNoLarger(setting, each.setting);
      });
  return isBelow && (shorterBatch(setting) == 0 || driver(setting).bytes <= limit);
}

/// Whether this or a smaller setting ran out of memory.
bool MemoryModel::ranOutOfMemory(Setting setting) const {
  return std::any_of(bounds_.outOfMemory.begin(), bounds_.outOfMemory.end(), [&](Setting each) {
    return each.batch <= setting.batch && each.length <= setting.length;
  });
}

/// Driver memory from current's prediction: whatever is allocated lies in heaps, of which the last
/// of each kind may be nearly empty; cached blocks between come on top, as a share that was seen.
Range MemoryModel::driverBound(Setting setting) const {
  const Prediction current = this->current(setting);
  double beside = 0, share = 0;
  std::uint64_t nearest = std::numeric_limits<std::uint64_t>::max();
  for (const Observation& each : observations_) {
    if (each.peakDriver <= each.peakCurrent || each.driverIncludesEarlier) continue;
    const auto more = static_cast<double>(each.peakDriver - each.peakCurrent);
    const double heaps = more > kExtraLargeHeap / 2 ? kExtraLargeHeap : kSmallAndLargeHeaps;
    share = std::max(share, (more - heaps) / static_cast<double>(each.peakCurrent));
    const std::uint64_t a = each.setting.tokens(), b = setting.tokens();
    const std::uint64_t distance = a > b ? a - b : b - a;
    if (distance < nearest) {
      nearest = distance;
      beside = more;
    }
  }
  Range range;
  range.lower = static_cast<double>(current.lower);
  range.upper = static_cast<double>(current.upper) * (1 + share) + kSmallAndLargeHeaps;
  const double growing = static_cast<double>(current.upper) - fit_.fixedRange().lower;
  const double most = limits_.highWatermarkRatio * static_cast<double>(limits_.recommendedBytes);
  const bool fits = limits_.highWatermarkRatio == 0 || kExtraLargeHeap <= most;
  if (growing >= kMinExtraLargeRequest && fits) range.upper += kExtraLargeHeap;
  // Most likely what lies beside current at the nearest setting, but no less than one heap's rest.
  range.likely = std::clamp(static_cast<double>(current.bytes) + beside, range.lower, range.upper);
  return range;
}

/// The largest peak of driver that was measured at no larger batch and length, without the cache of
/// larger ones.
double MemoryModel::leastDriver(Setting setting, bool withShorterBatches) const {
  // Where the length changes from step to step, the next run will have the same cache.
  const bool repeats = manyLengthsIn(observations_).batch > 0;
  double least = 0;
  for (const Observation& each : observations_) {
    if (each.driverIncludesEarlier && !repeats) continue;
    if (each.sawShorterBatch && !withShorterBatches) continue;
    if (!isWithin(each.setting, setting)) continue;
    least = std::max(least, static_cast<double>(each.peakDriver));
  }
  return least;
}

MemoryModel MemoryModel::goingOn(HeldMemory held) const {
  MemoryModel model = *this;
  model.held_.reset();
  model.heldHeaps_.reset();
  model.heldBeside_ = 0;
  if (held.driverNow == 0) {
    for (const HeldMemory::Trained& each : held.trained) {
      held.driverNow = std::max(held.driverNow, each.peakDriver);
    }
  }
  if (held.driverNow == 0) return model;
  if (model.requests_ && !held.trained.empty()) {
    std::vector<Setting> history;
    for (const HeldMemory::Trained& each : held.trained) {
      if (model.canPlay(each.setting)) history.push_back(each.setting);
    }
    // Of hundreds of shapes the newest are enough: older ones have left blocks of the same sizes.
    constexpr std::size_t kMostPlayed = 32;
    if (history.size() > kMostPlayed) history.erase(history.begin(), history.end() - kMostPlayed);
    auto heaps = std::make_shared<MpsHeaps>(model.requests_->heapsAfter(history, limits_));
    model.heldBeside_ =
        static_cast<double>(held.driverNow) - static_cast<double>(heaps->counters().driverBytes);
    model.heldHeaps_ = std::move(heaps);
  }
  model.held_ = std::move(held);
  return model;
}

/// Driver memory does not shrink before the cache is emptied (or a watermark is reached), so what
/// is held now is the least. How much of the cache a larger setting can use again is known from the
/// requests; without them, none of it may be of use.
Prediction MemoryModel::driverFromHere(Setting setting) const {
  double least = static_cast<double>(held_->driverNow);
  double below = std::numeric_limits<double>::infinity();
  std::optional<double> own;  // what it took when it was trained
  for (const HeldMemory::Trained& each : held_->trained) {
    if (each.setting == setting) own = static_cast<double>(each.peakDriver);
    if (each.peakDriver > 0 && isNoLarger(setting, each.setting)) {
      below = std::min(below, static_cast<double>(each.peakDriver));
    }
    if (isWithin(each.setting, setting)) {
      least = std::max(least, static_cast<double>(each.peakDriver));
    }
  }
  const std::uint32_t shorter = shorterBatch(setting);
  const bool sawShorter = std::any_of(
      held_->trained.begin(), held_->trained.end(), [&](const HeldMemory::Trained& each) {
        return own && each.setting == Setting{shorter, setting.length};
      });
  const double added = sawShorter ? 0 : addedByShorterBatch(setting);
  if (own) {
    const double most = std::max(least, *own + added);
    return predictionOf({least, most, most * (1 + kRepeatNoise)}, *own < least ? Basis::kBound
                                                                  : added > 0  ? Basis::kRequests
                                                                               : Basis::kMeasured);
  }
  const bool isPlayed = heldHeaps_ && canPlay(setting);
  Range range;
  std::uint64_t live = 0;
  for (const Observation& each : observations_) {
    if (each.leftAllocated == 0) continue;
    live = live == 0 ? each.leftAllocated : std::min(live, each.leftAllocated);
  }
  const std::uint64_t cached = held_->driverNow - std::min(live, held_->driverNow);
  if (isPlayed) {
    range = playedDriver(setting, heldHeaps_.get());
    range.likely += heldBeside_;
    range.lower += heldBeside_;
    range.upper += std::max(heldBeside_, 0.0);
  } else {
    const Prediction afresh = driverAfresh(setting);
    range = {static_cast<double>(afresh.lower), static_cast<double>(afresh.bytes),
             static_cast<double>(afresh.upper) + static_cast<double>(cached)};
  }
  limitTo(range, std::max(least, below) * (1 + kRepeatNoise) + kLargeHeap);
  if (const std::uint32_t batch = batchOfManyLengths(*held_); batch > 0 && setting.batch > batch) {
    // Each length has left blocks of its own, and will again, as much larger as the batch is.
    const double more = static_cast<double>(cached) * setting.batch / batch;
    range.upper = std::max(range.upper, static_cast<double>(held_->driverNow) + more);
  }
  range.likely += added;
  range.upper += added;
  range.lower = std::max(range.lower, least);
  raiseTo(range, range.lower);
  return predictionOf(range, isPlayed ? Basis::kRequests : Basis::kBound);
}

Prediction MemoryModel::driver(Setting setting) const {
  return held_ ? driverFromHere(setting) : driverAfresh(setting);
}

Prediction MemoryModel::driverAfresh(Setting setting) const {
  const Observation* seen = observed(setting);
  const double least = leastDriver(setting, true);
  const ManyLengths many = manyLengthsIn(observations_);
  const auto seenBytes = seen ? static_cast<double>(seen->peakDriver) : 0.0;
  if (seen && seen->peakDriver > 0 &&
      (many.batch > 0 ? seenBytes >= least : !seen->driverIncludesEarlier)) {
    const double bytes = seenBytes + (seen->sawShorterBatch ? 0 : addedByShorterBatch(setting));
    return predictionOf({seenBytes * (1 - kRepeatNoise), bytes, bytes * (1 + kRepeatNoise)},
                        bytes > seenBytes ? Basis::kRequests : Basis::kMeasured);
  }
  const bool isPlayed = canPlay(setting);
  Range range = isPlayed ? playedDriver(setting, nullptr) : driverBound(setting);
  // Larger batches may take less, but by a heap at most, which another order of reuse saves.
  range.lower = std::max(range.lower, least - kLargeHeap);
  raiseTo(range, leastDriver(setting, false));
  limitTo(range, mostBelow(setting, &Observation::peakDriver));
  if (seen && seen->peakDriver > 0 && many.batch == 0) limitTo(range, seenBytes);
  if (many.batch > 0) raiseTo(range, least);
  if (many.batch > 0 && setting.batch > many.batch) {
    // Each length will leave blocks, as much larger as the batch is.
    const double ratio = static_cast<double>(setting.batch) / many.batch;
    range.upper = std::max(range.upper, many.peak + many.cached * (ratio - 1));
  }
  const double added = addedByShorterBatch(setting);
  range.likely += added;
  range.upper += added;
  raiseTo(range, least);
  return predictionOf(range, isPlayed ? Basis::kRequests : Basis::kBound);
}

Headroom MemoryModel::headroom(Setting setting) const {
  return headroomOf(driver(setting).bytes, limits_);
}

std::string MemoryModel::sentence(Setting setting) const {
  const Prediction driver = this->driver(setting);
  const Headroom likely = headroomOf(driver.bytes, limits_);
  const bool isBelow = isBelowMeasured(setting, limits_.recommendedBytes);
  const Headroom worst = isBelow ? Headroom::kSafe : headroomOf(driver.upper, limits_);
  std::string takes = settingText(setting) +
                      (driver.basis == Basis::kMeasured ? " takes " : " would take ") +
                      driver.text() + " of driver memory";
  if (held_) {
    const std::uint64_t afresh = driverAfresh(setting).bytes;
    takes += " with the cache that the process holds";
    if (afresh < driver.bytes && formatBytes(afresh) != formatBytes(driver.bytes)) {
      takes += " (about " + formatBytes(afresh) + " in a fresh process)";
    }
  } else if (driver.basis != Basis::kMeasured) {
    takes += " in a fresh process";
  }
  if (limits_.recommendedBytes == 0) return takes;
  if (likely != Headroom::kSafe) return takes + ": " + std::string(headroomName(likely));
  if (worst == Headroom::kSafe) return takes + ": safe";
  return takes + ": probably safe, at worst " + std::string(headroomName(worst));
}

std::uint64_t MemoryModel::safeBytes(double reserve) const {
  const auto recommended = static_cast<double>(limits_.recommendedBytes);
  double safe = recommended * (1 - std::clamp(reserve, 0.0, 1.0));
  if (limits_.highWatermarkRatio > 0) {
    safe = std::min(safe, limits_.highWatermarkRatio * recommended);
  }
  return bytesOf(safe);
}

template <typename SettingOf>
std::optional<std::uint32_t> MemoryModel::largestSafe(std::uint32_t most, double reserve,
                                                      SettingOf&& settingOf) const {
  const std::uint64_t limit = safeBytes(reserve);
  if (limit == 0 || most == 0) return std::nullopt;
  const auto isSafe = [&](std::uint32_t value) {
    const Setting setting = settingOf(value);
    if (ranOutOfMemory(setting)) return false;
    return isBelowMeasured(setting, limit) || driver(setting).upper <= limit;
  };
  std::uint32_t low = 1, high = most;
  // A setting that was measured may be safe where the bounds around it are not.
  for (const Observation& each : observations_) {
    const std::uint32_t batch = each.setting.batch, length = each.setting.length;
    for (const std::uint32_t value : {batch, length}) {
      if (value <= most && value > low && settingOf(value) == each.setting && isSafe(value)) {
        low = value;
      }
    }
  }
  if (!isSafe(low)) return std::nullopt;
  if (isSafe(high)) return high;
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    (isSafe(middle) ? low : high) = middle;
  }
  return low;
}

std::optional<std::uint32_t> MemoryModel::largestSafeBatch(std::uint32_t length, std::uint32_t most,
                                                           double reserve) const {
  return largestSafe(most, reserve, [length](std::uint32_t batch) {
    return Setting{batch, length};
  });
}

std::optional<std::uint32_t> MemoryModel::longestSafeLength(std::uint32_t batch, std::uint32_t most,
                                                            double reserve) const {
  return largestSafe(most, reserve, [batch](std::uint32_t length) {
    return Setting{batch, length};
  });
}

Prediction MemoryModel::fixedPart() const {
  return predictionOf(fit_.fixedRange(), Basis::kFit);
}

}  // namespace highwater::tuning
