#include "analysis/account/memory_growth.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>

#include "analysis/statistics.h"

namespace highwater::analysis {
namespace {

constexpr std::size_t kMostGrowthPoints = 1000;  // over all shapes: 500,000 pairs
constexpr std::size_t kLeastPointsOfAShape = 8;  // for each shape, however many there are

/// The latest reading of each of the steps [firstStep, lastStep].
std::unordered_map<std::uint32_t, events::PhaseMemory> lastReadings(const LiveStore& store,
                                                                    std::uint32_t firstStep,
                                                                    std::uint32_t lastStep) {
  std::unordered_map<std::uint32_t, events::PhaseMemory> last;
  for (const events::PhaseMemory& each : store.phaseMemory()) {
    if (each.step() < firstStep || each.step() > lastStep) continue;
    const auto [found, isNew] = last.try_emplace(each.step(), each);
    if (!isNew && found->second.time_ns() < each.time_ns()) found->second = each;
  }
  return last;
}

/// The last sample of each step, for steps in order of time.
class LastSamples {
 public:
  explicit LastSamples(const MemoryColumns& memory) : memory_(memory) {}

  std::optional<double> in(std::int64_t beginNs, std::int64_t endNs) {
    const auto& times = memory_.timesNs;
    auto from = times.begin(), to = times.end();
    // A search from the step before reads fewer places of a long run than one of all samples.
    if (after_ > 0 && times[after_ - 1] <= endNs) {
      from += static_cast<std::ptrdiff_t>(after_);
      for (std::size_t width = 64; width < times.size() - after_; width *= 4) {
        if (times[after_ + width] <= endNs) continue;
        to = from + static_cast<std::ptrdiff_t>(width);
        break;
      }
    }
    const auto after = std::upper_bound(from, to, endNs);
    after_ = static_cast<std::size_t>(after - times.begin());
    if (after_ == 0 || times[after_ - 1] < beginNs) return std::nullopt;
    return memory_.current[after_ - 1];
  }

