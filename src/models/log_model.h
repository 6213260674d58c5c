#pragma once

#include <QAbstractListModel>
#include <QString>
#include <deque>

#include "analysis/live_store.h"

namespace highwater::models {

/// The log: lines that the worker printed, markers of the run and messages of the window, in order
/// of arrival. Keeps the newest kMostLines.
class LogModel final : public QAbstractListModel {
  Q_OBJECT

 public:
  /// The most lines kept; beyond it the oldest is removed.
  static constexpr int kMostLines = 5000;
  /// Where a line comes from: printed by the worker, a marker of the run, or a message of the
  /// window (a notice or a problem).
  enum class Kind { kPrinted, kMarker, kNotice, kProblem };
  /// The extra role of the model's data: a line's Kind as an int.
  enum Role { kKindRole = Qt::UserRole + 1 };

  using QAbstractListModel::QAbstractListModel;

  /// Adds a line, and removes the oldest one if there are kMostLines. An open line stays last.
  void append(const QString& line, Kind kind);
  /// Shows a line that has not ended, such as a progress bar, as the last; empty removes it.
  void setOpenLine(const QString& line);
  /// Appends the markers that the store received since the last call.
  void refresh(const analysis::LiveStore& store);
  /// Removes all lines, for a new run.
  void clear();

  int rowCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;

 private:
  struct Line {
    QString text;
    Kind kind = Kind::kPrinted;
  };
  std::deque<Line> lines_;
  QString openLine_;  ///< the last row where it is not empty
  std::size_t markersSeen_ = 0;
};

}  // namespace highwater::models
