#include "analysis/memory_growth.h"

#include <algorithm>
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

}  // namespace

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
  return growth;
}

}  // namespace highwater::analysis
