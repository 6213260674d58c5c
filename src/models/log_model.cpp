#include "models/log_model.h"

#include "core/units.h"

namespace highwater::models {

void LogModel::append(const QString& line, Kind kind) {
  if (lines_.size() >= kMostLines) {
    beginRemoveRows({}, 0, 0);
    lines_.pop_front();
    endRemoveRows();
  }
  const int row = static_cast<int>(lines_.size());
  beginInsertRows({}, row, row);
  lines_.push_back({line, kind});
  endInsertRows();
}

void LogModel::setOpenLine(const QString& line) {
  const int row = static_cast<int>(lines_.size());
  if (openLine_.isEmpty() && !line.isEmpty()) {
    beginInsertRows({}, row, row);
    openLine_ = line;
    endInsertRows();
  } else if (!openLine_.isEmpty() && line.isEmpty()) {
    beginRemoveRows({}, row, row);
    openLine_.clear();
    endRemoveRows();
  } else if (openLine_ != line) {
    openLine_ = line;
    emit dataChanged(index(row), index(row), {Qt::DisplayRole});
  }
}

void LogModel::refresh(const analysis::LiveStore& store) {
  const auto& markers = store.markers();
  if (markers.size() < markersSeen_) {
    markersSeen_ = 0;
  }
  for (; markersSeen_ < markers.size(); ++markersSeen_) {
    const events::Marker& marker = markers[markersSeen_];
    append(tr("%1  step %2: %3")
               .arg(QString::fromStdString(formatRunTime(marker.time_ns(), 3)))
               .arg(marker.step())
               .arg(QString::fromStdString(store.markerText(marker))),
           Kind::kMarker);
  }
}

void LogModel::clear() {
  beginResetModel();
  lines_.clear();
  openLine_.clear();
  markersSeen_ = 0;
  endResetModel();
}

int LogModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(lines_.size()) + (openLine_.isEmpty() ? 0 : 1);
}

QVariant LogModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) {
    return {};
  }
  const auto row = static_cast<std::size_t>(index.row());
  const Line line = row < lines_.size() ? lines_[row] : Line{openLine_, Kind::kPrinted};
  switch (role) {
    case Qt::DisplayRole:
      return line.text;
    case kKindRole:
      return static_cast<int>(line.kind);
    default:
      return {};
  }
}

}  // namespace highwater::models
