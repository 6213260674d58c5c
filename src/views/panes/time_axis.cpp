#include "views/panes/time_axis.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace highwater::views {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
/// Free space to the right of the newest data, as a share of the visible range.
constexpr double kAheadShare = 0.02;
/// Before the first event of an ended run stands this part of what follows, as 1 / kRoomShare.
constexpr std::int64_t kRoomShare = 20;

}  // namespace

TimeTicks timeTicks(const TimeScale& scale, double minPixels) {
  const double wanted = scale.nsPerPixel() * minPixels;
  std::int64_t decade = 1;
  int decimals = 9;
  while (decade < kSecond) {
    for (const std::int64_t factor : {1, 2, 5}) {
      if (static_cast<double>(decade * factor) >= wanted) {
        return {decade * factor, decade * factor / (factor == 2 ? 4 : 5), decimals};
      }
    }
    decade *= 10;
    --decimals;
  }
  static constexpr std::array<std::pair<std::int64_t, std::int64_t>, 15> kLong = {{{1, 5},
                                                                                   {2, 4},
                                                                                   {5, 5},
                                                                                   {10, 5},
                                                                                   {15, 3},
                                                                                   {30, 3},
                                                                                   {60, 4},
                                                                                   {120, 4},
                                                                                   {300, 5},
                                                                                   {600, 5},
                                                                                   {1200, 4},
                                                                                   {1800, 3},
                                                                                   {3600, 4},
                                                                                   {7200, 4},
                                                                                   {21600, 6}}};
  for (const auto& [seconds, parts] : kLong) {
    if (static_cast<double>(seconds * kSecond) >= wanted) {
      return {seconds * kSecond, seconds * kSecond / parts, 0};
    }
  }
  const auto days = static_cast<std::int64_t>(std::ceil(wanted / (86400.0 * 1e9)));
  return {days * 86400 * kSecond, days * 21600 * kSecond, 0};
}

TimeAxis::TimeAxis(QObject* parent) : QObject(parent) {}

void TimeAxis::setExtent(TimeRange extent, std::int64_t stepNs) {
  extent.endNs = std::max(extent.endNs, extent.beginNs);
  if (extent.beginNs == extent_.beginNs && extent.endNs == extent_.endNs) {
    return;
  }
  extent_ = extent;
  if (follows_ && !held_) {
    const std::int64_t parts = (kFollowedSteps * stepNs + kDefaultNs - 1) / kDefaultNs;
    // By powers of two: it does not change with each step.
    const auto wanted =
        kDefaultNs * static_cast<std::int64_t>(std::bit_ceil(
                         static_cast<std::uint64_t>(std::max<std::int64_t>(parts, 1))));
    show(following(lengthChosen_ || stepNs == 0 ? visibleNs() : wanted));
  }
  emit extentChanged();
}

void TimeAxis::setVisible(TimeRange range) {
  lengthChosen_ = true;
  setFollows(false);
  show(clamped(range));
}

void TimeAxis::zoom(double factor, std::int64_t aroundNs) {
  lengthChosen_ = true;
  const double length = static_cast<double>(visibleNs());
  const double limit =
      static_cast<double>(std::max(extent_.endNs - extent_.beginNs, kDefaultNs)) * 1.1;
  const double wanted = std::clamp(length * factor, static_cast<double>(kShortestNs), limit);
  if (follows_) {
    show(following(static_cast<std::int64_t>(wanted)));
    return;
  }
  const double share = static_cast<double>(aroundNs - visible_.beginNs) / length;
  const auto begin = aroundNs - static_cast<std::int64_t>(wanted * share);
  show(clamped({begin, begin + static_cast<std::int64_t>(wanted)}));
}

void TimeAxis::pan(std::int64_t byNs) {
  setFollows(false);
  show(clamped({visible_.beginNs + byNs, visible_.endNs + byNs}));
}

void TimeAxis::endFollowing(std::int64_t fromNs) {
  const bool isAllInView = extent_.endNs - extent_.beginNs < visibleNs();
  if (follows_ && (!lengthChosen_ || isAllInView)) fit(fromNs);
}

