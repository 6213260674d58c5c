#pragma once

#include <vector>

#include "analysis/op_times.h"
#include "models/column_model.h"

namespace highwater::models {

/// A table model of the recorded ops: call counts and host times, one row per op or per module.
class OpTimesModel final : public ColumnModel<analysis::OpTime> {
  Q_OBJECT

 public:
  /// The extra role, after those of TableModel: the path of a row's module.
  enum Role { kModuleRole = Qt::UserRole + 100 };
  /// The columns of the table.
  enum Column { kName, kCount, kPerStep, kTotalMs, kSelfMs, kShare, kGrown, kWhere };
  /// What a row stands for: an op or a module.
  enum class Grouping { kByOp, kByModule };

  explicit OpTimesModel(QObject* parent = nullptr);

  /// Replaces the shown times by `times`, and keeps the grouping.
  void refresh(const analysis::OpTimes& times);
  /// Chooses whether a row stands for an op or for a module.
  void setGrouping(Grouping grouping);
  [[nodiscard]] Grouping grouping() const { return grouping_; }
  /// Whether ops of the shown range are missing, because the store dropped the oldest.
  [[nodiscard]] bool partial() const { return times_.partial; }
  /// Returns the row of an op, given its full name; -1 if there is none or the rows are modules.
  [[nodiscard]] int rowOf(const QString& op) const;

 private:
  [[nodiscard]] QVariant rowData(const analysis::OpTime& time, int role) const override;
  void describeColumns();
  void take();
  [[nodiscard]] bool byModule() const { return grouping_ == Grouping::kByModule; }
  [[nodiscard]] double shareOf(const analysis::OpTime& time) const;

  analysis::OpTimes times_;
  Grouping grouping_ = Grouping::kByOp;
};

}  // namespace highwater::models
