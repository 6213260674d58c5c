#include "analysis/search.h"

#include <algorithm>
#include <utility>

namespace highwater::analysis {
namespace {

constexpr std::uint8_t bitOf(SearchPlace place) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(place));
}

bool isEarlier(const SearchHit& a, const SearchHit& b) {
  return a.timeNs < b.timeNs;
}

}  // namespace

void StoreSearch::start(Predicate isWanted) {
  *this = StoreSearch(store_);
  isWanted_ = std::move(isWanted);
}

bool StoreSearch::update(std::size_t mostEvents) {
  const bool upToDate = begun_ && complete() && revision_ == store_->revision();
  if (!isWanted_ || upToDate) return false;
  begun_ = true;
  // One more, so that 0 means that there was more to look at.
  left_ = mostEvents == SIZE_MAX ? SIZE_MAX : mostEvents + 1;
  revision_ = store_->revision();
  const std::size_t hitsBefore = hits_.size(), matchesBefore = matches_.size();
  forgetDroppedOps();
  const std::size_t sorted = hits_.size();
  bool changed = sorted != hitsBefore;
  lookForOps();
  lookForMarkers();
  changed = changed || hits_.size() != sorted;
  sortNewHits(sorted);
  lookForDefinitions();
  return changed || matches_.size() != matchesBefore;
}

template <typename NameOf>
std::int32_t StoreSearch::rowOf(RowsById& rows, std::uint32_t id, SearchPlace place,
                                FoundEvent event, NameOf&& nameOf) {
  if (id == kNoId) return kNoMatch;
  if (id >= rows.size()) rows.resize(std::max<std::size_t>(id + 1, rows.size() * 2), kUnknown);
  if (rows[id] != kUnknown) return rows[id];
  std::string name = nameOf(id);
  if (!isWanted_(name)) return rows[id] = kNoMatch;
  SearchMatch match;
  match.place = place;
  match.event = event;
  match.id = id;
  match.text = std::move(name);
  matches_.push_back(std::move(match));
  return rows[id] = static_cast<std::int32_t>(matches_.size() - 1);
}

void StoreSearch::count(std::int32_t row, const SearchHit& hit, std::uint32_t step) {
  SearchMatch& match = matches_[static_cast<std::size_t>(row)];
  if (match.events++ == 0 || hit.timeNs < match.first.timeNs) match.first = hit;
  if (step == 0) return;
  match.firstStep = match.firstStep == 0 ? step : std::min(match.firstStep, step);
  match.lastStep = std::max(match.lastStep, step);
}

template <typename Event>
void StoreSearch::look(const Event& event, FoundEvent kind, std::uint32_t index, CallSiteId site,
                       bool planned) {
  const std::int32_t op =
      rowOf(opRows_[static_cast<std::size_t>(kind)], event.op(), SearchPlace::kOps, kind,
            [this](NameId id) { return store_->name(id); });
  const std::int32_t module = rowOf(moduleRows_, event.module_id(), SearchPlace::kModules, kind,
                                    [this](ModuleId id) { return store_->modulePath(id); });
  const std::int32_t line = rowOf(callSiteRows_, site, SearchPlace::kCallSites, kind,
                                  [this](CallSiteId id) { return store_->callSite(id); });
  if (op < 0 && module < 0 && line < 0) return;
  SearchHit hit{event.begin_ns(), index, kind, 0};
  const auto found = [&](std::int32_t row, SearchPlace place) {
    if (row >= 0) hit.places = static_cast<std::uint8_t>(hit.places | bitOf(place));
  };
  found(op, SearchPlace::kOps);
  found(module, SearchPlace::kModules);
  found(line, SearchPlace::kCallSites);
  for (const std::int32_t row : {op, module, line}) {
    if (row >= 0) count(row, hit, event.step());
  }
  if (op >= 0) {
    SearchMatch& match = matches_[static_cast<std::size_t>(op)];
    if (match.site == kNoId) match.site = site;
    if (match.events == 1) match.planned = planned;
  }
  hits_.push_back(hit);
}

void StoreSearch::lookForOps() {
  const auto& fallbacks = store_->fallbacks();
  for (; nextFallback_ < fallbacks.size() && mayLook(); ++nextFallback_) {
    const events::FallbackEvent& e = fallbacks[nextFallback_];
    look(e, FoundEvent::kFallback, static_cast<std::uint32_t>(nextFallback_), e.call_site(), false);
  }
  const auto& syncs = store_->syncPoints();
  for (; nextSync_ < syncs.size() && mayLook(); ++nextSync_) {
    const events::SyncPoint& e = syncs[nextSync_];
    look(e, FoundEvent::kSyncPoint, static_cast<std::uint32_t>(nextSync_), e.call_site(),
         e.deliberate() != 0);
  }
  const OpColumns& ops = store_->ops();
  for (nextOp_ = std::max(nextOp_, ops.firstRow); nextOp_ < ops.endRow() && mayLook(); ++nextOp_) {
    if (const auto* op = ops.at(nextOp_)) {
      look(*op, FoundEvent::kOp, static_cast<std::uint32_t>(nextOp_), kNoId, false);
    }
  }
}