void TimeAxis::fit(std::int64_t fromNs) {
  lengthChosen_ = true;
  setFollows(false);
  // Of a run that ended before its first moment the ruler would count microseconds.
  if (extent_.endNs == extent_.beginNs) {
    return show({extent_.beginNs, extent_.beginNs + kDefaultNs});
  }
  fromNs = std::min(fromNs, extent_.endNs);
  const std::int64_t room = (extent_.endNs - fromNs) / kRoomShare;
  const std::int64_t begin = std::max(fromNs - room, extent_.beginNs);
  const std::int64_t length = std::max(extent_.endNs - begin, kShortestNs);
  const auto ahead = static_cast<std::int64_t>(static_cast<double>(length) * kAheadShare / 2);
  show({begin, extent_.endNs + std::max(ahead, kShortestNs)});
}

void TimeAxis::reveal(TimeRange range) {
  if (range.beginNs >= visible_.beginNs && range.endNs <= visible_.endNs) {
    return;
  }
  const std::int64_t middle = range.beginNs + (range.endNs - range.beginNs) / 2;
  const std::int64_t length = visibleNs();
  setFollows(false);
  show(clamped({middle - length / 2, middle - length / 2 + length}));
}

void TimeAxis::zoomTo(TimeRange range) {
  const std::int64_t room = std::max((range.endNs - range.beginNs) / 8, kShortestNs / 2);
  setVisible({range.beginNs - room, range.endNs + room});
}

void TimeAxis::setHeld(bool held) {
  held_ = held;
}

void TimeAxis::bringIn(std::int64_t ns) {
  if (follows_ && held_ && ns > visible_.endNs) {
    show(following(visibleNs()));
  }
}

void TimeAxis::setFollows(bool follows) {
  if (follows_ == follows) {
    return;
  }
  follows_ = follows;
  if (follows_) {
    show(following(visibleNs()));
  }
  emit followsChanged(follows_);
}

void TimeAxis::select(std::int64_t fromNs, std::int64_t toNs) {
  if (toNs < fromNs) {
    std::swap(fromNs, toNs);
  }
  if (toNs - fromNs < kShortestNs) {
    clearSelection();
    return;
  }
  selection_ = TimeRange{fromNs, toNs};
  emit selectionChanged();
}

void TimeAxis::clearSelection() {
  if (selection_) {
    selection_.reset();
    emit selectionChanged();
  }
}

void TimeAxis::pinSelection(Pin pin) {
  if (!selection_) {
    return;
  }
  pins_[static_cast<std::size_t>(pin)] = selection_;
  clearSelection();
  emit pinsChanged();
}

void TimeAxis::swapPins() {
  if (pins_[0] || pins_[1]) {
    std::swap(pins_[0], pins_[1]);
    emit pinsChanged();
  }
}

void TimeAxis::clearPins() {
  if (pins_[0] || pins_[1]) {
    pins_ = {};
    emit pinsChanged();
  }
}

void TimeAxis::setCursor(std::optional<std::int64_t> ns) {
  if (cursor_ != ns) {
    cursor_ = ns;
    emit cursorChanged();
  }
}

void TimeAxis::reset() {
  held_ = false;
  lengthChosen_ = false;
  extent_ = {0, 0};
  clearSelection();
  clearPins();
  setCursor(std::nullopt);
  show({0, kDefaultNs});
  setFollows(true);
  emit extentChanged();
}

TimeRange TimeAxis::clamped(TimeRange range) const {
  const std::int64_t runNs = std::max(extent_.endNs - extent_.beginNs, kDefaultNs);
  const std::int64_t length =
      std::clamp(range.endNs - range.beginNs, kShortestNs,
                 static_cast<std::int64_t>(static_cast<double>(runNs) * 1.1));
  // At least a tenth of the view shows the run, so that users do not get lost beside it.
  const std::int64_t edge = length / 10;
  const std::int64_t first = extent_.beginNs - (length - edge);
  const std::int64_t last = std::max(extent_.endNs - edge, extent_.beginNs);
  const std::int64_t begin =
      std::clamp(range.beginNs, std::min(first, last), std::max(first, last));
  return {begin, begin + length};
}

TimeRange TimeAxis::following(std::int64_t length) const {
  const auto ahead = static_cast<std::int64_t>(static_cast<double>(length) * kAheadShare);
  const std::int64_t end = std::max(extent_.endNs + ahead, extent_.beginNs + length);
  return {end - length, end};
}

void TimeAxis::show(TimeRange range) {
  if (range.beginNs != visible_.beginNs || range.endNs != visible_.endNs) {
    visible_ = range;
    emit visibleChanged();
  }
}

}  // namespace highwater::views
