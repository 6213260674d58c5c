#include "window/start/preview_reader.h"

namespace highwater::window {

PreviewReader::PreviewReader(QObject* parent) : QObject(parent) {
  pool_.setMaxThreadCount(1);
  pool_.setThreadPriority(QThread::LowPriority);
}

PreviewReader::~PreviewReader() {
  stop();
  pool_.waitForDone();
}

void PreviewReader::read(const QStringList& paths) {
  stop();
  const unsigned round = round_;
  for (const QString& path : paths) {
    pool_.start([this, path, round] {
      const auto cancelled = [this, round] { return round_ != round; };
      const RecordingPreview preview = readPreview(path, cancelled);
      if (!cancelled()) emit ready(preview);
    });
  }
}

void PreviewReader::stop() {
  ++round_;
  pool_.clear();
}

}  // namespace highwater::window
