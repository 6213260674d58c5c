#include "tuning/request_model.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/mps_heaps.h"
#include "core/units.h"
#include "tuning/free_matching.h"

namespace highwater::tuning {
namespace {

/// Whether two steps allocate by the same ops in the same order: only then can they be compared.
bool hasSameOps(const std::vector<TracedRequest>& a, const std::vector<TracedRequest>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const TracedRequest& x, const TracedRequest& y) { return x.op == y.op; });
}

/// The longest part of consecutive steps that are alike, two or more: the first step of a run also
/// allocates the optimizer's state, and in the first ones of a script the ends of steps may not be
/// known yet. The trace as it is where no two are alike.
StepTrace settledPart(StepTrace trace) {
  std::size_t begin = 0, count = 1;
  for (std::size_t from = 0; from < trace.steps.size();) {
    std::size_t end = from + 1;
    if (trace.steps[from].empty()) {
      from = end;
      continue;
    }
    while (end < trace.steps.size() && hasSameOps(trace.steps[from], trace.steps[end])) ++end;
    // Of two the later: the first may be those that a GradScaler skips.
    if (end - from >= count) {
      begin = from;
      count = end - from;
    }
    from = end;
  }
  if (count < 2) return trace;
  for (std::size_t step = 0; step < begin; ++step) {
    for (const TracedRequest& each : trace.steps[step]) {
      trace.baseBytes -= std::min(trace.baseBytes, each.freedBefore);
      trace.baseBytes += each.bytes;
    }
  }
  const auto first = trace.steps.begin() + static_cast<std::ptrdiff_t>(begin);
  trace.steps = {first, first + static_cast<std::ptrdiff_t>(count)};
  return trace;
}

/// Keeps the traces whose steps are alike: of several such groups the largest, and of equal ones
/// that of the largest setting, which larger ones are predicted from.
void keepComparable(std::vector<StepTrace>& traces) {
  std::size_t steps = traces.front().steps.size();
  for (const StepTrace& each : traces) steps = std::min(steps, each.steps.size());
  const auto isAlike = [steps](const StepTrace& a, const StepTrace& b) {
    for (std::size_t step = 0; step < steps; ++step) {
      if (!hasSameOps(a.steps[step], b.steps[step])) return false;
    }
    return true;
  };
  std::vector<StepTrace> most;
  for (const StepTrace& reference : traces) {
    std::vector<StepTrace> alike;
    std::copy_if(traces.begin(), traces.end(), std::back_inserter(alike),
                 [&](const StepTrace& each) { return isAlike(reference, each); });
    const auto rank = [](const std::vector<StepTrace>& group) {
      std::uint64_t tokens = 0;
      for (const StepTrace& each : group) tokens = std::max(tokens, each.setting.tokens());
      return std::pair(group.size(), tokens);
    };
    if (rank(alike) > rank(most)) most = std::move(alike);
  }
  traces = std::move(most);
}

/// Blocks before the first step, where their sizes are not known.
constexpr std::uint64_t kBaseBlock = 4ULL << 20;
/// More bytes are so many larger blocks: each is played again with every prediction.
constexpr std::uint64_t kMostBaseBlocks = 1024;
/// With a smaller error of the peaks no other guess is tried.
constexpr double kGoodError = 0.005;
/// That gradients stay until they are cleared is likely, so that a guess without it must have an
/// error that is smaller by this much. On the bench `tuner` it tells gradients from hidden states
/// where steps are so small that both lie in blocks of the same size.
constexpr double kLikelier = 0.01;
/// Smaller blocks are too many to tell apart.
constexpr std::uint64_t kSmallestChecked = 64 * 1024;

}  // namespace

double RequestModel::units(Growth growth, Setting setting) {
  const auto tokens = static_cast<double>(setting.tokens());
  switch (growth) {
    case Growth::kBatch:
      return setting.batch;
    case Growth::kTokens:
      return tokens;
    case Growth::kScores:
      return tokens * setting.length;
    case Growth::kConstant:
      break;
  }
  return 1;
}

