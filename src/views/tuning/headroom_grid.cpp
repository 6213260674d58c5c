#include "views/tuning/headroom_grid.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace highwater::views {
namespace {

constexpr int kCoarsest = 8;  ///< cells to each side of the first pass
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

std::uint32_t whole(double value) {
  return static_cast<std::uint32_t>(std::max(1.0, std::round(value)));
}

}  // namespace

double powerBelow(double value) {
  return std::exp2(std::floor(std::log2(std::max(value, 1.0))));
}

double powerAbove(double value) {
  return std::exp2(std::ceil(std::log2(std::max(value, 1.0))));
}

double GridAxis::at(double cell) const {
  return lowest * std::exp2(cell / cellsPerOctave);
}

int GridAxis::cellAt(double value) const {
  return static_cast<int>(std::lround(std::log2(value / lowest) * cellsPerOctave));
}

GridAxis GridAxis::spanning(double lowest, double highest, int cellsPerOctave) {
  const double octaves = std::log2(std::max(highest / lowest, 1.0));
  // A small share of a cell makes up for rounding: 8 octaves are 64 cells and the last one.
  return {lowest, static_cast<int>(std::floor(octaves * cellsPerOctave + 1e-6)) + 1,
          cellsPerOctave};
}

HeadroomGrid::HeadroomGrid(GridAxis batches, GridAxis lengths, std::uint32_t mostBatch)
    : batches_(batches), lengths_(lengths), mostBatch_(mostBatch) {
  const auto cells = static_cast<std::size_t>(columns()) * static_cast<std::size_t>(rows());
  bytes_.assign(cells, kUnknown);
  computed_.assign(cells, false);
  safe_.assign(static_cast<std::size_t>(rows()), std::nullopt);
  order_.reserve(cells);
  std::vector<bool> taken(cells, false);
  for (int stride = kCoarsest; stride > 0; stride /= 2) {
    for (int row = 0; row < rows(); row += stride) {
      for (int column = 0; column < columns(); column += stride) {
        if (taken[index(column, row)]) continue;
        taken[index(column, row)] = true;
        order_.push_back({column, row, stride});
      }
    }
  }
}

tuning::Setting HeadroomGrid::settingOf(int column, int row) const {
  return {std::min(whole(batches_.at(column)), mostBatch_), whole(lengths_.at(row))};
}

void HeadroomGrid::outdate() {
  nextCell_ = 0;
  known_.clear();
  outdateSafe();
}

void HeadroomGrid::outdateSafe() {
  nextSafe_ = 0;
}

bool HeadroomGrid::complete() const {
  return nextCell_ == order_.size() && nextSafe_ == rows();
}

bool HeadroomGrid::advance(const tuning::MemoryModel& model, double reserve, int milliseconds) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::milliseconds(milliseconds);
  while (!complete()) {
    if (nextCell_ < order_.size()) {
      computeCell(nextCell_++, model);
    } else {
      const std::uint32_t length = settingOf(0, nextSafe_).length;
      const auto largest = model.largestSafeBatch(length, mostBatch_, reserve);
      // A line along the end of the map would look like a limit.
      safe_[static_cast<std::size_t>(nextSafe_++)] =
          largest && *largest < mostBatch_ ? largest : std::nullopt;
    }
    if (Clock::now() >= until) break;
  }
  return !complete();
}

void HeadroomGrid::computeCell(std::size_t next, const tuning::MemoryModel& model) {
  const Place& place = order_[next];
  const tuning::Setting setting = settingOf(place.column, place.row);
  const std::uint64_t key = (std::uint64_t{setting.batch} << 32) | setting.length;
  const auto [found, isNew] = known_.try_emplace(key, 0);
  if (isNew) found->second = static_cast<double>(model.driver(setting).bytes);
  const std::size_t at = index(place.column, place.row);
  bytes_[at] = found->second;
  computed_[at] = true;
  for (int row = place.row; row < std::min(place.row + place.stride, rows()); ++row) {
    for (int column = place.column; column < std::min(place.column + place.stride, columns());
         ++column) {
      if (!computed_[index(column, row)]) bytes_[index(column, row)] = found->second;
    }
  }
}

double HeadroomGrid::bytes(int column, int row) const {
  return bytes_[index(column, row)];
}

HeadroomBand HeadroomGrid::band(int column, int row, const tuning::MemoryModel& model,
                                double reserve) const {
  const double predicted = bytes(column, row);
  if (std::isnan(predicted)) return HeadroomBand::kUnknown;
  const auto size = static_cast<std::uint64_t>(predicted);
  switch (tuning::headroomOf(size, model.limits())) {
    case tuning::Headroom::kSafe:
      break;
    case tuning::Headroom::kAboveRecommended:
      return HeadroomBand::kAboveRecommended;
    case tuning::Headroom::kAboveLowWatermark:
      return HeadroomBand::kAboveLowWatermark;
    case tuning::Headroom::kAboveHighWatermark:
      return HeadroomBand::kAboveHighWatermark;
  }
  const std::uint64_t safe = model.safeBytes(reserve);
  return safe > 0 && size > safe ? HeadroomBand::kReserve : HeadroomBand::kSafe;
}

std::optional<double> HeadroomGrid::crossing(int row, double limit) const {
  for (int column = 0; column < columns(); ++column) {
    const double above = bytes(column, row);
    if (std::isnan(above)) return std::nullopt;
    if (above <= limit) continue;
    if (column == 0) return std::nullopt;
    const double below = bytes(column - 1, row);
    return batches_.at(column - 1 + std::log(limit / below) / std::log(above / below));
  }
  return std::nullopt;
}

std::optional<std::uint32_t> HeadroomGrid::largestSafe(int row) const {
  return safe_[static_cast<std::size_t>(row)];
}

}  // namespace highwater::views
