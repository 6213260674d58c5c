#pragma once

#include <QString>
#include <set>
#include <string>
#include <vector>

#include "analysis/run_summary.h"
#include "models/kept_rows.h"

namespace highwater::models {

/// Shortens an op's name for tables: "aten::nonzero" becomes "nonzero", and a node of backward
/// loses the engine's prefix.
[[nodiscard]] QString shortOpName(const std::string& op);

/// A table model of lost time with one row per op and place: count, time, and share of the steps'
/// time. Base of the models for fallbacks and for waits, which differ only in their texts.
class OpTotalsModel : public KeptRowsModel {
  Q_OBJECT

 public:
  /// The columns of the table; kColumns is their number.
  enum Column { kOp, kWhere, kCount, kTotalMs, kShare, kBytes, kColumns };
  /// The extra roles of the data of all tables of ops and steps.
  enum Role {
    kOpNameRole = Qt::UserRole + 1,  ///< the op's full name
    kShareRole,                      ///< double, 0 to 1
    kDeliberateRole,                 ///< bool: a planned sync point
    kSortRole,                       ///< in all tables: the cell as a text, or as a number of a
                                     ///< type that QSortFilterProxyModel compares as such
    kAcceptedRole,                   ///< bool: a fallback whose CPU path was accepted
    kSiteRole,                       ///< uint: a CallSiteId of the row; kNoId where unknown
    kKindRole,                       ///< int: the events::SyncKind of a sync point, else None
    kExportRole,  ///< the cell for CSV, where that differs from what is shown: full names, whole
                  ///< bytes
  };

  using KeptRowsModel::KeptRowsModel;

  /// Replaces the rows by `totals`. `stepsMs` is the summed duration of the steps in milliseconds,
  /// which the shares refer to.
  void refresh(const std::vector<analysis::OpTotal>& totals, double stepsMs);
  /// Sets the ops, by full name, whose fallbacks the user accepted. Their rows are marked.
  void setAccepted(std::set<std::string> ops);
  /// Returns the row of an op at a place; -1 if there is none. `where` and `kind` are as in
  /// analysis::OpTotal.
  [[nodiscard]] int rowOf(const QString& op, const QString& where,
                          events::SyncKind kind = events::SyncKind::None) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation,
                      int role = Qt::DisplayRole) const override;

 protected:
  [[nodiscard]] virtual QString timeHeader() const = 0;
  [[nodiscard]] virtual QString timeToolTip() const = 0;

 private:
  /// Whether a column holds texts rather than numbers.
  [[nodiscard]] static bool isText(int column);
  [[nodiscard]] QVariant text(const analysis::OpTotal& total, int column) const;
  [[nodiscard]] QVariant sortKey(const analysis::OpTotal& total, int column) const;
  [[nodiscard]] double shareOf(const analysis::OpTotal& total) const;

  std::vector<analysis::OpTotal> totals_;
  std::set<std::string> accepted_;
  double stepsMs_ = 0;
};

/// A table model of the ops that ran on the CPU instead of the device.
class FallbackModel final : public OpTotalsModel {
  Q_OBJECT

 public:
  using OpTotalsModel::OpTotalsModel;

 protected:
  [[nodiscard]] QString timeHeader() const override { return tr("Total ms"); }
  [[nodiscard]] QString timeToolTip() const override {
    return tr("Milliseconds in the fallback, including its wait for the device");
  }
};

/// A table model of the waits of the host for the device.
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
