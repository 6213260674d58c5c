#pragma once

#include <QWidget>

#include "window/start/recordings_model.h"

namespace highwater::window {

class DropPlace;
class StartTable;

/// The list of recordings, with their memory in small, and the place below it to drop a file on.
class RecentRecordings final : public QWidget {
  Q_OBJECT

 public:
  explicit RecentRecordings(QWidget* parent = nullptr);

  /// Lists the recordings of the recordings' folder, and `others`.
  void list(const QStringList& others);
  /// Stops to read files for the list.
  void stopReading() { model_.stopReading(); }
  /// Highlights the place to drop on, while a file is dragged over the window.
  void showDrag(bool dragged);
  /// Says below the list why a file was not opened; empty: nothing is wrong.
  void showProblem(const QString& problem);
  [[nodiscard]] const RecordingsModel& model() const { return model_; }

 signals:
  /// The user wants to open this recording.
  void openRequested(const QString& path);
  /// The user wants this file out of the list. The file stays.
  void forgetRequested(const QString& path);
  /// A recording has another name now.
  void renamed(const QString& path, const QString& newPath);
  /// A recording's file was deleted.
  void deleted(const QString& path);
  /// The user wants to choose a recording.
  void chooseRequested();
  /// The number of recordings in the list has changed.
  void countChanged(int count);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void showMenu(const QPoint& at);
  /// Offers to rename or to delete a recording.
  void rename(const QString& path);
  void remove(const QString& path);
  [[nodiscard]] QString currentPath() const;

  RecordingsModel model_;
  StartTable* table_;
  DropPlace* drop_;
};

}  // namespace highwater::window
