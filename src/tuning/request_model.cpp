#include "tuning/request_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/units.h"
#include "tuning/heap_plan.h"

namespace highwater::tuning {
namespace {

/// Blocks before the first step, where their sizes are not known.
constexpr std::uint64_t kBaseBlock = 4ULL << 20;
/// Values that the host passes to jobs are blocks too, allocated and freed at any time.
constexpr std::uint64_t kSlack = 2048;
/// Of how many blocks at most a sum of freed bytes is composed by trying, and how often.
constexpr int kMostTried = 6;
constexpr int kMostTries = 20'000;
constexpr std::size_t kMostPossibilities = 40;
/// With a smaller error of the peaks no other guess is tried.
constexpr double kGoodError = 0.005;
/// How often a trace is followed again with other choices.
constexpr int kMostRuns = 150;
/// Smaller blocks are too many to tell apart.
constexpr std::uint64_t kSmallestChecked = 64 * 1024;

}  // namespace

/// Finds the blocks that a trace freed, of which only the sum of bytes is known: a sum of 3 MiB may
/// be one block or two. Of several possibilities the one with the fewest and newest blocks is tried
/// first. It is wrong if the allocator later made a new block although a larger one, freed by it,
/// would have been reused. Then the next possibility of that free is tried.
class RequestModel::Matching {
 public:
  struct Freed {
    std::vector<std::size_t> requests;
    std::uint64_t unmatched = 0;
  };

  /// Matches `steps` steps of the trace number `which`; the others have the same requests.
  Matching(const std::vector<StepTrace>& traces, std::size_t which, std::size_t steps, Guess guess,
           std::uint64_t smallestChecked)
      : guess_(guess), smallestChecked_(smallestChecked) {
    for (std::size_t step = 0; step < steps; ++step) {
      for (const TracedRequest& each : traces[which].steps[step]) {
        traced_.push_back(each);
        groups_.push_back(step * kPhases + static_cast<std::size_t>(each.phase));
      }
    }
    for (const StepTrace& trace : traces) {
      if (&trace == &traces[which]) continue;
      std::vector<TracedRequest>& other = others_.emplace_back();
      for (std::size_t step = 0; step < steps; ++step) {
        other.insert(other.end(), trace.steps[step].begin(), trace.steps[step].end());
      }
    }
    choices_.assign(traced_.size(), 0);
    for (int run = 0; run < kMostRuns; ++run) {
      const std::optional<std::size_t> wrong = follow();
      if (!wrong) return;
      ++choices_[*wrong];
    }
    // No choice agrees with everything: the one that was reached, without checks.
    checked_ = false;
    follow();
  }

  /// For each request what is freed before it.
  const std::vector<Freed>& freed() const { return freed_; }

 private:
  struct Block {
    std::size_t request = 0;
    std::uint64_t bytes = 0;
    std::size_t group = 0;  ///< the step and phase in which it was allocated
  };
  using Chosen = std::vector<std::size_t>;  ///< places in live_
  static constexpr auto kPhases = static_cast<std::size_t>(events::Phase::MAX) + 1;
  static constexpr auto kOptimizer = static_cast<std::size_t>(events::Phase::OptimizerStep);

  /// Goes through the trace by the present choices. Returns the free that turned out wrong.
  std::optional<std::size_t> follow() {
    live_.clear();
    cached_.clear();
    freed_.assign(traced_.size(), {});
    for (std::size_t i = 0; i < traced_.size(); ++i) {
      if (traced_[i].freedBefore > 0) free(i);
      const std::uint64_t bytes = traced_[i].bytes;
      if (const auto wrong = contradiction(traced_[i])) return wrong;
      const auto same = cached_.find(bytes);
      if (same != cached_.end()) cached_.erase(same);
      live_.push_back({i, bytes, groups_[i]});
    }
    return std::nullopt;
  }

  /// The free of a cached block that the allocator would have handed out instead.
  std::optional<std::size_t> contradiction(const TracedRequest& request) const {
    if (!checked_ || request.bytes < smallestChecked_) return std::nullopt;
    const bool isSmall = request.requested <= HeapRules::kMaxSmall;
    const bool wasCached = cached_.contains(request.bytes);
    const std::uint64_t end =
        wasCached ? request.bytes : request.requested + HeapRules::kMaxReuseSlack + 1;
    for (auto it = cached_.lower_bound(request.requested); it != cached_.end(); ++it) {
      if (it->first >= end || isSmall != (it->first <= HeapRules::kMaxSmall)) break;
      if (choices_[it->second] < choiceCounts_.at(it->second)) return it->second;
    }
    return std::nullopt;
  }