 private:
  const MemoryColumns& memory_;
  std::size_t after_ = 0;  ///< the first sample after the last step that was asked for
};

using Shape = std::pair<std::uint32_t, std::uint32_t>;

std::map<Shape, std::vector<Point>> byShape(const std::vector<StepEnd>& ends) {
  std::map<Shape, std::vector<Point>> points;
  for (const StepEnd& end : ends) {
    points[{end.batchSize, end.sequenceLength}].push_back(
        {static_cast<double>(end.step), end.bytes});
  }
  return points;
}

void addSlopes(const std::vector<Point>& points, std::size_t most, std::vector<double>& slopes) {
  const std::size_t every = (points.size() + most - 1) / most;
  for (std::size_t i = 0; i < points.size(); i += every) {
    for (std::size_t j = i + every; j < points.size(); j += every) {
      slopes.push_back((points[j].y - points[i].y) / (points[j].x - points[i].x));
    }
  }
}

/// A rise from a low to a high, as indices of a series.
struct Rise {
  std::size_t low = 0, high = 0;
};

/// Divides a series where it falls by half or more of what it has risen by.
std::vector<Rise> risesOf(const std::vector<Point>& points) {
  std::vector<Rise> rises{{0, 0}};
  for (std::size_t i = 1; i < points.size(); ++i) {
    Rise& rise = rises.back();
    const double height = points[rise.high].y - points[rise.low].y;
    if (height >= kLeastToothBytes && points[rise.high].y - points[i].y >= height / 2) {
      rises.push_back({i, i});
    } else if (points[i].y > points[rise.high].y) {
      rise.high = i;
    } else if (points[i].y < points[rise.low].y) {
      rise = {i, i};
    }
  }
  return rises;
}

/// Whether a series rises by many steps, and not by one.
bool isGradual(const std::vector<Point>& points, const Rise& rise) {
  if (rise.high < rise.low + kLeastToothSteps) return false;
  const double height = points[rise.high].y - points[rise.low].y;
  double largest = 0;
  for (std::size_t i = rise.low + 1; i <= rise.high; ++i) {
    largest = std::max(largest, points[i].y - points[i - 1].y);
  }
  return height >= kLeastToothBytes && largest <= height / 2;
}

double slopeOf(const std::vector<Point>& points, const Rise& rise) {
  return (points[rise.high].y - points[rise.low].y) / (points[rise.high].x - points[rise.low].x);
}

std::optional<std::uint32_t> equalDistance(const std::vector<std::uint32_t>& steps) {
  if (steps.size() < 2) return std::nullopt;
  const std::uint32_t distance = steps[1] - steps[0];
  for (std::size_t i = 2; i < steps.size(); ++i) {
    if (steps[i] - steps[i - 1] != distance) return std::nullopt;
  }
  return distance;
}

/// A series that rises gradually, twice at least, and falls back in between.
bool addSawtooth(const std::vector<Point>& points, MemoryGrowth& growth) {
  const std::vector<Rise> rises = risesOf(points);
  std::vector<double> heights, slopes;
  std::vector<Point> lows;
  std::size_t covered = 0;
  for (const Rise& rise : rises) {
    if (!isGradual(points, rise)) continue;
    covered += rise.high - rise.low + 1;
    slopes.push_back(slopeOf(points, rise));
    lows.push_back(points[rise.low]);
    // The last one may go on.
    if (&rise != &rises.back() || heights.empty()) {
      heights.push_back(points[rise.high].y - points[rise.low].y);
    }
  }
  if (rises.size() < 2 || slopes.size() < 2 || 2 * covered < points.size()) return false;
  const double height = medianOf(heights), rise = medianOf(slopes);
  // What grows from fall to fall is growth. The first low is no fall's, and only counts where there
  // is but one other.
  const double slope = robustSlope(std::span(lows).subspan(lows.size() > 2 ? 1 : 0));
  if (slope > (lows.size() > 2 ? 0.2 : 0.5) * rise) {
    growth.slopeBytes = slope;
    return true;
  }
  growth.shape = GrowthShape::Sawtooth;
  growth.slopeBytes = slope;
  growth.heightBytes = height;
  growth.riseBytes = rise;
  for (auto each = rises.begin() + 1; each != rises.end(); ++each) {
    growth.atSteps.push_back(static_cast<std::uint32_t>(points[each->low].x));
  }
  growth.everySteps = equalDistance(growth.atSteps);
  return true;
}

/// A series that grows at some steps, by about the same, and hardly in between.
void addJumps(const std::vector<Point>& points, MemoryGrowth& growth) {
  // A jump stays, unlike what queued work still holds at the end of a step: that is soon freed.
  std::vector<double> jumpsBy(points.size());
  double leastLater = points.back().y;
  for (std::size_t i = points.size() - 1; i > 0; --i) {
    leastLater = std::min(leastLater, points[i].y);
    const double grown = points[i].y - points[i - 1].y;
    if (leastLater - points[i - 1].y >= grown / 2) jumpsBy[i] = std::max(grown, 0.0);
  }
  const double largest = *std::max_element(jumpsBy.begin(), jumpsBy.end());
  std::vector<double> between;
  std::vector<std::vector<double>> levels(1);  // what is read between two jumps
  levels[0].push_back(points[0].y);
  std::vector<std::uint32_t> atSteps;
  double total = 0;
  std::size_t grew = 0;  // steps
  bool jumped = false;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const double grown = points[i].y - points[i - 1].y;
    const bool isJump = jumpsBy[i] > 0 && jumpsBy[i] >= largest / 4;
    if (!isJump) {
      between.push_back(std::abs(grown));
      levels.back().push_back(points[i].y);
      jumped = false;
      continue;
    }
    total += grown;
    ++grew;
    if (jumped) {
      atSteps.pop_back();  // a part of it was read at the end of the step before
      levels.pop_back();
    }
    atSteps.push_back(static_cast<std::uint32_t>(points[i].x));
    levels.push_back({points[i].y});
    jumped = !jumped;
  }
  const double net = points.back().y - points.front().y;
  // From level to level: a part of what a step makes is often freed soon after.
  std::vector<double> jumps;
  for (std::size_t i = 1; i < levels.size(); ++i) {
    jumps.push_back(medianOf(levels[i]) - medianOf(levels[i - 1]));
  }
  const double height = medianOf(jumps);
  // The last reading of a step may come at any point of it: a small rise of the level is no jump.
  for (std::size_t i = jumps.size(); i-- > 0;) {
    if (jumps[i] < height / 2) atSteps.erase(atSteps.begin() + static_cast<std::ptrdiff_t>(i));
  }
  // More than that may be a growth by each step, of which one is read before it grows, and the next
  // after it.
  if (atSteps.size() < kLeastJumps || 3 * grew > points.size()) return;
  if (total < 0.8 * net || net < 0.8 * total || medianOf(std::move(between)) > height / 20) return;
  growth.shape = GrowthShape::Jumps;
  growth.slopeBytes = net / (points.back().x - points.front().x);
  growth.heightBytes = height;
  growth.atSteps = std::move(atSteps);
  growth.everySteps = equalDistance(growth.atSteps);
}

}  // namespace