/// The growth that leaves the least of the sizes unexplained. A block may be larger than what was
/// asked for, never smaller.
RequestModel::Request RequestModel::sized(const Sizes& sizes) const {
  Request best;
  double least = std::numeric_limits<double>::infinity();
  for (const Growth growth : kGrowths) {
    double factor = std::numeric_limits<double>::infinity();
    for (std::size_t t = 0; t < sizes.size(); ++t) {
      factor = std::min(factor, static_cast<double>(sizes[t]) / units(growth, settings_[t]));
    }
    double unexplained = 0;
    for (std::size_t t = 0; t < sizes.size(); ++t) {
      const double explained = factor * units(growth, settings_[t]);
      unexplained += 1 - explained / static_cast<double>(sizes[t]);
    }
    if (unexplained < least - 1e-6) {
      least = unexplained;
      best.growth = growth;
      best.factor = factor;
    }
  }
  return best;
}

std::uint64_t RequestModel::bytesAt(const Request& request, Setting setting) const {
  const double bytes = request.factor * units(request.growth, setting);
  return static_cast<std::uint64_t>(std::ceil(std::min(bytes, 1e18) - 1e-6));
}

/// The sizes of the weights, which were allocated before the first step, in bytes: those of the
/// gradients or of the optimizer's state, of which one or two values a weight are kept, whichever
/// adds up to what was allocated. Empty if none does.
std::vector<double> RequestModel::weightsOf(const std::vector<Request>& requests,
                                            std::size_t firstStep,
                                            const std::vector<events::Phase>& phases,
                                            std::uint64_t total) {
  constexpr double kClose = 0.05;
  std::vector<bool> kept(firstStep, true);
  for (std::size_t i = 0; i < firstStep; ++i) {
    for (const std::size_t freed : requests[i].freedBefore) kept[freed] = false;
  }
  for (const events::Phase phase : {events::Phase::OptimizerStep, events::Phase::Backward}) {
    std::vector<double> sizes;
    double all = 0;
    for (std::size_t i = 0; i < firstStep; ++i) {
      if (!kept[i] || phases[i] != phase || requests[i].growth != Growth::kConstant) continue;
      sizes.push_back(requests[i].factor);
      all += sizes.back();
    }
    std::sort(sizes.begin(), sizes.end());
    for (const std::size_t each : {1U, 2U}) {
      const double share = all / static_cast<double>(each) / static_cast<double>(total);
      if (!(std::abs(share - 1) < kClose)) continue;
      std::vector<double> weights;
      for (std::size_t i = each - 1; i < sizes.size(); i += each) weights.push_back(sizes[i]);
      return weights;
    }
  }
  return {};
}

Result<RequestModel> RequestModel::make(std::span<const StepTrace> all) {
  std::vector<StepTrace> traces(all.begin(), all.end());
  const bool fromStart = std::count_if(traces.begin(), traces.end(),
                                       [](const StepTrace& each) { return each.fromStart; }) > 1;
  std::erase_if(traces, [fromStart](const StepTrace& each) {
    return each.steps.size() < 2 || (fromStart && !each.fromStart);
  });
  if (traces.size() < 2) {
    return failure("ops were recorded at fewer than two settings, two steps or more each");
  }
  if (!fromStart) {
    for (StepTrace& each : traces) each = settledPart(std::move(each));
  }
  const Setting first = traces.front().setting, second = traces[1].setting;
  keepComparable(traces);
  if (traces.size() < 2) {
    return failure("the ops that allocate differ between " + settingText(first) + " and " +
                   settingText(second));
  }
  std::size_t steps = traces.front().steps.size();
  for (const StepTrace& each : traces) steps = std::min(steps, each.steps.size());

  // Which blocks were freed is a guess where several add up: of some ways to guess the one counts
  // that explains the measured peaks best. Blocks are told apart best at the largest setting.
  std::vector<std::size_t> references(traces.size());
  std::iota(references.begin(), references.end(), std::size_t{0});
  std::sort(references.begin(), references.end(), [&traces](std::size_t x, std::size_t y) {
    return traces[x].setting.tokens() > traces[y].setting.tokens();
  });
  references.resize(std::min<std::size_t>(references.size(), 2));
  std::optional<RequestModel> best;
  double least = std::numeric_limits<double>::infinity();
  for (const bool keepsGradients : {true, false}) {
    const double margin = keepsGradients ? 0 : kLikelier;
    for (const std::size_t reference : references) {
      FreeMatching::Compositions compositions;
      for (const Guess guess : {Guess::kByUse, Guess::kBySum, Guess::kByUseFirst}) {
        for (const std::uint64_t smallest : {kSmallestChecked, kSmallestChecked / 64}) {
          if (least < kGoodError + margin) break;
          RequestModel model = combined(traces, reference, steps, fromStart, guess, keepsGradients,
                                        smallest, compositions);
          const double error = model.errorOf(traces, steps) + margin;
          if (error >= least) continue;
          least = error;
          best = std::move(model);
        }
      }
    }
  }
  return std::move(*best);
}

