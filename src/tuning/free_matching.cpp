#include "tuning/free_matching.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/mps_heaps.h"

namespace highwater::tuning {
namespace {

/// Of how many blocks at most a sum of freed bytes is composed by trying, and how often.
constexpr int kMostTried = 6;
constexpr int kMostTries = 20'000;
constexpr std::size_t kMostPossibilities = 40;
/// How often a trace is followed again with other choices.
constexpr int kMostRuns = 150;

}  // namespace

/// Follows a trace again and again, until no choice is contradicted.
class FreeMatching::Search {
 public:
  /// Matches `steps` steps of the trace number `which`; the others have the same requests.
  Search(const std::vector<StepTrace>& traces, std::size_t which, std::size_t steps, Guess guess,
         bool keepsGradients, std::uint64_t smallestChecked, Compositions& compositions)
      : guess_(guess),
        keepsGradients_(keepsGradients),
        smallestChecked_(smallestChecked),
        compositions_(compositions) {
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
    numberSizes();
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
  std::vector<Freed> freed() && { return std::move(freed_); }

 private:
  struct Block {
    std::size_t request = 0;
    std::uint64_t bytes = 0;
    std::size_t group = 0;  ///< the step and phase in which it was allocated
  };
  using Chosen = std::vector<std::size_t>;  ///< places in live_
  static constexpr auto kPhases = static_cast<std::size_t>(events::Phase::MAX) + 1;
  static constexpr auto kOptimizer = static_cast<std::size_t>(events::Phase::OptimizerStep);
  static constexpr auto kBackward = static_cast<std::size_t>(events::Phase::Backward);

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

  /// Sets possibilities_ to the ways in which the bytes freed before a request add up, the
  /// likeliest first.
  void findPossibilities(std::size_t at, std::uint64_t rest, std::uint64_t liveHash) {
    const auto [known, isNew] = compositions_.try_emplace(liveHash);
    if (isNew) {
      composeAll(at, rest);
      known->second = possibilities_;
    }
    possibilities_ = known->second;
    std::stable_sort(possibilities_.begin(), possibilities_.end(),
                     [&](const Chosen& a, const Chosen& b) { return rank(at, a) < rank(at, b); });
  }

  void composeAll(std::size_t at, std::uint64_t rest) {
    possibilities_.clear();
    tries_ = 0;
    // Most blocks live for one step; what the optimizer allocates, it frees itself, or keeps.
    // Gradients are not freed by the backward pass that makes them: in a small step they lie in
    // blocks as large as those of hidden states. Scalars, which are freed, may be as small as those
    // of a bias.
    const std::size_t step = groups_[at] / kPhases;
    const bool isFirst = at > 0 && groups_[at - 1] / kPhases != step;
    const bool inOptimizer = groups_[at] % kPhases == kOptimizer;
    for (const bool usual : {true, false}) {
      setEligible([&](std::size_t i) {
        const std::size_t age = step - live_[i].group / kPhases;
        if (!usual) return true;
        const bool isLargeGradient =
            traced_[live_[i].request].requested > kHostValueBytes && isNewGradient(at, i);
        return age == (isFirst ? 1U : 0U) && !isLargeGradient &&
               (inOptimizer || live_[i].group % kPhases != kOptimizer);
      });
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
      compose(count, rest, kHostValueBytes, live_.size(), chosen);
    }
    for (int count = 4; possibilities_.empty() && count <= kMostTried; ++count) {
      Chosen chosen;
      tries_ = 0;
      compose(count, rest, 0, live_.size(), chosen);
    }
    if (possibilities_.empty()) asMuchAsFits(rest);
  }

  void free(std::size_t at) {
    std::uint64_t rest = traced_[at].freedBefore;
    // The same blocks are live again when the trace is followed with a later choice changed.
    std::uint64_t liveHash = at;
    for (const Block& each : live_) liveHash = liveHash * 1'000'003 + each.request;
    const auto [known, isNew] = found_.try_emplace(liveHash);
    if (isNew) {
      findPossibilities(at, rest, liveHash);
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
  /// Whether the backward pass that frees blocks before the request `at` has made the live block
  /// `i` of the same size at each setting: then it is probably a weight's gradient, which stays
  /// until the gradients are cleared.
  bool isNewGradient(std::size_t at, std::size_t i) const {
    return keepsGradients_ && isConstant_[live_[i].request] && groups_[at] == live_[i].group &&
           live_[i].group % kPhases == kBackward;
  }
  /// The share of blocks that no op has used since the request before, or the one before that.
  double unused(std::size_t at, const Chosen& chosen) const {
    double all = 0;
    for (const std::size_t i : chosen) {
      if (isNewGradient(at, i)) {
        all += 1;
        continue;
      }
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
    if (count == 1) return composeLast(rest, slack, end, chosen);
    std::vector<std::uint64_t>& tried = triedAt_[static_cast<std::size_t>(count)];
    const std::uint64_t here = ++searches_;
    // A block that takes no part counts as a try, too.
    std::size_t at = end;
    for (std::size_t next = eligible_.before[end]; next-- > 0;) {
      const std::size_t i = eligible_.places[next];
      tries_ += static_cast<int>(at - i);
      at = i;
      if (tries_ > kMostTries || possibilities_.size() >= kMostPossibilities) return;
      const std::uint64_t bytes = eligible_.bytes[next];
      if (bytes > rest + slack) continue;
      const std::size_t kind = sizesOf_[live_[i].request];
      if (tried[kind] == here) continue;
      tried[kind] = here;
      chosen.push_back(i);
      compose(count - 1, rest - std::min(rest, bytes), slack, i, chosen);
      chosen.pop_back();
    }
    tries_ += static_cast<int>(at);
  }
  /// The same for the last block, whose size is known: it is looked up by its size. The blocks that
  /// are passed over count as tries nevertheless, so that the limit of tries is where it would be.
  void composeLast(std::uint64_t rest, std::uint64_t slack, std::size_t end, Chosen& chosen) {
    std::vector<std::uint64_t>& tried = triedAt_[1];
    const std::uint64_t here = ++searches_;
    const int before = tries_;
    lastPlaces_.clear();
    const std::uint64_t least = rest - std::min(rest, slack);
    for (auto it = std::lower_bound(eligible_.bySize.begin(), eligible_.bySize.end(),
                                    std::pair(least, std::size_t{0}));
         it != eligible_.bySize.end() && it->first <= rest + slack; ++it) {
      if (it->second < end) lastPlaces_.push_back(it->second);
    }
    // The newest first.
    std::sort(lastPlaces_.begin(), lastPlaces_.end(), std::greater<>());
    for (const std::size_t i : lastPlaces_) {
      tries_ = before + static_cast<int>(end - i);
      if (tries_ > kMostTries || possibilities_.size() >= kMostPossibilities) return;
      const std::size_t kind = sizesOf_[live_[i].request];
      if (tried[kind] == here) continue;
      tried[kind] = here;
      chosen.push_back(i);
      addPossibility(chosen);
      chosen.pop_back();
    }
    tries_ = before + static_cast<int>(end);
  }
  /// Chooses the live blocks that compose() may take: those for which isIn(place) holds.
  template <typename F>
  void setEligible(F&& isIn) {
    eligible_ = {};
    eligible_.before.push_back(0);
    for (std::size_t i = 0; i < live_.size(); ++i) {
      if (isIn(i)) {
        eligible_.places.push_back(i);
        eligible_.bytes.push_back(live_[i].bytes);
      }
      eligible_.before.push_back(eligible_.places.size());
    }
    for (std::size_t k = 0; k < eligible_.places.size(); ++k) {
      eligible_.bySize.emplace_back(eligible_.bytes[k], eligible_.places[k]);
    }
    std::sort(eligible_.bySize.begin(), eligible_.bySize.end());
  }
  /// Numbers the requests by their sizes in all traces: equal for those that have the same in each.
  /// A block may be of the same size as others because it was reused for a smaller request.
  void numberSizes() {
    std::map<std::vector<std::uint64_t>, std::size_t> numbers;
    for (std::size_t request = 0; request < traced_.size(); ++request) {
      std::vector<std::uint64_t> sizes{traced_[request].bytes};
      if (keepsGradients_) sizes.push_back(traced_[request].requested);
      for (const auto& other : others_) sizes.push_back(other[request].bytes);
      isConstant_.push_back(std::all_of(others_.begin(), others_.end(), [&](const auto& other) {
        return other[request].requested == traced_[request].requested;
      }));
      sizesOf_.push_back(numbers.try_emplace(std::move(sizes), numbers.size()).first->second);
    }
    triedAt_.assign(kMostTried + 1, std::vector<std::uint64_t>(numbers.size(), 0));
  }
  void addPossibility(const Chosen& chosen) {
    const auto sizesOf = [this](const Chosen& places) {
      std::vector<std::size_t> sizes;
      for (const std::size_t i : places) sizes.push_back(sizesOf_[live_[i].request]);
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
      setEligible([](std::size_t) { return true; });
      for (const std::uint64_t slack : {std::uint64_t{0}, kHostValueBytes}) {
        for (int count = 1; rest > kHostValueBytes && possibilities_.empty() && count <= 3;
             ++count) {
          Chosen chosen;
          tries_ = 0;
          compose(count, rest, slack, live_.size(), chosen);
        }
      }
      live_ = all;
      setEligible([](std::size_t) { return true; });
      if (possibilities_.empty() && rest > kHostValueBytes) continue;
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
  bool keepsGradients_;
  std::uint64_t smallestChecked_;
  Compositions& compositions_;
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
  /// Which of live_ take part, from the oldest.
  struct Eligible {
    std::vector<std::size_t> places;
    std::vector<std::uint64_t> bytes;
    std::vector<std::size_t> before;  ///< for each place how many stand before it
    std::vector<std::pair<std::uint64_t, std::size_t>> bySize;  ///< bytes and place
  } eligible_;
  std::vector<std::size_t> sizesOf_;  ///< of each request, see numberSizes()
  std::vector<bool> isConstant_;      ///< of each request: as large at each setting
  /// For each count of blocks the search, by its number, that has last tried such sizes.
  std::vector<std::vector<std::uint64_t>> triedAt_;
  std::uint64_t searches_ = 0;
  Chosen lastPlaces_;  ///< scratch memory of composeLast()
  bool checked_ = true;
  int tries_ = 0;
};

FreeMatching::FreeMatching(const std::vector<StepTrace>& traces, std::size_t which,
                           std::size_t steps, Guess guess, bool keepsGradients,
                           std::uint64_t smallestChecked, Compositions& compositions)
    : freed_(Search(traces, which, steps, guess, keepsGradients, smallestChecked, compositions)
                 .freed()) {}

}  // namespace highwater::tuning
