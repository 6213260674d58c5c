#pragma once

#include <vector>

#include "analysis/account/host_time.h"
#include "models/column_model.h"

namespace highwater::models {

/// A table model of where the host's time went, one row per line of a script and part of the run.
class HostTimeModel final : public ColumnModel<analysis::HostTimeRow> {
  Q_OBJECT

 public:
  /// The extra role, after those of TableModel: int, the analysis::Activity of a row.
  enum Role { kActivityRole = Qt::UserRole + 100 };
  /// The columns of the table.
  enum Column { kActivity, kLine, kPart, kTotalMs, kShare, kCount };

  /// `store` names the parts. It is not owned and must outlive the model.
  explicit HostTimeModel(const analysis::LiveStore* store, QObject* parent = nullptr);

  /// Replaces the rows.
  void refresh(std::vector<analysis::HostTimeRow> rows);

 private:
  [[nodiscard]] QVariant rowData(const analysis::HostTimeRow& row, int role) const override;
  [[nodiscard]] double shareOf(const analysis::HostTimeRow& row) const;

  const analysis::LiveStore* store_;
  double totalNs_ = 0;  ///< of all rows
};

}  // namespace highwater::models
