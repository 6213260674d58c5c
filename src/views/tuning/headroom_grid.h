#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "tuning/memory_model.h"

namespace highwater::views {

/// Where the predicted peak of driver memory lies, with the reserve as a band of its own. In order
/// of severity.
enum class HeadroomBand : std::uint8_t {
  kUnknown,  ///< not computed yet
  kSafe,
  kReserve,  ///< under the recommended maximum, but in the part of it that is to stay free
  kAboveRecommended,
  kAboveLowWatermark,
  kAboveHighWatermark,
};

/// The powers of two next to a value of at least 1.
[[nodiscard]] double powerBelow(double value);
[[nodiscard]] double powerAbove(double value);

/// A geometric axis of cells: the centre of cell i is lowest × 2^(i / cellsPerOctave).
struct GridAxis {
  double lowest = 1;
  int cells = 1;
  int cellsPerOctave = 8;

  /// The value at a cell's centre; whole cells, and halves for the edges between them.
  [[nodiscard]] double at(double cell) const;
  /// The nearest cell, which may be outside of the axis.
  [[nodiscard]] int cellAt(double value) const;
  /// The axis from `lowest` to at most `highest`.
  [[nodiscard]] static GridAxis spanning(double lowest, double highest, int cellsPerOctave = 8);

  [[nodiscard]] bool operator==(const GridAxis&) const = default;
};

/// Predicted peaks of driver memory on a grid of batches × lengths, and the largest safe batch of
/// each length. A prediction takes up to half a millisecond, so the grid is computed in slices:
/// first coarsely, then cell by cell. Knows nothing of pixels.
class HeadroomGrid {
 public:
  /// One cell, of which nothing is known.
  HeadroomGrid() : HeadroomGrid(GridAxis(), GridAxis(), 0) {}
  HeadroomGrid(GridAxis batches, GridAxis lengths, std::uint32_t mostBatch);

  [[nodiscard]] const GridAxis& batches() const { return batches_; }
  [[nodiscard]] const GridAxis& lengths() const { return lengths_; }
  [[nodiscard]] std::uint32_t mostBatch() const { return mostBatch_; }
  [[nodiscard]] int columns() const { return batches_.cells; }
  [[nodiscard]] int rows() const { return lengths_.cells; }
  /// The setting of a cell. Neighbours among small batches may share one.
  [[nodiscard]] tuning::Setting settingOf(int column, int row) const;

  /// Outdates all cells, which keep their old values until they are computed again.
  void outdate();
  /// Outdates the largest safe batches alone, for another reserve.
  void outdateSafe();
  /// Computes for at most `milliseconds`, but at least one value. Returns whether values are left.
  bool advance(const tuning::MemoryModel& model, double reserve, int milliseconds);
  [[nodiscard]] bool complete() const;

  /// The predicted peak of driver memory in bytes; NaN where unknown. Of a coarse cell's
  /// neighbour, as long as the cell itself is not computed.
  [[nodiscard]] double bytes(int column, int row) const;
  /// The band of a cell for the model's limits.
  [[nodiscard]] HeadroomBand band(int column, int row, const tuning::MemoryModel& model,
                                  double reserve) const;
  /// The batch at which the row first passes `bytes`, interpolated between cells; std::nullopt
  /// where it does not in this grid.
  [[nodiscard]] std::optional<double> crossing(int row, double bytes) const;
  /// The largest safe batch of a row; std::nullopt while unknown, if nothing is safe, and if all
  /// batches are.
  [[nodiscard]] std::optional<std::uint32_t> largestSafe(int row) const;

 private:
  [[nodiscard]] std::size_t index(int column, int row) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns()) +
           static_cast<std::size_t>(column);
  }
  void computeCell(std::size_t next, const tuning::MemoryModel& model);

  /// A cell in the order of computing, and how many cells to each side it stands for until they
  /// are computed.
  struct Place {
    int column = 0, row = 0, stride = 1;
  };

  GridAxis batches_, lengths_;
  std::uint32_t mostBatch_ = 1;
  std::vector<Place> order_;
  std::size_t nextCell_ = 0;
  int nextSafe_ = 0;
  std::vector<double> bytes_;
  std::vector<bool> computed_;  ///< at any time: not copied from a neighbour
  std::vector<std::optional<std::uint32_t>> safe_;
  std::unordered_map<std::uint64_t, double> known_;  ///< by setting, since outdate()
};

}  // namespace highwater::views