  void findPossibilities(std::size_t at, std::uint64_t rest) {
    possibilities_.clear();
    tries_ = 0;
    // Most blocks live for one step; what the optimizer allocates, it frees itself, or keeps.
    const std::size_t step = groups_[at] / kPhases;
    const bool isFirst = at > 0 && groups_[at - 1] / kPhases != step;
    const bool inOptimizer = groups_[at] % kPhases == kOptimizer;
    for (const bool usual : {true, false}) {
      eligible_.assign(live_.size(), true);
      for (std::size_t i = 0; usual && i < live_.size(); ++i) {
        const std::size_t age = step - live_[i].group / kPhases;
        eligible_[i] =
            age == (isFirst ? 1U : 0U) && (inOptimizer || live_[i].group % kPhases != kOptimizer);
      }
      for (int count = 1; count <= kMostTried && (usual || possibilities_.empty()); ++count) {
        Chosen chosen;
        tries_ = 0;
        compose(count, rest, 0, live_.size(), chosen);
      }
      if (usual && possibilities_.empty()) wholeGroup(rest);
    }
    for (int count = 1; possibilities_.empty() && count <= 3; ++count) {
      Chosen chosen;
      tries_ = 0;
      compose(count, rest, kSlack, live_.size(), chosen);
    }
    for (int count = 4; possibilities_.empty() && count <= kMostTried; ++count) {
      Chosen chosen;
      tries_ = 0;
      compose(count, rest, 0, live_.size(), chosen);
    }
    if (possibilities_.empty()) asMuchAsFits(rest);
    std::stable_sort(possibilities_.begin(), possibilities_.end(),
                     [&](const Chosen& a, const Chosen& b) { return rank(at, a) < rank(at, b); });
  }