/// The weighted sum of the relative errors of the peaks of current allocated in settled steps.
double RequestModel::errorOf(const std::vector<StepTrace>& traces, std::size_t steps) const {
  std::uint64_t most = 1;
  for (const StepTrace& trace : traces) most = std::max(most, trace.setting.tokens());
  double error = 0;
  for (const StepTrace& trace : traces) {
    std::uint64_t current = trace.baseBytes, peak = 0;
    for (std::size_t step = 0; step < steps; ++step) {
      for (const TracedRequest& each : trace.steps[step]) {
        current = sum(current - std::min(current, each.freedBefore), each.bytes);
        if (step > 0) peak = std::max(peak, current);
      }
    }
    const auto measured = static_cast<double>(std::max<std::uint64_t>(peak, 1));
    const auto played = static_cast<double>(play(trace.setting, {}).current);
    // Larger settings count more: from them on it is extrapolated.
    const double size = static_cast<double>(trace.setting.tokens()) / static_cast<double>(most);
    error += size * size * std::abs(played / measured - 1);
  }
  return error;
}

RequestModel RequestModel::combined(const std::vector<StepTrace>& traces, std::size_t largest,
                                    std::size_t steps, bool fromStart, Guess guess,
                                    bool keepsGradients, std::uint64_t smallestChecked,
                                    FreeMatching::Compositions& compositions) {
  RequestModel model;
  model.fromStart_ = fromStart;
  for (const StepTrace& each : traces) model.settings_.push_back(each.setting);
  const FreeMatching matching(traces, largest, steps, guess, keepsGradients, smallestChecked,
                              compositions);
  std::vector<Request> requests;
  std::vector<events::Phase> phases;
  std::vector<std::uint64_t> before;  // freed by the first step, but allocated earlier
  std::map<std::size_t, std::size_t> freesBefore;
  const std::size_t firstAlike = fromStart ? 1 : 0;
  for (std::size_t step = 0; step < steps; ++step) {
    if (step == 1) model.firstSettled_ = requests.size();
    for (std::size_t i = 0; i < traces.front().steps[step].size(); ++i) {
      Sizes sizes;
      for (const StepTrace& trace : traces) {
        const TracedRequest& traced = trace.steps[step][i];
        // The same request of other steps may have got a block of less excess.
        std::uint64_t smallest = traced.requested;
        for (std::size_t other = firstAlike; step >= firstAlike && other < steps; ++other) {
          const auto& there = trace.steps[other];
          if (there.size() == trace.steps[step].size() && there[i].op == traced.op) {
            smallest = std::min(smallest, there[i].requested);
          }
        }
        sizes.push_back(smallest);
      }
      const TracedRequest& traced = traces[largest].steps[step][i];
      Request request = model.sized(sizes);
      const FreeMatching::Freed& freed = matching.freed()[requests.size()];
      request.freedBefore = freed.requests;
      const std::uint64_t rest = freed.unmatched;
      if (rest > kHostValueBytes && step == 0 && !fromStart) {
        freesBefore[requests.size()] = before.size();
        before.push_back(rest);
      }
      requests.push_back(std::move(request));
      phases.push_back(traced.phase);
    }
  }

  // Blocks from before the first step: those that it frees, and the rest.
  std::vector<Request> base;
  std::uint64_t rest = traces[largest].baseBytes;
  for (const std::uint64_t bytes : before) {
    Request block;
    block.factor = static_cast<double>(bytes);
    rest -= std::min(rest, bytes);
    base.push_back(block);
  }
  if (fromStart) {
    for (const double bytes : weightsOf(requests, model.firstSettled_, phases, rest)) {
      Request block;
      block.factor = bytes;
      rest -= std::min(rest, wholeBytes(bytes));
      base.push_back(block);
    }
  }
  const std::uint64_t baseBlock = std::max(kBaseBlock, rest / kMostBaseBlocks + 1);
  while (rest > kSmallestChecked) {
    Request block;
    block.factor = static_cast<double>(std::min(rest, baseBlock));
    rest -= std::min(rest, baseBlock);
    base.push_back(block);
  }
  model.base_ = base.size();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    for (std::size_t& each : requests[i].freedBefore) each += model.base_;
    const auto freed = freesBefore.find(i);
    if (freed != freesBefore.end()) requests[i].freedBefore.push_back(freed->second);
  }
  model.firstSettled_ += model.base_;
  model.requests_ = std::move(base);
  model.requests_.insert(model.requests_.end(), std::make_move_iterator(requests.begin()),
                         std::make_move_iterator(requests.end()));
  return model;
}

