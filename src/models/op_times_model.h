#pragma once

#include <vector>

#include "analysis/op_times.h"
#include "models/kept_rows.h"

namespace highwater::models {

/// A table model of the recorded ops: call counts and host times, one row per op or per module. Its
/// data uses the roles of OpTotalsModel.
class OpTimesModel final : public KeptRowsModel {
  Q_OBJECT

 public:
  /// The extra role, after those of OpTotalsModel: the path of a row's module.
  enum Role { kModuleRole = Qt::UserRole + 100 };
  /// The columns of the table; kColumns is their number.
  enum Column { kName, kCount, kPerStep, kTotalMs, kSelfMs, kShare, kGrown, kWhere, kColumns };
  /// What a row stands for: an op or a module.
  enum class Grouping { kByOp, kByModule };

  using KeptRowsModel::KeptRowsModel;

  /// Replaces the shown times by `times`, and keeps the grouping.
  void refresh(const analysis::OpTimes& times);
  /// Chooses whether a row stands for an op or for a module.
  void setGrouping(Grouping grouping);
  [[nodiscard]] Grouping grouping() const { return grouping_; }
  /// Whether ops of the shown range are missing, because the store dropped the oldest.
  [[nodiscard]] bool partial() const { return times_.partial; }
  /// Returns the row of an op, given its full name; -1 if there is none or the rows are modules.
  [[nodiscard]] int rowOf(const QString& op) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation,
                      int role = Qt::DisplayRole) const override;

 private:
  /// Whether a column holds texts rather than numbers.
  [[nodiscard]] static bool isText(int column);
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
