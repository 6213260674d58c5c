#include "analysis/device/device_work.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

#include "analysis/device/waited_ops.h"
#include "analysis/op_label.h"
#include "core/evaluation_ops.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

/// A place is named from this share of the work, 0 to 1, and a second one beside it from this share
/// of the first: the middle of its bounds counts. From how much of it on an op is most of a place.
constexpr double kLargeShare = 0.2, kNearlyAsLarge = 0.6, kMostOfIt = 0.5;
/// So many ops of a line are told: it may be a loop.
constexpr std::uint32_t kManyCalls = 200;
/// The longest text of shapes in a sentence, in bytes.
constexpr std::size_t kMostShapes = 90;
/// A radix sort of 64-bit keys reads and writes them eight times; other sorts may take less.
constexpr double kMostPassesOfSort = 8;
/// By how much of itself the work of a step must have grown, and how much of what it grew by must
/// be a line's, for the line to be named.
constexpr double kLeastGrowth = 0.1, kLeastShareOfGrowth = 0.2;
/// From this share of the growth on, at most, a line that joins tensors without gradients makes the
/// long one that others then work on.
constexpr double kLeastJoinedShare = 0.05;
/// What a device does in the time in which it moves a byte or, of a call, what it could have moved.
struct Rates {
  double leastFlops, mostFlops, mostBytesACall;
};
constexpr Rates kAppleGpu{8, 100, 1 << 20}, kSimulated{2, 20, 1 << 15};

const Rates& ratesOf(const LiveStore& store) {
  return store.hello() && store.hello()->device.simulated ? kSimulated : kAppleGpu;
}

/// The time on each of the devices for which the shares must hold, as the bytes that it moves
/// meanwhile: with the least or the most operations, calls that cost or do not, and sorts that are
/// quick or slow.
using Times = std::array<double, 8>;

bool sorts(std::string_view op) {
  for (const char* each : {"sort", "topk", "randperm", "unique", "median", "kthvalue"}) {
    if (op.find(each) != std::string_view::npos) return true;
  }
  return false;
}

bool isRandom(std::string_view op) {
  constexpr std::array<std::string_view, 7> kWords = {
      "rand", "normal", "bernoulli", "dropout", "uniform", "exponential", "poisson"};
  return std::any_of(kWords.begin(), kWords.end(), [op](std::string_view word) {
    return op.find(word) != std::string_view::npos;
  });
}

Times timesOf(const events::OpWork& work, std::string_view op, const Rates& rates) {
  const bool sorting = sorts(op);
  Times times{};
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double passes = sorting && (i & 4) != 0 ? kMostPassesOfSort : 1;
    const double rate = (i & 1) != 0 ? rates.mostFlops : rates.leastFlops;
    times[i] = std::max(static_cast<double>(work.bytes()) * passes,
                        static_cast<double>(work.flops()) / rate) +
               ((i & 2) != 0 ? work.calls() * rates.mostBytesACall : 0);
  }
  return times;
}

/// The shapes with equal ones that follow each other as one: "2 × [16, 64] float32, [64] float32".
std::string countedShapes(std::string_view shapes) {
  constexpr std::string_view kNext = ", [";
  std::string text;
  while (!shapes.empty()) {
    const std::string_view shape = shapes.substr(0, shapes.find(kNext));
    std::size_t count = 0;
    do {
      ++count;
      shapes.remove_prefix(std::min(shape.size() + 2, shapes.size()));
    } while (shapes.starts_with(shape) &&
             (shapes.size() == shape.size() || shapes.substr(shape.size()).starts_with(kNext)));
    if (!text.empty()) text += ", ";
    if (count > 1) text += std::to_string(count) + " \u00d7 ";
    text += shape;
  }
  return text;
}

struct Place {
  DeviceWorkPlace shown;
  Times times{};
  std::map<std::string, Times> ops;
  double largest = 0;
  bool hasGradients = false;
};

DeviceWorkShare shareOf(const Times& part, const Times& all) {
  DeviceWorkShare bounds{1, 0};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double share = all[i] > 0 ? part[i] / all[i] : 0;
    bounds.low = std::min(bounds.low, share);
    bounds.high = std::max(bounds.high, share);
  }
  return bounds;
}

