#pragma once

#include <QString>
#include <QTemporaryDir>
#include <filesystem>
#include <vector>

#include "store/recording_writer.h"
#include "support/sample_run.h"
#include "wire/codec.h"

namespace highwater::test {

/// Writes a run as a recording, over one that is there. False where it cannot be written.
inline bool writeRecording(const std::filesystem::path& path,
                           const std::vector<OwnedMessage>& run) {
  auto writer = store::RecordingWriter::create(path, {.overwrite = true});
  if (!writer) return false;
  forEachMessage(run,
                 [&](const Message& message) { (*writer)->take(wire::encode(message), message); });
  return (*writer)->close().ok();
}

/// The path of such a recording in a test's folder, empty where it cannot be written.
inline QString recordIn(const QTemporaryDir& folder, const QString& name,
                        const std::vector<OwnedMessage>& run) {
  const QString path = folder.filePath(name);
  return writeRecording(path.toStdString(), run) ? path : QString();
}

}  // namespace highwater::test