  void free(std::size_t at) {
    std::uint64_t rest = traced_[at].freedBefore;
    // The same blocks are live again when the trace is followed with a later choice changed.
    std::uint64_t liveHash = at;
    for (const Block& each : live_) liveHash = liveHash * 1'000'003 + each.request;
    const auto [known, isNew] = found_.try_emplace(liveHash);
    if (isNew) {
      findPossibilities(at, rest);
      known->second = possibilities_;
    }
    possibilities_ = known->second;
    choiceCounts_[at] = possibilities_.size() - 1;
    Chosen chosen = possibilities_[std::min(choices_[at], possibilities_.size() - 1)];
    std::sort(chosen.begin(), chosen.end(), std::greater<>());
    for (const std::size_t i : chosen) {
      rest -= std::min(rest, live_[i].bytes);
      cached_.emplace(live_[i].bytes, at);
      freed_[at].requests.push_back(live_[i].request);
      live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    freed_[at].unmatched = rest;
  }

  /// By how many bytes these blocks differ from what the other traces freed at the same place.
  std::uint64_t disagreement(std::size_t at, const Chosen& chosen) const {
    std::uint64_t all = 0;
    for (const std::vector<TracedRequest>& other : others_) {
      std::uint64_t freed = 0;
      for (const std::size_t i : chosen) freed += other[live_[i].request].bytes;
      const std::uint64_t seen = other[at].freedBefore;
      all += freed > seen ? freed - seen : seen - freed;
    }
    return all;
  }

  std::pair<double, double> rank(std::size_t at, const Chosen& chosen) const {
    const auto off = static_cast<double>(disagreement(at, chosen));
    if (guess_ == Guess::kBySum) return {off, 0};
    const double use = unused(at, chosen);
    return guess_ == Guess::kByUse ? std::pair(off, use) : std::pair(use, off);
  }
  /// The share of blocks that no op has used since the request before, or the one before that.
  double unused(std::size_t at, const Chosen& chosen) const {
    double all = 0;
    for (const std::size_t i : chosen) {
      const std::uint64_t bytes = traced_[live_[i].request].requested;
      const auto isIn = [bytes](const std::vector<std::uint64_t>& sizes) {
        return std::find(sizes.begin(), sizes.end(), bytes) != sizes.end();
      };
      if (isIn(traced_[at].arguments)) continue;
      all += at > 0 && isIn(traced_[at - 1].arguments) ? 0.5 : 1;
    }
    return chosen.empty() ? 0 : all / static_cast<double>(chosen.size());
  }

  /// Adds the ways to choose `count` of the first `end` live blocks whose sizes add up, the newest
  /// first; of those with the same sizes only one.
  void compose(int count, std::uint64_t rest, std::uint64_t slack, std::size_t end,
               Chosen& chosen) {
    std::vector<std::uint64_t> tried;
    for (std::size_t i = end; i-- > 0;) {
      if (++tries_ > kMostTries || possibilities_.size() >= kMostPossibilities) return;
      const std::uint64_t bytes = live_[i].bytes;
      if (!eligible_[i] || bytes > rest + slack) continue;
      if (count == 1 && bytes + slack < rest) continue;
      const std::uint64_t kind = signature(i);
      if (std::find(tried.begin(), tried.end(), kind) != tried.end()) continue;
      tried.push_back(kind);
      chosen.push_back(i);
      if (count > 1) {
        compose(count - 1, rest - std::min(rest, bytes), slack, i, chosen);
      } else {
        addPossibility(chosen);
      }
      chosen.pop_back();
    }
  }
  /// Equal for blocks that have the same size in each trace.
  std::uint64_t signature(std::size_t place) const {
    std::uint64_t hash = live_[place].bytes;
    for (const std::vector<TracedRequest>& other : others_) {
      hash = hash * 1'000'003 + other[live_[place].request].bytes;
    }
    return hash;
  }
  void addPossibility(const Chosen& chosen) {
    const auto sizesOf = [this](const Chosen& places) {
      std::vector<std::uint64_t> sizes;
      for (const std::size_t i : places) sizes.push_back(signature(i));
      std::sort(sizes.begin(), sizes.end());
      return sizes;
    };
    const auto sizes = sizesOf(chosen);
    const bool isKnown = std::any_of(possibilities_.begin(), possibilities_.end(),
                                     [&](const Chosen& each) { return sizesOf(each) == sizes; });
    if (!isKnown) possibilities_.push_back(chosen);
  }
  /// All blocks of one phase that are left, as the gradients of the step before, and a few others.
  void wholeGroup(std::uint64_t freed) {
    std::map<std::size_t, std::uint64_t> totals;
    for (const Block& each : live_) totals[each.group] += each.bytes;
    for (const auto& [group, total] : totals) {
      if (total > freed) continue;
      const std::vector<Block> all = live_;
      Chosen members, places;
      live_.clear();
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].group == group) {
          members.push_back(i);
        } else {
          live_.push_back(all[i]);
          places.push_back(i);
        }
      }
      const std::uint64_t rest = freed - total;
      eligible_.assign(live_.size(), true);
      for (const std::uint64_t slack : {std::uint64_t{0}, kSlack}) {
        for (int count = 1; rest > kSlack && possibilities_.empty() && count <= 3; ++count) {
          Chosen chosen;
          tries_ = 0;
          compose(count, rest, slack, live_.size(), chosen);
        }
      }
      live_ = all;
      eligible_.assign(live_.size(), true);
      if (possibilities_.empty() && rest > kSlack) continue;
      Chosen others = possibilities_.empty() ? Chosen{} : possibilities_.front();
      for (const std::size_t each : others) members.push_back(places[each]);
      possibilities_ = {members};
      return;
    }
  }
  void asMuchAsFits(std::uint64_t freed) {
    Chosen order(live_.size()), chosen;
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
      return std::pair(live_[a].bytes, a) > std::pair(live_[b].bytes, b);
    });
    for (const std::size_t i : order) {
      if (live_[i].bytes > freed) continue;
      freed -= live_[i].bytes;
      chosen.push_back(i);
    }
    possibilities_ = {chosen};
  }

  Guess guess_;
  std::uint64_t smallestChecked_;
  std::vector<TracedRequest> traced_;
  std::vector<std::vector<TracedRequest>> others_;
  std::vector<std::size_t> groups_, choices_;
  std::map<std::size_t, std::size_t> choiceCounts_;  ///< the last choice of each free
  std::vector<Block> live_;
  std::multimap<std::uint64_t, std::size_t>
      cached_;  ///< size -> the request before which it was freed
  std::vector<Freed> freed_;
  std::vector<Chosen> possibilities_;
  std::unordered_map<std::uint64_t, std::vector<Chosen>> found_;  ///< by the place and live blocks
  std::vector<bool> eligible_;                                    ///< which of live_ take part
  bool checked_ = true;
  int tries_ = 0;
};

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
    // The first step of the run also allocates the optimizer's state.
    for (StepTrace& each : traces) {
      if (!each.fromStart || each.steps.size() < 3) continue;
      each.steps.erase(each.steps.begin());
    }
  }
  std::size_t steps = traces.front().steps.size();
  for (const StepTrace& each : traces) steps = std::min(steps, each.steps.size());

  // The same ops in the same order; else the numbers of two settings cannot be compared.
  for (std::size_t step = 0; step < steps; ++step) {
    const auto& reference = traces.front().steps[step];
    for (const StepTrace& trace : traces) {
      const bool isSame = std::equal(
          reference.begin(), reference.end(), trace.steps[step].begin(), trace.steps[step].end(),
          [](const TracedRequest& a, const TracedRequest& b) { return a.op == b.op; });
      if (!isSame) {
        return failure("the ops that allocate differ between " +
                       settingText(traces.front().setting) + " and " + settingText(trace.setting));
      }
    }
  }

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
  for (const std::size_t reference : references) {
    for (const Guess guess : {Guess::kByUse, Guess::kBySum, Guess::kByUseAlone}) {
      for (const std::uint64_t smallest : {kSmallestChecked, kSmallestChecked / 64}) {
        if (least < kGoodError) break;
        RequestModel model = combined(traces, reference, steps, fromStart, guess, smallest);
        const double error = model.errorOf(traces, steps);
        if (error >= least) continue;
        least = error;
        best = std::move(model);
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
                                    std::uint64_t smallestChecked) {
  RequestModel model;
  model.fromStart_ = fromStart;
  for (const StepTrace& each : traces) model.settings_.push_back(each.setting);
  const Matching matching(traces, largest, steps, guess, smallestChecked);
  std::vector<Request> requests;
  std::vector<events::Phase> phases;
  std::vector<std::uint64_t> before;  // freed by the first step, but allocated earlier
  std::map<std::size_t, std::size_t> freesBefore;
  double freedBytes = 0, unmatchedBytes = 0;
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
      const Matching::Freed& freed = matching.freed()[requests.size()];
      request.freedBefore = freed.requests;
      const std::uint64_t rest = freed.unmatched;
      freedBytes += static_cast<double>(traced.freedBefore);
      if (rest > kSlack && step == 0 && !fromStart) {
        freesBefore[requests.size()] = before.size();
        before.push_back(rest);
      } else {
        unmatchedBytes += static_cast<double>(rest);
      }
      requests.push_back(std::move(request));
      phases.push_back(traced.phase);
    }
  }
  model.unmatchedShare_ = freedBytes > 0 ? unmatchedBytes / freedBytes : 0;

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
  while (rest > kSmallestChecked) {
    Request block;
    block.factor = static_cast<double>(std::min(rest, kBaseBlock));
    rest -= std::min(rest, kBaseBlock);
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

PlayedPeak RequestModel::play(Setting setting, const MemoryLimits& limits) const {
  HeapPlan plan(limits);
  std::vector<HeapPlan::Block> blocks(requests_.size(), HeapPlan::kRefused);
  PlayedPeak peak;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    for (const std::size_t freed : requests_[i].freedBefore) {
      if (blocks[freed] == HeapPlan::kRefused) continue;
      plan.free(std::exchange(blocks[freed], HeapPlan::kRefused));
    }
    if (i == firstSettled_) plan.resetPeaks();
    blocks[i] = plan.allocate(bytesAt(requests_[i], setting));
    if (blocks[i] == HeapPlan::kRefused) {
      peak.refused = true;
      break;
    }
  }
  peak.current = plan.peakCurrent();
  peak.driver = plan.peakDriver();
  return peak;
}

}  // namespace highwater::tuning
