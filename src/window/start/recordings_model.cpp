#include "window/start/recordings_model.h"

#include <QDir>
#include <QFileInfo>
#include <QLocale>
#include <algorithm>

#include "core/units.h"
#include "models/qt_text.h"
#include "run/recordings_folder.h"

namespace highwater::window {

using PreviewState = RecordingPreview::State;

RecordingsModel::RecordingsModel(QObject* parent) : ColumnModel(parent) {
  using models::kNoValue;
  setColumns(Columns{
      {.head = tr("Memory")},
      {.head = tr("Name"),
       .text = [](auto& row) { return QFileInfo(row.path).completeBaseName(); }},
      {.head = tr("Date"),
       .text =
           [](auto& row) {
             return row.begun.isValid() ? shownDate(row.begun, QDateTime::currentDateTime())
                                        : QString();
           }},
      {.head = tr("Length"),
       .text =
           [](auto& row) {
             return row.lengthNs < 0 ? kNoValue : text(formatRunTime(row.lengthNs, 0));
           },
       .isText = false},
      {.head = tr("Device"), .text = [](auto& row) { return row.device; }},
      {.head = tr("Size"),
       .text =
           [](auto& row) {
             return row.state == PreviewState::kMissing ? kNoValue : bytesText(double(row.bytes));
           },
       .isText = false},
  });
  connect(&reader_, &PreviewReader::ready, this, &RecordingsModel::take);
}

const RecordingPreview* RecordingsModel::known(const QString& path) const {
  return rowAt(firstRow([&](const RecordingPreview& each) { return each.path == path; }));
}

void RecordingsModel::list(const QString& folder, const QStringList& others) {
  QStringList paths;
  const auto files =
      QDir(folder).entryInfoList({QStringLiteral("*.highwater")}, QDir::Files, QDir::Time);
  for (const QFileInfo& file : files) paths << file.absoluteFilePath();
  for (const QString& other : others) {
    if (!paths.contains(other)) paths << other;
  }
  std::vector<RecordingPreview> fresh;
  for (const QString& path : paths) {
    RecordingPreview row = fileFacts(path);
    const RecordingPreview* before = known(path);
    const bool same = before && before->state != PreviewState::kUnread &&
                      before->bytes == row.bytes && before->changed == row.changed;
    if (same && before->state != PreviewState::kBeingWritten &&
        row.state != PreviewState::kMissing) {
      row = *before;
    }
    fresh.push_back(std::move(row));
  }
  std::stable_sort(fresh.begin(), fresh.end(), [](const auto& a, const auto& b) {
    return a.changed.isValid() && (!b.changed.isValid() || a.changed > b.changed);
  });
  if (fresh.size() > kMostFiles) fresh.resize(kMostFiles);
  resetRows(std::move(fresh));
  QStringList unread;
  for (const RecordingPreview& each : rows()) {
    if (each.state == PreviewState::kUnread && each.bytes <= kMostBytes) unread << each.path;
  }
  reader_.read(unread);
}

void RecordingsModel::take(const RecordingPreview& preview) {
  const int row = firstRow([&](const RecordingPreview& each) { return each.path == preview.path; });
  if (row >= 0) setRow(row, preview);
}

QVariant RecordingsModel::rowData(const RecordingPreview& row, int role) const {
  if (role != Qt::ToolTipRole) return {};
  QStringList lines{run::shownPath(row.path)};
  for (const QString& each : {secondLine(row), row.detail}) {
    if (!each.isEmpty()) lines << each;
  }
  return models::plainTip(lines.join(u'\n'));
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
