#include "analysis/device/device_path.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/op_label.h"
#include "analysis/statistics.h"

namespace highwater::analysis {
namespace {

using Kind = PathPlace::Kind;
using events::Phase;

constexpr std::size_t kMostLinks = 16;  // in the text of a chain

/// Ops that only make views or read metadata, without "aten::".
constexpr std::array<std::string_view, 26> kViews = {
    "alias",     "as_strided",    "chunk",  "detach",     "diagonal", "expand",
    "expand_as", "flatten",       "item",   "is_nonzero", "narrow",   "permute",
    "reshape",   "select",        "slice",  "split",      "squeeze",  "t",
    "to",        "transpose",     "unbind", "unsqueeze",  "unfold",   "view",
    "view_as",   "_reshape_alias"};

bool onlyLooks(std::string_view name) {
  return std::find(kViews.begin(), kViews.end(), shortOp(name)) != kViews.end();
}

/// An event that may move a step's work from one backend to another.
struct Crossing {
  enum class What : std::uint8_t { ToDevice, Fallback, Read };
  std::int64_t beginNs = 0, endNs = 0;
  What what = What::Read;
  NameId op = kNoId;
  ThreadId thread = 0;
  Phase phase = Phase::None;
  bool deliberate = false;
  bool accepted = false;
};

std::optional<Crossing::What> crossingOf(events::SyncKind kind) {
  switch (kind) {
    case events::SyncKind::CopyToDevice:
      return Crossing::What::ToDevice;
    case events::SyncKind::ScalarRead:
    case events::SyncKind::CopyToHost:
    case events::SyncKind::Nonzero:
    case events::SyncKind::Equal:
    case events::SyncKind::Unique:
    case events::SyncKind::ValueRead:
      return Crossing::What::Read;
    default:
      return std::nullopt;
  }
}

/// Begin and end of the recorded ops that made device work, sorted.
std::vector<std::pair<std::int64_t, std::int64_t>> deviceOps(const LiveStore& store) {
  std::map<NameId, bool> looks;
  std::vector<std::pair<std::int64_t, std::int64_t>> ops;
  for (const events::OpSpan& op : store.ops().records) {
    if (op.current_bytes() < 0) continue;
    const auto [known, isNew] = looks.try_emplace(op.op(), false);
    if (isNew) known->second = onlyLooks(store.name(op.op()));
    if (!known->second) ops.emplace_back(op.begin_ns(), op.begin_ns() + op.duration_ns());
  }
  std::sort(ops.begin(), ops.end());
  return ops;
}

class PathWalk {
 public:
  explicit PathWalk(const LiveStore& store) : store_(store) {}

  [[nodiscard]] std::optional<StepPath> of(std::size_t row) {
    const auto& records = store_.steps().records;
    const events::StepRecord& record = records[row];
    const std::int64_t beginNs = record.begin_ns();
    std::int64_t endNs = beginNs + record.duration_ns();
    if (row + 1 < records.size()) endNs = std::min(endNs, records[row + 1].begin_ns());
    movedNs_ = deviceMoveEnd(record.step(), beginNs, endNs);
    crossings_.clear();
    addSyncPoints(record.step(), beginNs, endNs);
    addFallbacks(record.step(), beginNs, endNs);
    if (crossings_.empty() && !sawPhases_) return std::nullopt;
    path_ = {record.step(), 0, 0, 0, {}};
    const bool fromHost = movedNs_ || (!crossings_.empty() && firstIsCopy());
    path_.places.push_back({fromHost ? Kind::Host : Kind::Device});
    read_.reset();
    std::map<ThreadId, std::int64_t> coveredUpTo;
    for (const Crossing& each : crossings_) {
      const auto [covered, isNew] = coveredUpTo.try_emplace(each.thread, each.endNs);
      if (!isNew && each.beginNs < covered->second) continue;
      covered->second = each.endNs;
      noteMoveBefore(each.beginNs);
      cross(each);
    }
    noteMoveBefore(endNs);
    return std::move(path_);
  }

