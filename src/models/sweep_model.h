#pragma once

#include <optional>
#include <vector>

#include "models/kept_rows.h"
#include "tuning/sweep_notes.h"

namespace highwater::models {

/// A table model of the settings that a sweep measured, in the order of measuring, and of those
/// that it left out. Its data uses the roles of OpTotalsModel.
class SweepModel final : public KeptRowsModel {
  Q_OBJECT

 public:
  /// The columns of the table; kColumns is their number. kPredicted and kAtMost are of driver
  /// memory, before it was measured.
  enum Column {
    kNumber,
    kSetting,
    kPredicted,
    kAtMost,
    kDriver,
    kError,
    kStepMs,
    kTokensPerS,
    kWhy,
    kColumns
  };

  using KeptRowsModel::KeptRowsModel;

  /// Shows the settings of a sweep; none without one.
  void refresh(const std::optional<tuning::RecordedSweep>& sweep);
  /// Precondition: the row exists.
  [[nodiscard]] tuning::Setting settingOf(int row) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation,
                      int role = Qt::DisplayRole) const override;

 private:
  /// Whether a column holds texts rather than numbers.
  [[nodiscard]] static bool isText(int column);
  struct Row {
    std::size_t number = 0;
    tuning::SweptSetting swept;
  };

  [[nodiscard]] QString cellText(const Row& row, int column) const;
  [[nodiscard]] QVariant sortKey(const Row& row, int column) const;

  std::vector<Row> rows_;
  std::optional<tuning::Setting> best_;
};

}  // namespace highwater::models