bool RequestModel::canPlay(Setting setting) const {
  for (const Growth a : kGrowths) {
    for (const Growth b : kGrowths) {
      const double ratio = units(a, settings_.front()) / units(b, settings_.front());
      const auto isAlike = [&](Setting each) {
        return std::abs(units(a, each) / units(b, each) / ratio - 1) < 1e-9;
      };
      // Two kinds of growth that no traced setting tells apart must not matter here.
      if (std::all_of(settings_.begin(), settings_.end(), isAlike) && !isAlike(setting)) {
        return false;
      }
    }
  }
  return setting.batch > 0 && setting.length > 0;
}

/// Plays all requests, and leaves the blocks that were not freed in `blocks`. Returns whether none
/// was refused; a refused one is the last.
bool RequestModel::playThrough(MpsHeaps& plan, Setting setting,
                               std::vector<MpsHeaps::Block>& blocks) const {
  blocks.assign(requests_.size(), MpsHeaps::kRefused);
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    for (const std::size_t freed : requests_[i].freedBefore) {
      if (blocks[freed] == MpsHeaps::kRefused) continue;
      plan.free(std::exchange(blocks[freed], MpsHeaps::kRefused));
    }
    if (i == firstSettled_) plan.resetPeaks();
    blocks[i] = plan.allocate(bytesAt(requests_[i], setting));
    if (blocks[i] == MpsHeaps::kRefused) return false;
  }
  return true;
}

MpsHeaps RequestModel::heapsAfter(std::span<const Setting> history,
                                  const MemoryLimits& limits) const {
  MpsHeaps plan(limits);
  std::vector<MpsHeaps::Block> blocks;
  for (const Setting& each : history) {
    (void)playThrough(plan, each, blocks);
    // The blocks of weights and optimizer too: those of the next setting have the same sizes, and
    // take them from the cache again.
    for (const MpsHeaps::Block block : blocks) {
      if (block != MpsHeaps::kRefused) plan.free(block);
    }
  }
  return plan;
}

PlayedPeak RequestModel::playIn(MpsHeaps heaps, Setting setting) const {
  std::vector<MpsHeaps::Block> blocks;
  PlayedPeak peak;
  peak.refused = !playThrough(heaps, setting, blocks);
  peak.current = heaps.counters().currentPeakBytes;
  peak.driver = heaps.counters().driverPeakBytes;
  return peak;
}

PlayedPeak RequestModel::play(Setting setting, const MemoryLimits& limits) const {
  return playIn(MpsHeaps(limits), setting);
}

}  // namespace highwater::tuning