void add(Times& to, const Times& more) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += more[i];
}

/// "addmm in head", without the shapes.
std::string opInModuleText(const DeviceWorkPlace& place) {
  return place.op + (place.module.empty() ? "" : " in " + place.module);
}

/// The work of a step or an evaluation by line or, where none is known, by op and module.
struct Work {
  Times all{};
  std::map<std::string, Place> places;
};

Work workOf(const LiveStore& store, const std::vector<events::OpWork>& works) {
  Work work;
  for (const events::OpWork& each : works) {
    const std::string op(shortOp(store.name(each.op())));
    const Times times = timesOf(each, op, ratesOf(store));
    add(work.all, times);
    if (each.op() == kOtherId) continue;
    const CallSiteParts site = store.callSiteParts(each.call_site());
    const std::string module = store.modulePath(each.module_id());
    Place& place = work.places[site.line.empty() ? module + ' ' + op : site.path + site.line];
    add(place.times, times);
    add(place.ops[op], times);
    place.hasGradients = place.hasGradients || each.backward() != 0;
    place.shown.calls += each.calls();
    place.shown.bytes += each.bytes();
    place.shown.flops += each.flops();
    const double largest = *std::max_element(times.begin(), times.end());
    if (largest < place.largest) continue;
    place.largest = largest;
    place.shown.site = site;
    place.shown.module = module;
    place.shown.op = op;
    place.shown.shapes = store.name(each.shapes());
  }
  return work;
}

/// The share of a step's work that `isPart` chooses.
template <typename IsPart>
DeviceWorkShare shareOfWork(const LiveStore& store, const IsPart& isPart) {
  Times all{}, part{};
  for (const events::OpWork& each : store.opWork()) {
    const Times times = timesOf(each, shortOp(store.name(each.op())), ratesOf(store));
    add(all, times);
    if (isPart(each)) add(part, times);
  }
  return shareOf(part, all);
}

/// The batch size of a step times its sequence length, where it has one; 0 where unknown.
double batchOf(const LiveStore& store, std::uint32_t step) {
  const std::optional<std::size_t> row = store.rowOf(step);
  if (!row) return 0;
  const events::StepRecord& record = store.steps().records[*row];
  return static_cast<double>(record.batch_size()) * std::max(record.sequence_length(), 1U);
}

/// Raises the bounds of places to what was measured, where that is above what their sizes allow.
/// The lower one holds for any device, as it works in no more than all of the time; the upper one
/// for one that is the bottleneck.
void useMeasured(const LiveStore& store, DeviceWork& result) {
  double least = 0, most = 0;
  std::vector<bool> measured(result.places.size());
  const std::map<std::string, WaitedOps> own = waitedOps(store);
  for (std::size_t i = 0; i < result.places.size() && !own.empty(); ++i) {
    DeviceWorkPlace& place = result.places[i];
    const auto found = own.find(place.site.path + place.site.line);
    if (found == own.end() || found->second.least <= place.high) continue;
    place.low = found->second.least;
    place.high = std::min(place.high + found->second.most / kLeastBusyShare, 1.0);
    measured[i] = result.measured = true;
    least += place.low;
    most += place.high;
  }
  if (!result.measured) return;
  for (std::size_t i = 0; i < result.places.size(); ++i) {
    if (measured[i]) continue;
    DeviceWorkPlace& place = result.places[i];
    place.high = std::min(place.high, std::max(1 - least, 0.0));
    place.low = std::min(place.low * std::max(1 - most, 0.0), place.high);
    place.opLow *= std::max(1 - most, 0.0);
  }
}

DeviceWork estimate(const LiveStore& store, const std::vector<events::OpWork>& works,
                    bool ofSteps) {
  DeviceWork result;
  if (!works.empty()) result.step = works.back().step();
  Work work = workOf(store, works);
  for (auto& [key, place] : work.places) {
    static_cast<DeviceWorkShare&>(place.shown) = shareOf(place.times, work.all);
    for (const auto& [op, times] : place.ops) place.shown.ops.push_back(op);
    place.shown.opLow = shareOf(place.ops[place.shown.op], work.all).low;
    result.places.push_back(std::move(place.shown));
  }
  if (ofSteps) useMeasured(store, result);
  std::stable_sort(result.places.begin(), result.places.end(),
                   [](const auto& a, const auto& b) { return a.low + a.high > b.low + b.high; });
  return result;
}

}  // namespace

