#pragma once

#include <vector>

#include "analysis/op_times.h"
#include "models/kept_rows.h"

namespace highwater::models {

/// The recorded ops by name, or by the module that they ran in: how often, and how long on the
/// host. Roles are those of OpTotalsModel.
class OpTimesModel final : public KeptRowsModel {
  Q_OBJECT

 public:
  enum Column { kName, kCount, kPerStep, kTotalMs, kSelfMs, kShare, kGrown, kWhere, kColumns };
  enum class Grouping { kByOp, kByModule };

  using KeptRowsModel::KeptRowsModel;

  void refresh(const analysis::OpTimes& times);
  void setGrouping(Grouping grouping);
  [[nodiscard]] Grouping grouping() const { return grouping_; }
  /// Whether ops of the range are missing: the store keeps the newest only.
  [[nodiscard]] bool partial() const { return times_.partial; }
  /// The row of an op; -1 where there is none, or the rows are modules.
  [[nodiscard]] int rowOf(const QString& op) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation,
                      int role = Qt::DisplayRole) const override;

 private:
  void take(std::vector<analysis::OpTime> rows);
  [[nodiscard]] bool byModule() const { return grouping_ == Grouping::kByModule; }
  [[nodiscard]] QVariant text(const analysis::OpTime& time, int column) const;
  [[nodiscard]] QVariant sortKey(const analysis::OpTime& time, int column) const;
  [[nodiscard]] double shareOf(const analysis::OpTime& time) const;

  analysis::OpTimes times_;
  std::vector<analysis::OpTime> rows_;
  Grouping grouping_ = Grouping::kByOp;
};

}  // namespace highwater::models
