#include "window/start/recordings_model.h"

#include <QDir>
#include <QFileInfo>
#include <QLocale>
#include <algorithm>

#include "core/units.h"
#include "models/plain_tip.h"
#include "models/qt_text.h"
#include "window/start/recordings_folder.h"

namespace highwater::window {

using PreviewState = RecordingPreview::State;

RecordingsModel::RecordingsModel(QObject* parent) : QAbstractTableModel(parent) {
  connect(&reader_, &PreviewReader::ready, this, &RecordingsModel::take);
}

const RecordingPreview* RecordingsModel::known(const QString& path) const {
  const auto found = std::find_if(rows_.begin(), rows_.end(),
                                  [&](const RecordingPreview& each) { return each.path == path; });
  return found == rows_.end() ? nullptr : &*found;
}

void RecordingsModel::list(const QString& folder, const QStringList& others) {
  QStringList paths;
  const auto files =
      QDir(folder).entryInfoList({QStringLiteral("*.highwater")}, QDir::Files, QDir::Time);
  for (const QFileInfo& file : files) paths << file.absoluteFilePath();
  for (const QString& other : others) {
    if (!paths.contains(other)) paths << other;
  }
  std::vector<RecordingPreview> rows;
  for (const QString& path : paths) {
    RecordingPreview row = fileFacts(path);
    const RecordingPreview* before = known(path);
    const bool same = before && before->state != PreviewState::kUnread &&
                      before->bytes == row.bytes && before->changed == row.changed;
    if (same && before->state != PreviewState::kBeingWritten &&
        row.state != PreviewState::kMissing) {
      row = *before;
    }
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.changed.isValid() && (!b.changed.isValid() || a.changed > b.changed);
  });
  if (rows.size() > kMostFiles) rows.resize(kMostFiles);
  beginResetModel();
  rows_ = std::move(rows);
  endResetModel();
  QStringList unread;
  for (const RecordingPreview& each : rows_) {
    if (each.state == PreviewState::kUnread && each.bytes <= kMostBytes) unread << each.path;
  }
  reader_.read(unread);
}

void RecordingsModel::take(const RecordingPreview& preview) {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].path != preview.path) continue;
    rows_[i] = preview;
    const int row = static_cast<int>(i);
    emit dataChanged(index(row, 0), index(row, kColumns - 1));
  }
}

int RecordingsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int RecordingsModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QVariant RecordingsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const RecordingPreview& row = preview(index.row());
  if (role == Qt::TextAlignmentRole) {
    const bool right = index.column() == kLength || index.column() == kSize;
    return int((right ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  if (role == Qt::ToolTipRole) {
    QStringList lines{shownPath(row.path)};
    for (const QString& each : {secondLine(row), row.detail}) {
      if (!each.isEmpty()) lines << each;
    }
    return models::plainTip(lines.join(u'\n'));
  }
  if (role != Qt::DisplayRole) return {};
  switch (index.column()) {
    case kName:
      return QFileInfo(row.path).completeBaseName();
    case kDate:
      return row.begun.isValid() ? shownDate(row.begun, QDateTime::currentDateTime()) : QString();
    case kLength:
      return row.lengthNs < 0 ? QStringLiteral("–") : text(formatRunTime(row.lengthNs, 0));
    case kDevice:
      return row.device;
    case kSize:
      return row.state == PreviewState::kMissing ? QStringLiteral("–")
                                                 : bytesText(static_cast<double>(row.bytes));
    default:
      return {};
  }
}

QVariant RecordingsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole) {
    const bool right = section == kLength || section == kSize;
    return int((right ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  if (role != Qt::DisplayRole) return {};
  const QString names[kColumns] = {tr("Memory"), tr("Name"),   tr("Date"),
                                   tr("Length"), tr("Device"), tr("Size")};
  return names[section];
}

QString secondLine(const RecordingPreview& preview) {
  // What is wrong comes first: a narrow list cuts the end.
  QStringList parts;
  switch (preview.state) {
    case PreviewState::kUnread:
      if (preview.bytes > RecordingsModel::kMostBytes) {
        parts << RecordingsModel::tr("large: opens, but is not read for this list");
      }
      break;
    case PreviewState::kBeingWritten:
      parts << RecordingsModel::tr("still being written");
      break;
    case PreviewState::kMissing:
    case PreviewState::kDamaged:
      parts << preview.problem;
      break;
    case PreviewState::kRead:
      if (!preview.end.isEmpty()) parts << preview.end;
      break;
  }
  if (!preview.what.isEmpty()) parts << preview.what;
  return parts.join(QStringLiteral(", "));
}

QString shownDate(const QDateTime& date, const QDateTime& now) {
  const QLocale english = QLocale::c();
  const QString time = english.toString(date.time(), QStringLiteral("HH:mm"));
  if (date.date() == now.date()) return RecordingsModel::tr("Today %1").arg(time);
  if (date.date() == now.date().addDays(-1)) return RecordingsModel::tr("Yesterday %1").arg(time);
  if (date.date().year() != now.date().year()) {
    return english.toString(date.date(), QStringLiteral("d MMM yyyy"));
  }
  return english.toString(date.date(), QStringLiteral("d MMM ")) + time;
}

}  // namespace highwater::window
