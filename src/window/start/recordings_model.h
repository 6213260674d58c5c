#pragma once

#include "models/column_model.h"
#include "window/start/preview_reader.h"

namespace highwater::window {

/// A table model of recordings, the newest first. Their contents are read in the background and
/// appear one after the other.
class RecordingsModel final : public models::ColumnModel<RecordingPreview> {
  Q_OBJECT

 public:
  enum Column { kMemory, kName, kDate, kLength, kDevice, kSize };
  /// The most files that the list holds.
  static constexpr int kMostFiles = 100;
  /// A larger file is not read for the list: that would take seconds.
  static constexpr qint64 kMostBytes = qint64{512} << 20;

  explicit RecordingsModel(QObject* parent = nullptr);

  /// Lists the recordings of `folder`, and `others`, which may be anywhere and need not exist any
  /// more; reads those that changed since they were read.
  void list(const QString& folder, const QStringList& others);
  /// Stops to read. list() goes on.
  void stopReading() { reader_.stop(); }
  /// What is known about the recording in a row.
  [[nodiscard]] const RecordingPreview& preview(int row) const {
    return rows()[static_cast<std::size_t>(row)];
  }

 private:
  [[nodiscard]] QVariant rowData(const RecordingPreview& row, int role) const override;
  void take(const RecordingPreview& preview);
  [[nodiscard]] const RecordingPreview* known(const QString& path) const;

  PreviewReader reader_;
};

/// The second line under a recording's name: what it is, and its state in words.
[[nodiscard]] QString secondLine(const RecordingPreview& preview);
/// A date for a list: "Today 09:14", "Yesterday 17:30", "19 Nov 11:20", "19 Nov 2025".
[[nodiscard]] QString shownDate(const QDateTime& date, const QDateTime& now);

}  // namespace highwater::window
