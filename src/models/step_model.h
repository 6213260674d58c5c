#pragma once

#include <QAbstractTableModel>

#include "analysis/live_store.h"

namespace highwater::models {

/// A row a finished step, the newest first. Roles are those of OpTotalsModel.
class StepModel final : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kStep, kTimeMs, kTokensPerS, kLoss, kPeak, kBatch, kSequence, kColumns };

  explicit StepModel(const analysis::LiveStore* store, QObject* parent = nullptr);

  /// Takes over what the store has by now.
  void refresh();
  /// Between rows and the indices of the store's step records.
  [[nodiscard]] std::size_t recordOf(int row) const;
  [[nodiscard]] int rowOf(std::size_t record) const;

  /// What a cell sorts by: never NaN; 0 for a row that the store has dropped since.
  [[nodiscard]] double sortKey(int row, int column) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation,
                      int role = Qt::DisplayRole) const override;

 private:
  const analysis::LiveStore* store_;
  std::size_t rows_ = 0;
  std::int64_t firstBeginNs_ = 0, lastBeginNs_ = 0;  ///< tell an append from anything else
};

}  // namespace highwater::models
