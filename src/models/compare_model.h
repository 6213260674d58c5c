#pragma once

#include <vector>

#include "analysis/comparison.h"
#include "models/kept_rows.h"

namespace highwater::models {

/// A table model of the waits and fallbacks of two ranges side by side, one row per op and place.
/// Its data uses the roles of OpTotalsModel; kShareRole is the change, and kNoiseRole the noise, as
/// a share of the largest value of either.
class CompareModel final : public KeptRowsModel {
  Q_OBJECT

 public:
  /// The columns of the table; kColumns is their number.
  enum Column { kOp, kWhere, kA, kB, kChange, kNoise, kColumns };
  /// The extra roles, after those of OpTotalsModel.
  enum Role {
    kNoiseRole = Qt::UserRole + 100,  ///< double, 0 to 1; NaN where unknown
    kBeyondRole,                      ///< bool: the change is beyond the noise
  };

  using KeptRowsModel::KeptRowsModel;

  /// Replaces the rows.
  void refresh(const std::vector<analysis::ComparedOp>& ops);
  /// Returns the row of an op at a place; -1 if there is none.
  [[nodiscard]] int rowOf(const QString& op, const QString& where, events::SyncKind kind) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation,
                      int role = Qt::DisplayRole) const override;

 private:
  /// Whether a column holds texts rather than numbers.
  [[nodiscard]] static bool isText(int column);
  std::vector<analysis::ComparedOp> ops_;
  double most_ = 0;  ///< the largest change or noise
};

}  // namespace highwater::models