std::string_view growthShapeKey(GrowthShape shape) {
  switch (shape) {
    case GrowthShape::Sawtooth:
      return "sawtooth";
    case GrowthShape::Jumps:
      return "jumps";
    case GrowthShape::Even:
      break;
  }
  return "even";
}

std::vector<StepEnd> currentAtStepEnds(const LiveStore& store, std::uint32_t firstStep,
                                       std::uint32_t lastStep) {
  const auto readings = lastReadings(store, firstStep, lastStep);
  LastSamples samples(store.memory());
  std::vector<StepEnd> ends;
  for (const events::StepRecord& record : store.steps().records) {
    if (record.step() < firstStep || record.step() > lastStep) continue;
    const std::int64_t beginNs = record.begin_ns(), endNs = beginNs + record.duration_ns();
    std::optional<double> bytes;
    const auto reading = readings.find(record.step());
    if (reading != readings.end() && reading->second.time_ns() <= endNs) {
      bytes = static_cast<double>(reading->second.current_bytes());
    } else {
      bytes = samples.in(beginNs, endNs);
    }
    if (bytes) {
      ends.push_back({record.step(), record.batch_size(), record.sequence_length(), *bytes});
    }
  }
  return ends;
}

std::optional<MemoryGrowth> memoryGrowth(const LiveStore& store, std::uint32_t firstStep,
                                         std::uint32_t lastStep) {
  std::vector<StepEnd> ends = currentAtStepEnds(store, firstStep, lastStep);
  if (!store.steps().records.empty()) {
    const std::uint32_t first = store.steps().records.front().step();
    std::erase_if(ends, [first](const StepEnd& end) { return end.step == first; });
  }
  const auto shapes = byShape(ends);
  std::vector<double> left, slopes;
  for (const auto& [shape, points] : shapes) {
    for (std::size_t i = 1; i < points.size(); ++i) {
      left.push_back((points[i].y - points[i - 1].y) / (points[i].x - points[i - 1].x));
    }
    addSlopes(points, std::max(kMostGrowthPoints / shapes.size(), kLeastPointsOfAShape), slopes);
  }
  if (left.empty()) return std::nullopt;
  MemoryGrowth growth;
  growth.pairs = left.size();
  growth.medianBytes = medianOf(std::move(left));
  growth.slopeBytes = slopes.empty() ? growth.medianBytes : medianOf(std::move(slopes));
  const auto most = std::max_element(
      shapes.begin(), shapes.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  if (2 * most->second.size() < ends.size()) return growth;
  if (!addSawtooth(most->second, growth)) addJumps(most->second, growth);
  return growth;
}

}  // namespace highwater::analysis
