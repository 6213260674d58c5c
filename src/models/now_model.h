#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <vector>

#include "analysis/live_store.h"

namespace highwater::models {

/// A table model of the run's current values: memory, GPU, system and steps. It has one row per
/// value, with columns for name and value.
class NowModel final : public QAbstractTableModel {
  Q_OBJECT

 public:
  /// The columns of the table; kColumns is their number.
  enum Column { kName, kValue, kColumns };
  /// The number of newest steps that step time and throughput are computed from.
  static constexpr std::size_t kRecentSteps = 50;

  /// Shows the values of `store`, which is not owned and must outlive the model.
  explicit NowModel(const analysis::LiveStore* store, QObject* parent = nullptr);
  /// Reads the current values from the store.
  void refresh();
  /// Leaves out the rows that are shown elsewhere too (`on` true), for small windows.
  void setShort(bool on);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation,
                      int role = Qt::DisplayRole) const override;

 private:
  struct Row {
    QString name, value, tip;
  };
  [[nodiscard]] std::vector<Row> rows() const;
  void addMemory(std::vector<Row>& rows) const;
  void addGpu(std::vector<Row>& rows) const;
  void addSystem(std::vector<Row>& rows) const;
  void addSteps(std::vector<Row>& rows) const;

  const analysis::LiveStore* store_;
  std::vector<Row> rows_;
  bool short_ = false;
};

}  // namespace highwater::models
