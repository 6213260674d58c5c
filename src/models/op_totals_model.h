#pragma once

#include <QString>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/run_summary.h"
#include "models/column_model.h"

namespace highwater::models {

/// Shortens an op's name for tables: "aten::nonzero" becomes "nonzero", and a node of backward
/// loses the engine's prefix.
[[nodiscard]] QString shortOpName(const std::string& op);

/// A table model of lost time with one row per op and place: count, time, and share of the steps'
/// time. Base of the models for fallbacks and for waits, which differ only in their texts.
class OpTotalsModel : public ColumnModel<analysis::OpTotal> {
  Q_OBJECT

 public:
  /// The columns of the table. Waits have no kBytes: most read a single number.
  enum Column { kOp, kWhere, kCount, kTotalMs, kShare, kBytes };

  /// Replaces the rows by `totals`. `stepsMs` is the summed duration of the steps in milliseconds,
  /// which the shares refer to.
  void refresh(const std::vector<analysis::OpTotal>& totals, double stepsMs);
  /// Sets the ops, by full name, whose fallbacks the user accepted. Their rows are marked.
  void setAccepted(std::set<std::string> ops);
  /// Returns the row of an op at a place; -1 if there is none. `where` and `kind` are as in
  /// analysis::OpTotal, `planned` as its `deliberate`; std::nullopt: the first of both.
  [[nodiscard]] int rowOf(const QString& op, const QString& where,
                          events::SyncKind kind = events::SyncKind::None,
                          std::optional<bool> planned = std::nullopt) const;

 protected:
  /// `time` and `timeTip` are text and tooltip of the header of the times, `hasBytes` is whether
  /// there is a column of bytes.
  OpTotalsModel(const QString& time, const QString& timeTip, bool hasBytes, QObject* parent);

 private:
  [[nodiscard]] QVariant rowData(const analysis::OpTotal& total, int role) const override;
  [[nodiscard]] double shareOf(const analysis::OpTotal& total) const;

  std::set<std::string> accepted_;
  double stepsMs_ = 0;
};

/// A table model of the ops that ran on the CPU instead of the device.
class FallbackModel final : public OpTotalsModel {
  Q_OBJECT

 public:
  explicit FallbackModel(QObject* parent = nullptr)
      : OpTotalsModel(tr("Total ms"),
                      tr("Milliseconds in the fallback, including its wait for the device"), true,
                      parent) {}
};

/// A table model of the waits of the host for the device.
class SyncPointModel final : public OpTotalsModel {
  Q_OBJECT

 public:
  explicit SyncPointModel(QObject* parent = nullptr)
      : OpTotalsModel(tr("Wait ms"),
                      tr("Time that the host waited for the device, in milliseconds"), false,
                      parent) {}
};

}  // namespace highwater::models