DeviceWork estimateDeviceWork(const LiveStore& store) {
  return estimate(store, store.opWork(), true);
}

DeviceWork estimateEvaluationWork(const LiveStore& store) {
  return estimate(store, store.evaluationWork(), false);
}

std::optional<GrowingWork> growingWork(const LiveStore& store) {
  // Where a run was restarted, both steps may have been counted twice.
  if (!store.ownScript() || store.opWork().empty() || store.laterOpWork().empty()) {
    return std::nullopt;
  }
  const std::uint32_t firstStep = store.opWork().front().step(),
                      laterStep = store.laterOpWork().front().step();
  const double firstBatch = batchOf(store, firstStep), laterBatch = batchOf(store, laterStep);
  if (firstBatch <= 0 || laterBatch <= 0 || laterBatch > kMostLargerBatch * firstBatch) {
    return std::nullopt;
  }
  const Work first = workOf(store, store.opWork()), later = workOf(store, store.laterOpWork());
  Times grown{};
  for (std::size_t i = 0; i < grown.size(); ++i) {
    grown[i] = later.all[i] - first.all[i];
    if (grown[i] < kLeastGrowth * first.all[i]) return std::nullopt;
  }
  struct Grown {
    double share = 0;
    GrowingLine line;
  };
  Grown most, joined;
  for (const auto& [key, place] : later.places) {
    const auto before = first.places.find(key);
    Times more = place.times;
    if (before != first.places.end()) {
      for (std::size_t i = 0; i < more.size(); ++i) more[i] -= before->second.times[i];
    }
    const DeviceWorkShare share = shareOf(more, grown);
    const auto take = [&](double size, Grown& best) {
      if (size <= best.share) return;
      best = {size, {place.shown, before != first.places.end() ? before->second.shown.bytes : 0}};
    };
    take(share.low, most);
    const bool joins = place.ops.contains("cat") || place.ops.contains("stack");
    if (joins && !place.hasGradients) take(share.high, joined);
  }
  if (most.share < kLeastShareOfGrowth) return std::nullopt;
  GrowingWork found{firstStep, laterStep, std::move(most.line), std::nullopt};
  if (joined.share >= kLeastJoinedShare) found.joined = std::move(joined.line);
  return found;
}

DeviceWorkShare deviceWorkShare(const LiveStore& store, std::string_view path) {
  return shareOfWork(store, [&](const events::OpWork& each) {
    const std::string module = store.modulePath(each.module_id());
    const bool isBelow =
        module.starts_with(path) && (module.size() == path.size() || module[path.size()] == '.');
    return isBelow && each.backward() == 0 && !path.empty();
  });
}

DeviceWorkShare backwardWorkShare(const LiveStore& store) {
  return shareOfWork(
      store, [](const events::OpWork& each) { return each.phase() == events::Phase::Backward; });
}

double mostStepsLikeEvaluation(const LiveStore& store) {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  const std::vector<events::OpWork>& evaluation = store.evaluationWork();
  if (store.opWork().empty() || evaluation.empty()) return kUnknown;
  std::uint64_t calls = 0;
  for (const events::OpWork& each : evaluation) calls += each.calls();
  if (calls >= kMostEvaluationOps) return kUnknown;
  return shareOf(workOf(store, evaluation).all, workOf(store, store.opWork()).all).high;
}

