#include "models/log_model.h"

#include "core/units.h"

namespace highwater::models {

void LogModel::append(const QString& line, Kind kind) {
  if (rowCount() >= kMostLines) {
    beginRemoveRows({}, 0, 0);
    lines_.pop_front();
    endRemoveRows();
  }
  beginInsertRows({}, rowCount(), rowCount());
  lines_.push_back({line, kind});
  endInsertRows();
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
  markersSeen_ = 0;
  endResetModel();
}

int LogModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(lines_.size());
}

QVariant LogModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) {
    return {};
  }
  const Line& line = lines_[static_cast<std::size_t>(index.row())];
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
