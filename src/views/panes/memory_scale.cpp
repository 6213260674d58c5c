#include "views/panes/memory_scale.h"

#include <algorithm>
#include <cmath>

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

}  // namespace

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
  for (const MemoryLimitLine& limit : limits) {
    if (!(limit.bytes > 0)) {
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
  const std::pair<double, const char*> units[] = {
      {kKi * kKi * kKi, "GiB"}, {kKi * kKi, "MiB"}, {kKi, "KiB"}, {1, "B"}};
  for (const auto& [bytes, name] : units) {
    if (top >= bytes || bytes == 1) {
      scale.unitBytes = bytes;
      scale.unit = QLatin1String(name);
      break;
    }
  }
  scale.tickBytes = niceStep(top / scale.unitBytes / std::max(ticks, 1)) * scale.unitBytes;
  // Without a limit the scale ends at half a tick, so that it rarely changes while data arrives.
  scale.topBytes =
      scale.inScale.empty() ? std::ceil(top / (scale.tickBytes / 2)) * (scale.tickBytes / 2) : top;
  return scale;
}

}  // namespace highwater::views