 private:
  [[nodiscard]] std::optional<std::int64_t> deviceMoveEnd(std::uint32_t step, std::int64_t beginNs,
                                                          std::int64_t endNs) {
    std::optional<std::int64_t> moved;
    sawPhases_ = false;
    forEachIn(store_.phaseLane(), beginNs, endNs, [&](const Span& span) {
      const events::PhaseSpan& phase = store_.phases()[span.payload];
      if (phase.step() != step) return;
      sawPhases_ = true;
      if (phase.phase() == Phase::DeviceMove && !moved) moved = span.endNs;
    });
    return moved;
  }

  template <typename F>
  static void forEachIn(const SpanIndex& lane, std::int64_t beginNs, std::int64_t endNs, F&& f) {
    const std::size_t last = lane.firstFrom(endNs);
    for (std::size_t i = lane.firstFrom(beginNs); i < last; ++i) f(lane[i]);
  }

  void addSyncPoints(std::uint32_t step, std::int64_t beginNs, std::int64_t endNs) {
    forEachIn(store_.syncLane(), beginNs, endNs, [&](const Span& span) {
      const events::SyncPoint& sync = store_.syncPoints()[span.payload];
      const auto what = crossingOf(sync.kind());
      if (!what || sync.step() != step) return;
      crossings_.push_back({span.beginNs, span.endNs, *what, sync.op(), sync.thread(), sync.phase(),
                            sync.deliberate() != 0});
    });
  }

  void addFallbacks(std::uint32_t step, std::int64_t beginNs, std::int64_t endNs) {
    forEachIn(store_.fallbackLane(), beginNs, endNs, [&](const Span& span) {
      const events::FallbackEvent& each = store_.fallbacks()[span.payload];
      if (each.step() != step) return;
      crossings_.push_back({span.beginNs, span.endNs, Crossing::What::Fallback, each.op(),
                            each.thread(), each.phase(), false, isAccepted(each.op())});
    });
    // An event comes before those that it contains.
    std::stable_sort(crossings_.begin(), crossings_.end(),
                     [](const Crossing& a, const Crossing& b) {
                       return a.beginNs != b.beginNs ? a.beginNs < b.beginNs : a.endNs > b.endNs;
                     });
  }

  [[nodiscard]] bool isAccepted(NameId op) {
    const auto [known, isNew] = accepted_.try_emplace(op, false);
    if (isNew) known->second = store_.acceptanceOf(store_.name(op)) != nullptr;
    return known->second;
  }

  [[nodiscard]] bool firstIsCopy() const {
    return crossings_.front().what == Crossing::What::ToDevice;
  }

  [[nodiscard]] bool onDevice() const { return path_.places.back().kind == Kind::Device; }

  void change(PathPlace place, bool deliberate) {
    path_.places.push_back(place);
    ++path_.changes;
    if (deliberate) ++path_.deliberate;
  }

  /// The batch is on the device after its move, whether the host waited for it or not.
  void noteMoveBefore(std::int64_t ns) {
    const bool atBegin = path_.places.size() == 1 && path_.places.back().kind == Kind::Host;
    if (movedNs_ && *movedNs_ <= ns && atBegin) change({Kind::Device}, true);
  }

  void cross(const Crossing& each) {
    switch (each.what) {
      case Crossing::What::ToDevice:
        if (!onDevice()) change({Kind::Device}, each.deliberate);
        return;
      case Crossing::What::Fallback:
        resume();
        change({Kind::Fallback, each.op}, false);
        change({Kind::Device}, false);
        if (each.accepted) path_.accepted += 2;
        return;
      case Crossing::What::Read:
        if (!onDevice() && !workFollowed(each)) break;
        resume();
        change({Kind::Host}, each.deliberate);
        break;
    }
    read_ = each;
  }

  /// The work continues on the device.
  void resume() {
    if (!onDevice()) path_.places.push_back({Kind::Device, kNoId, true});
  }

