#pragma once

#include <cstddef>
#include <cstdint>
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
  enum Column { kActivity, kLine, kPart, kMs, kShare, kCount };

  /// `store` names the parts. It is not owned and must outlive the model.
  explicit HostTimeModel(const analysis::LiveStore* store, QObject* parent = nullptr);

  /// Replaces the rows. Their times are shown by step where the range that they cover has any.
  void refresh(std::vector<analysis::HostTimeRow> rows, std::size_t steps);

 private:
  [[nodiscard]] QVariant rowData(const analysis::HostTimeRow& row, int role) const override;
  void describeColumns();
  /// A time in ms, by step where there are any.
  [[nodiscard]] QString timeText(std::int64_t ns) const;
  [[nodiscard]] double shareOf(const analysis::HostTimeRow& row) const;

  const analysis::LiveStore* store_;
  double totalNs_ = 0;     ///< of all rows
  std::size_t steps_ = 0;  ///< that the rows cover
};

}  // namespace highwater::models
