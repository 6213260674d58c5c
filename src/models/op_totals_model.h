#pragma once

#include <QString>
#include <set>
#include <string>
#include <vector>

#include "analysis/run_summary.h"
#include "models/kept_rows.h"

namespace highwater::models {

/// "aten::nonzero" as "nonzero": the namespace that nearly all ops share says nothing in a table;
/// of a node of backward its own name.
[[nodiscard]] QString shortOpName(const std::string& op);

/// A row an op and place: how often, how long, and its share of the steps' time. The two tables of
/// what a step lost differ only in their words.
class OpTotalsModel : public KeptRowsModel {
  Q_OBJECT

 public:
  enum Column { kOp, kCount, kTotalMs, kShare, kBytes, kWhere, kColumns };
  enum Role {
    kOpNameRole = Qt::UserRole + 1,  ///< the op's full name
    kShareRole,                      ///< double, 0..1
    kDeliberateRole,                 ///< bool: a planned sync point
    kSortRole,                       ///< the cell as a number or text that sorts, in all tables;
                                     ///< of types that QSortFilterProxyModel compares as numbers
    kAcceptedRole,                   ///< bool: a fallback whose CPU path was accepted
  };

  using KeptRowsModel::KeptRowsModel;

  /// Shows the totals of a summary whose steps took `stepsMs` together.
  void refresh(const std::vector<analysis::OpTotal>& totals, double stepsMs);
  /// The ops whose fallbacks the user accepted, by full name.
  void setAccepted(std::set<std::string> ops);
  /// The row of an op at a place, -1 where there is none.
  [[nodiscard]] int rowOf(const QString& op, const QString& where) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation,
                      int role = Qt::DisplayRole) const override;

 protected:
  [[nodiscard]] virtual QString timeHeader() const = 0;
  [[nodiscard]] virtual QString timeToolTip() const = 0;

 private:
  [[nodiscard]] QVariant text(const analysis::OpTotal& total, int column) const;
  [[nodiscard]] QVariant sortKey(const analysis::OpTotal& total, int column) const;
  [[nodiscard]] double shareOf(const analysis::OpTotal& total) const;

  std::vector<analysis::OpTotal> totals_;
  std::set<std::string> accepted_;
  double stepsMs_ = 0;
};

/// Ops that ran on the CPU.
class FallbackModel final : public OpTotalsModel {
  Q_OBJECT

 public:
  using OpTotalsModel::OpTotalsModel;

 protected:
  [[nodiscard]] QString timeHeader() const override { return tr("Total ms"); }
  [[nodiscard]] QString timeToolTip() const override {
    return tr("Milliseconds in the fallback, the wait for the queue included");
  }
};

/// Places where the host waited for the device.
class SyncPointModel final : public OpTotalsModel {
  Q_OBJECT

 public:
  using OpTotalsModel::OpTotalsModel;

 protected:
  [[nodiscard]] QString timeHeader() const override { return tr("Wait ms"); }
  [[nodiscard]] QString timeToolTip() const override {
    return tr("Time that the host waited for the device, in milliseconds");
  }
};

}  // namespace highwater::models
