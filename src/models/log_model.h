#pragma once

#include <QAbstractListModel>
#include <QString>
#include <deque>

#include "analysis/live_store.h"

namespace highwater::models {

/// The lines that the worker printed, the markers of the run and what we have to say, in the order
/// they came. Bounded: the oldest lines go first.
class LogModel final : public QAbstractListModel {
  Q_OBJECT

 public:
  static constexpr int kMostLines = 5000;
  enum class Kind { kPrinted, kMarker, kNotice, kProblem };
  enum Role { kKindRole = Qt::UserRole + 1 };

  using QAbstractListModel::QAbstractListModel;

  void append(const QString& line, Kind kind);
  /// Appends the markers that the store has got since the last call.
  void refresh(const analysis::LiveStore& store);
  void clear();

  int rowCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;

 private:
  struct Line {
    QString text;
    Kind kind = Kind::kPrinted;
  };
  std::deque<Line> lines_;
  std::size_t markersSeen_ = 0;
};

}  // namespace highwater::models
