#pragma once

#include <vector>

#include "analysis/comparison.h"
#include "models/column_model.h"

namespace highwater::models {

/// A table model of the waits and fallbacks of two ranges side by side, one row per op and place.
/// kShareRole is the change, and kNoiseRole the noise, as
/// a share of the largest value of either.
class CompareModel final : public ColumnModel<analysis::ComparedOp> {
  Q_OBJECT

 public:
  /// The columns of the table.
  enum Column { kOp, kWhere, kA, kB, kChange, kNoise };
  /// The extra roles, after those of TableModel.
  enum Role {
    kNoiseRole = Qt::UserRole + 100,  ///< double, 0 to 1; NaN where unknown
    kBeyondRole,                      ///< bool: the change is beyond the noise
  };

  explicit CompareModel(QObject* parent = nullptr);

  /// Replaces the rows.
  void refresh(const std::vector<analysis::ComparedOp>& ops);
  /// Returns the row of an op at a place; -1 if there is none.
  [[nodiscard]] int rowOf(const QString& op, const QString& where, events::SyncKind kind) const;

  QVariant headerData(int section, Qt::Orientation orientation,
                      int role = Qt::DisplayRole) const override;

 private:
  [[nodiscard]] QVariant rowData(const analysis::ComparedOp& op, int role) const override;

  double most_ = 0;  ///< the largest change or noise
};

}  // namespace highwater::models
