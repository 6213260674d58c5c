#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <vector>

#include "analysis/live_store.h"

namespace highwater::models {

/// The current numbers, a row each: name and value.
class NowModel final : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kName, kValue, kColumns };
  /// Step time and throughput are those of the last so many steps.
  static constexpr std::size_t kRecentSteps = 50;

  explicit NowModel(const analysis::LiveStore* store, QObject* parent = nullptr);
  void refresh();
  /// Leaves out what can be read elsewhere: for small windows.
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
