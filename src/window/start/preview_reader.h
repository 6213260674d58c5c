#pragma once

#include <QObject>
#include <QStringList>
#include <QThread>
#include <QThreadPool>
#include <atomic>

#include "window/start/recording_preview.h"

namespace highwater::window {

/// Reads recordings for a list, one after the other on a thread of its own.
class PreviewReader final : public QObject {
  Q_OBJECT

 public:
  explicit PreviewReader(QObject* parent = nullptr);
  /// Stops, and waits until the file that is being read has been closed.
  ~PreviewReader() override;

  /// Reads these files in this order. What was asked before and is not read yet is dropped.
  void read(const QStringList& paths);
  /// Drops what is not read yet.
  void stop();

 signals:
  /// A file was read.
  void ready(const highwater::window::RecordingPreview& preview);

 private:
  QThreadPool pool_;
  std::atomic<unsigned> round_ = 0;  ///< of read() and stop(); an older one is cancelled
};

}  // namespace highwater::window
