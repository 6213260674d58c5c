#include "views/panes/memory_scale.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace highwater::views {
namespace {

constexpr double kKi = 1024.0;
constexpr double kRecommendedJoins = 0.5;
constexpr double kWatermarkJoins = 0.85;
/// Leaves room above the highest value for its label.
constexpr double kHeadroom = 1.075;

double niceStep(double wanted) {
  const double decade = std::pow(10.0, std::floor(std::log10(wanted)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (decade * factor >= wanted * 0.999) {
      return decade * factor;
    }
  }
  return decade * 10;
}

/// The largest unit in which `bytes` are 1 or more.
std::pair<double, const char*> unitOf(double bytes) {
  const std::pair<double, const char*> units[] = {
      {kKi * kKi * kKi, "GiB"}, {kKi * kKi, "MiB"}, {kKi, "KiB"}};
  for (const auto& unit : units) {
    if (bytes >= unit.first) {
      return unit;
    }
  }
  return {1, "B"};
}

}  // namespace

QString limitText(double bytes) {
  const auto [unitBytes, unit] = unitOf(bytes);
  const double value = bytes / unitBytes;
  const bool gib = unitBytes > kKi * kKi;
  const int decimals = gib || (value < 10 && unitBytes > 1) ? 2
                       : value < 100 && unitBytes > 1       ? 1
                                                            : 0;
  return QString::number(value, 'f', decimals) + QLatin1Char(' ') + QLatin1String(unit);
}

QString MemoryScale::number(double bytes) const {
  const double value = bytes / unitBytes;
  const bool whole = std::abs(value - std::round(value)) < 0.005;
  return QString::number(value, 'f',
                         whole                                         ? 0
                         : (value < 10 && tickBytes < unitBytes * 0.1) ? 2
                                                                       : 1);
}

MemoryScale makeMemoryScale(double dataMax, const std::vector<MemoryLimitLine>& limits, int ticks) {
  MemoryScale scale;
  double top = std::max(dataMax, 1.0) * kHeadroom;
  const auto recommended = std::find_if(limits.begin(), limits.end(), [](const auto& limit) {
    return limit.kind == LimitKind::kRecommended;
  });
  const double most =
      recommended != limits.end() && dataMax <= recommended->bytes * kRecommendedJoins
          ? recommended->bytes
          : std::numeric_limits<double>::infinity();
  for (const MemoryLimitLine& limit : limits) {
    if (!(limit.bytes > 0) || limit.bytes > most) {
      continue;
    }
    const double joins =
        limit.kind == LimitKind::kRecommended ? kRecommendedJoins : kWatermarkJoins;
    if (dataMax > limit.bytes * joins) {
      scale.inScale.push_back(limit);
      top = std::max(top, limit.bytes * kHeadroom);
    } else {
      scale.shelf.push_back(limit);
    }
  }
  std::sort(scale.shelf.begin(), scale.shelf.end(),
            [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  const auto [unitBytes, unit] = unitOf(top);
  scale.unitBytes = unitBytes;
  scale.unit = QLatin1String(unit);
  scale.tickBytes = niceStep(top / scale.unitBytes / std::max(ticks, 1)) * scale.unitBytes;
  // Without a limit the scale ends at half a tick, so that it rarely changes while data arrives.
  scale.topBytes =
      scale.inScale.empty() ? std::ceil(top / (scale.tickBytes / 2)) * (scale.tickBytes / 2) : top;
  return scale;
}

}  // namespace highwater::views
