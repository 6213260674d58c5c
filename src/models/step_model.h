#pragma once

#include <optional>

#include "analysis/live_store.h"
#include "analysis/run_summary.h"
#include "models/column_model.h"

namespace highwater::models {

/// A table model with one row per finished step, newest first.
class StepModel final : public ColumnModel<events::StepRecord> {
  Q_OBJECT

 public:
  /// The columns of the table.
  enum Column { kStep, kTimeMs, kTokensPerS, kLoss, kPeak, kBatch, kSequence };

  /// Shows the steps of `store`, which is not owned and must outlive the model.
  explicit StepModel(const analysis::LiveStore* store, QObject* parent = nullptr);

  /// Adds rows for the steps that the store has received since the last call.
  void refresh();
  /// Whether steps of the store, as of the last refresh, differ in a column: their batch (kBatch)
  /// or their length (kSequence).
  [[nodiscard]] bool varies(Column size) const {
    return size == kBatch ? batchVaries_ : lengthVaries_;
  }
  /// Shows only the steps that lie wholly in a range, or all of them.
  void setRange(const std::optional<analysis::TimeRange>& range);
  /// Returns the index of a row's step in the store's step records. Precondition: the row exists.
  [[nodiscard]] std::size_t recordOf(int row) const;
  /// Returns the row that shows a step, given its index in the store's step records; -1 if no row
  /// does.
  [[nodiscard]] int rowOf(std::size_t record) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  QVariant headerData(int section, Qt::Orientation orientation,
                      int role = Qt::DisplayRole) const override;

 private:
  [[nodiscard]] const events::StepRecord* rowAt(int row) const override;
  void compareSizes();
  /// Tokens (or samples) per second of one of the store's step records; NaN where unknown.
  [[nodiscard]] double rateOf(const events::StepRecord& step) const;

  const analysis::LiveStore* store_;
  std::optional<analysis::TimeRange> range_;
  std::size_t first_ = 0;  ///< the record of the last row
  std::size_t count_ = 0;
  std::size_t compared_ = 0;          ///< so many records were compared with the first one
  std::int64_t comparedBeginNs_ = 0;  ///< when the first of them began: another run's differs
  bool batchVaries_ = false, lengthVaries_ = false;
  std::int64_t firstBeginNs_ = 0, lastBeginNs_ = 0;  ///< to detect whether steps were only appended
};

}  // namespace highwater::models