void StoreSearch::lookForMarkers() {
  const auto& markers = store_->markers();
  for (; nextMarker_ < markers.size(); ++nextMarker_) {
    const events::Marker& e = markers[nextMarker_];
    std::string text = store_->markerText(e);
    if (!isWanted_(text)) continue;
    SearchMatch match;
    match.place = SearchPlace::kMarkers;
    match.event = FoundEvent::kMarker;
    match.id = static_cast<std::uint32_t>(nextMarker_);
    match.text = std::move(text);
    matches_.push_back(std::move(match));
    const SearchHit hit{e.time_ns(), static_cast<std::uint32_t>(nextMarker_), FoundEvent::kMarker,
                        bitOf(SearchPlace::kMarkers)};
    count(static_cast<std::int32_t>(matches_.size() - 1), hit, e.step());
    hits_.push_back(hit);
  }
}

/// Modules and call sites that no event has are found by their definitions.
void StoreSearch::lookForDefinitions() {
  const auto lookFor = [this](std::size_t& known, std::size_t defined, auto&& ids, RowsById& rows,
                              SearchPlace place, auto&& nameOf) {
    if (std::exchange(known, defined) == defined) return;
    for (const auto id : ids()) (void)rowOf(rows, id, place, FoundEvent::kOp, nameOf);
  };
  lookFor(
      modules_, store_->moduleCount(), [this] { return store_->moduleIds(); }, moduleRows_,
      SearchPlace::kModules, [this](ModuleId id) { return store_->modulePath(id); });
  lookFor(
      callSites_, store_->callSiteCount(), [this] { return store_->callSiteIds(); }, callSiteRows_,
      SearchPlace::kCallSites, [this](CallSiteId id) { return store_->callSite(id); });
}

void StoreSearch::sortNewHits(std::size_t sorted) {
  const auto middle = hits_.begin() + static_cast<std::ptrdiff_t>(sorted);
  if (!std::is_sorted(middle, hits_.end(), isEarlier)) {
    std::stable_sort(middle, hits_.end(), isEarlier);
  }
  if (sorted > 0 && middle != hits_.end() && isEarlier(*middle, *(middle - 1))) {
    // Events arrive nearly in order, so that only the last hits change their places.
    const auto from = std::upper_bound(hits_.begin(), middle, *middle, isEarlier);
    std::inplace_merge(from, middle, hits_.end(), isEarlier);
  }
}

void StoreSearch::forgetDroppedOps() {
  const std::size_t first = store_->ops().firstRow;
  if (first == firstOp_) return;
  firstOp_ = first;
  std::erase_if(hits_, [first](const SearchHit& hit) {
    return hit.event == FoundEvent::kOp && hit.index < first;
  });
  countAgain();
}

/// Counts the hits of each name anew. A dropped op can no longer be asked for its names, so it
/// cannot be subtracted.
void StoreSearch::countAgain() {
  for (SearchMatch& match : matches_) {
    if (match.place == SearchPlace::kMarkers) continue;
    match.events = 0;
    match.firstStep = match.lastStep = 0;
    match.first = {};
  }
  for (const SearchHit& hit : hits_) {
    switch (hit.event) {
      case FoundEvent::kOp:
        if (const auto* op = store_->ops().at(hit.index)) countAgain(hit, *op, kNoId);
        break;
      case FoundEvent::kSyncPoint: {
        const events::SyncPoint& sync = store_->syncPoints()[hit.index];
        countAgain(hit, sync, sync.call_site());
        break;
      }
      case FoundEvent::kFallback: {
        const events::FallbackEvent& fallback = store_->fallbacks()[hit.index];
        countAgain(hit, fallback, fallback.call_site());
        break;
      }
      case FoundEvent::kMarker:
        break;
    }
  }
}

/// Precondition: the names of the event have been compared.
template <typename Event>
void StoreSearch::countAgain(const SearchHit& hit, const Event& event, CallSiteId site) {
  const auto countIn = [&](const RowsById& rows, std::uint32_t id, SearchPlace place) {
    if ((hit.places & bitOf(place)) != 0) count(rows[id], hit, event.step());
  };
  countIn(opRows_[static_cast<std::size_t>(hit.event)], event.op(), SearchPlace::kOps);
  countIn(moduleRows_, event.module_id(), SearchPlace::kModules);
  countIn(callSiteRows_, site, SearchPlace::kCallSites);
}

}  // namespace highwater::analysis