RepeatedWeights repeatedWeights(const LiveStore& store, std::uint32_t calls) {
  calls = std::max(calls, 1U);
  constexpr std::string_view kBelow = ".parametrizations.", kWeightNorm = "_weight_norm";
  struct Owner {
    Times times{};
    bool isRandom = false;    // then each time gives other weights
    std::uint32_t calls = 0;  // of the op that is called least often in forward: once each time
    double largest = 0;
    CallSiteParts site;
  };
  std::map<std::string, Owner> owners;
  Times all{}, again{};
  for (const events::OpWork& each : store.opWork()) {
    const std::string op(shortOp(store.name(each.op())));
    const Times times = timesOf(each, op, ratesOf(store));
    add(all, times);
    // What backward computes again, as under activation checkpointing, is no module's own call.
    if (each.backward() == 0 && each.phase() == events::Phase::Backward) continue;
    std::string module = store.modulePath(each.module_id());
    const std::size_t at = ('.' + module).find(kBelow);
    if (at == std::string::npos && !op.starts_with(kWeightNorm)) continue;
    if (at != std::string::npos) module.resize(at > 0 ? at - 1 : 0);
    Owner& owner = owners[module];
    add(owner.times, times);
    owner.isRandom = owner.isRandom || isRandom(op);
    if (each.backward() != 0) continue;
    owner.calls = owner.calls == 0 ? each.calls() : std::min(owner.calls, each.calls());
    const double largest = *std::max_element(times.begin(), times.end());
    if (largest < owner.largest) continue;
    owner.largest = largest;
    owner.site = store.callSiteParts(each.call_site());
  }
  RepeatedWeights result;
  double most = 0;
  for (auto& [module, owner] : owners) {
    if (owner.calls <= calls || owner.isRandom) continue;
    const double repeated = 1 - static_cast<double>(calls) / owner.calls;
    for (std::size_t i = 0; i < again.size(); ++i) again[i] += repeated * owner.times[i];
    ++result.modules;
    if (owner.largest < most) continue;
    most = owner.largest;
    result.site = std::move(owner.site);
    result.module = module;
    result.times = owner.calls;
  }
  static_cast<DeviceWorkShare&>(result) = shareOf(again, all);
  return result;
}

std::string shareText(const DeviceWorkShare& share) {
  const long low = std::lround(100 * share.low), high = std::lround(100 * share.high);
  return std::to_string(low) + (high != low ? " to " + std::to_string(high) : "") + " %";
}

std::string largestOpText(const DeviceWorkPlace& place) {
  const std::string shapes = countedShapes(place.shapes);
  const bool isShort = !shapes.empty() && shapes.size() <= kMostShapes;
  return opInModuleText(place) + (isShort ? " of " + shapes : "");
}

std::string growingWorkText(const GrowingWork& work) {
  const auto placeText = [](const DeviceWorkPlace& place) {
    const std::string most = "mostly " + place.op;
    return place.site.line.empty() ? opInModuleText(place) : place.site.line + " (" + most + ")";
  };
  const GrowingLine& line = work.line();
  const std::string text = placeText(line.place) + " reads and writes " +
                           formatBytes(line.firstBytes) + " in step " +
                           std::to_string(work.firstStep) + ", " + formatBytes(line.place.bytes) +
                           " in step " + std::to_string(work.laterStep);
  const bool isMost = placeText(line.place) == placeText(work.most.place);
  return isMost ? text : text + ", and most of what grows is " + placeText(work.most.place);
}

std::string largestPlacesText(const DeviceWork& work) {
  const auto middle = [&work](std::size_t place) {
    return place < work.places.size() ? (work.places[place].low + work.places[place].high) / 2 : 0;
  };
  if (middle(0) < kLargeShare) return {};
  const auto placeText = [&work](std::size_t place) {
    const DeviceWorkPlace& each = work.places[place];
    if (each.site.line.empty()) return opInModuleText(each) + ", " + shareText(each);
    const bool isMost = each.opLow >= kMostOfIt * each.low;
    const std::string calls =
        each.calls >= kManyCalls ? "; " + std::to_string(each.calls) + " ops" : "";
    return each.site.line + ", " + shareText(each) + (isMost ? " (mostly " : " (most of all ") +
           opInModuleText(each) + calls + ")";
  };
  const bool areTwo = middle(1) >= kNearlyAsLarge * middle(0);
  return placeText(0) + (areTwo ? ", and " + placeText(1) : "");
}

std::string largestWorkText(const DeviceWork& work) {
  const std::string places = largestPlacesText(work);
  if (places.empty()) return {};
  return "By the sizes of its ops in step " + std::to_string(work.step) +
         (work.measured ? " and the waits for their results" : "") + ", its largest work is " +
         places + ".";
}

}  // namespace highwater::analysis
