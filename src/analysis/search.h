#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/live_store.h"

namespace highwater::analysis {

/// The kinds of names that a search looks through. The log is searched by its model.
enum class SearchPlace : std::uint8_t { kOps, kModules, kMarkers, kCallSites, kLog };
/// The number of SearchPlaces.
inline constexpr std::size_t kSearchPlaces = 5;

/// The vector of the store that a found event is in.
enum class FoundEvent : std::uint8_t { kOp, kSyncPoint, kFallback, kMarker };

/// An event that was found, by one or more of its names.
struct SearchHit {
  std::int64_t timeNs = 0;
  std::uint32_t index = 0;  ///< in the store's vector of that kind; for an op its row
  FoundEvent event = FoundEvent::kOp;
  std::uint8_t places = 0;  ///< bit 1 << SearchPlace for each kind of name that matches

  bool operator==(const SearchHit&) const = default;
};

/// One name that was found, with its events. A module or call site without events counts as one
/// hit, which is not on the timeline.
struct SearchMatch {
  SearchPlace place = SearchPlace::kOps;
  FoundEvent event = FoundEvent::kOp;  ///< of kOps and kMarkers
  std::uint32_t id = 0;                ///< of the name, module or call site; a marker's index
  bool planned = false;                ///< of sync points: the first one is planned
  std::string text;
  CallSiteId site = kNoId;   ///< of kOps: where its first event was called, as far as known
  std::uint64_t events = 0;  ///< the events that have the name
  std::uint32_t firstStep = 0, lastStep = 0;  ///< 0: outside of all steps
  SearchHit first;                            ///< the earliest event, if there is one

  /// 0 for an op whose events the store has all dropped.
  [[nodiscard]] std::uint64_t hits() const {
    return events > 0 || place == SearchPlace::kOps ? events : 1;
  }
};

/// Finds the events of a run by the names of their ops, modules and call sites, and markers by
/// their text. Each name is compared once; the events are walked by their ids, each one once, so a
/// run that grows costs only what is new. Not thread-safe.
class StoreSearch {
 public:
  /// Whether a name is looked for.
  using Predicate = std::function<bool(const std::string& name)>;

  /// Searches `store`, which is not owned and must outlive this object.
  explicit StoreSearch(const LiveStore* store) : store_(store) {}

  /// Forgets what was found and begins another search; update() then finds. An empty function finds
  /// nothing.
  void start(Predicate isWanted);
  /// Finds what the store got since the last call, among `mostEvents` events at most: call it again
  /// until it is complete(). Returns whether anything changed.
  bool update(std::size_t mostEvents = SIZE_MAX);
  /// Whether the last call has looked at all that the store had then.
  [[nodiscard]] bool complete() const { return left_ > 0; }

  /// The names that were found, in the order in which their first event arrived. Ops that the store
  /// has dropped do not count.
  [[nodiscard]] const std::vector<SearchMatch>& matches() const { return matches_; }
  /// The events that were found, by time. Ops that the store has dropped are missing.
  [[nodiscard]] const std::vector<SearchHit>& hits() const { return hits_; }

 private:
  /// Rows of matches_ by id: kUnknown before the name was compared, kNoMatch where it is not
  /// looked for.
  using RowsById = std::vector<std::int32_t>;
  static constexpr std::int32_t kUnknown = -2, kNoMatch = -1;

  template <typename NameOf>
  std::int32_t rowOf(RowsById& rows, std::uint32_t id, SearchPlace place, FoundEvent event,
                     NameOf&& nameOf);
  void count(std::int32_t row, const SearchHit& hit, std::uint32_t step);
  template <typename Event>
  void look(const Event& event, FoundEvent kind, std::uint32_t index, CallSiteId site,
            bool planned);
  /// Counts an event that is looked at next; false if none may be any more.
  bool mayLook() { return left_ > 0 && --left_ > 0; }
  void lookForOps();
  void lookForMarkers();
  void lookForDefinitions();
  void sortNewHits(std::size_t sorted);
  void forgetDroppedOps();
  void countAgain();
  template <typename Event>
  void countAgain(const SearchHit& hit, const Event& event, CallSiteId site);

  const LiveStore* store_;
  Predicate isWanted_;
  /// The number of events that may still be looked at in this call.
  std::size_t left_ = SIZE_MAX;
  std::uint64_t revision_ = 0;
  bool begun_ = false;
  std::size_t nextOp_ = 0, nextSync_ = 0, nextFallback_ = 0, nextMarker_ = 0, firstOp_ = 0;
  std::size_t modules_ = 0, callSites_ = 0;  ///< defined at the last call
  std::array<RowsById, 3> opRows_;           ///< by FoundEvent
  RowsById moduleRows_, callSiteRows_;
  std::vector<SearchMatch> matches_;
  std::vector<SearchHit> hits_;
};

}  // namespace highwater::analysis