  /// Whether the device had work between the last read and this one.
  [[nodiscard]] bool workFollowed(const Crossing& read) {
    if (!read_) return true;
    if (read_->phase != read.phase) return true;
    if (!deviceOps_) deviceOps_ = deviceOps(store_);
    for (auto op = std::lower_bound(deviceOps_->begin(), deviceOps_->end(),
                                    std::pair(read_->endNs, std::int64_t{0}));
         op != deviceOps_->end() && op->first < read.beginNs; ++op) {
      if (op->second <= read.beginNs) return true;
    }
    return false;
  }

  const LiveStore& store_;
  /// Computed on first use, because there may be millions of ops.
  std::optional<std::vector<std::pair<std::int64_t, std::int64_t>>> deviceOps_;
  std::map<NameId, bool> accepted_;
  std::vector<Crossing> crossings_;
  std::optional<std::int64_t> movedNs_;
  bool sawPhases_ = false;
  StepPath path_;
  std::optional<Crossing> read_;  ///< the last one
};

/// One part of a chain with the number of its repetitions.
struct Link {
  std::string text;
  std::size_t count = 1;
};

std::string placeText(const LiveStore& store, const PathPlace& place) {
  switch (place.kind) {
    case Kind::Host:
      return "host";
    case Kind::Device:
      return "mps";
    case Kind::Fallback:
      return "cpu: " + store.name(place.op);
  }
  return {};
}

/// A switch and the way back to the device form one link.
std::vector<Link> linksOf(const LiveStore& store, const std::vector<PathPlace>& places) {
  std::vector<Link> links;
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::string text = i == 0 ? "" : places[i].resumed ? "; " : " \u2192 ";
    text += placeText(store, places[i]);
    const bool back = i + 1 < places.size() && places[i + 1].kind == Kind::Device;
    if (i > 0 && places[i].kind != Kind::Device && back) {
      ++i;
      text += (places[i].resumed ? "; " : " \u2192 ") + placeText(store, places[i]);
    }
    if (!links.empty() && i > 0 && links.back().text == text) {
      ++links.back().count;
    } else {
      links.push_back({std::move(text), 1});
    }
  }
  return links;
}

}  // namespace

std::string pathText(const LiveStore& store, const std::vector<PathPlace>& places) {
  const std::vector<Link> links = linksOf(store, places);
  std::string text;
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (i == kMostLinks) return text + " \u2026 (" + std::to_string(links.size() - i) + " more)";
    text += links[i].text;
    if (links[i].count > 1) text += " (" + std::to_string(links[i].count) + "\u00d7)";
  }
  return text;
}

PathSummary summarizePaths(const LiveStore& store) {
  PathSummary summary;
  if (!store.hasQueue()) return summary;
  PathWalk walk(store);
  std::vector<double> changes, deliberate, accepted, unplanned;
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, PathKind> kinds;
  for (std::size_t row = 0; row < store.steps().records.size(); ++row) {
    std::optional<StepPath> path = walk.of(row);
    if (!path) continue;
    changes.push_back(path->changes);
    deliberate.push_back(path->deliberate);
    accepted.push_back(path->accepted);
    unplanned.push_back(path->unplanned());
    std::string chain = pathText(store, path->places);
    // Steps with the same chain have the same fallbacks, so `accepted` is the same too.
    const PathKind fresh{chain, path->changes, path->deliberate, path->accepted, 0, path->step};
    ++kinds.try_emplace({std::move(chain), path->changes, path->deliberate}, fresh)
          .first->second.steps;
    summary.steps.push_back(std::move(*path));
  }
  for (auto& [key, kind] : kinds) summary.kinds.push_back(std::move(kind));
  std::sort(summary.kinds.begin(), summary.kinds.end(), [](const PathKind& a, const PathKind& b) {
    return a.steps != b.steps ? a.steps > b.steps : a.firstStep < b.firstStep;
  });
  summary.changesP50 = medianOf(std::move(changes));
  summary.deliberateP50 = medianOf(std::move(deliberate));
  summary.acceptedP50 = medianOf(std::move(accepted));
  summary.unplannedP50 = medianOf(std::move(unplanned));
  return summary;
}

}  // namespace highwater::analysis
