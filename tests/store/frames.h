#pragma once

#include <sqlite3.h>

#include <QByteArray>
#include <QDir>
#include <QFile>
#include <QString>
#include <QTemporaryDir>
#include <filesystem>
#include <vector>

#include "store/recording_reader.h"
#include "store/recording_writer.h"
#include "support/sample_run.h"
#include "wire/codec.h"

/// Helpers of the tests of recordings.
namespace highwater::test {

/// The frames of a sample run, as a worker sends them.
inline std::vector<wire::FrameBytes> sampleFrames(const SampleRunOptions& options = {}) {
  std::vector<wire::FrameBytes> frames;
  forEachMessage(makeSampleRun(options),
                 [&](const Message& message) { frames.push_back(wire::encode(message)); });
  return frames;
}

/// Decodes frames and hands both to a sink, as a session does.
inline void feedFrames(const std::vector<wire::FrameBytes>& frames, MessageSink& sink) {
  for (const wire::FrameBytes& frame : frames) {
    const Result<Message> message = wire::decode(frame);
    if (message) sink.take(frame, *message);
  }
}

struct ReadBack {
  std::vector<wire::FrameBytes> frames;
  Result<void> result;
};

/// Reads all frames up to the end of a recording or to an error.
inline ReadBack readFrames(const std::filesystem::path& path) {
  ReadBack back;
  Result<store::RecordingReader> reader = store::RecordingReader::open(path);
  if (!reader) {
    back.result = reader.error();
    return back;
  }
  back.result = reader->forEachFrame([&](std::span<const std::uint8_t> frame) -> Result<void> {
    back.frames.emplace_back(frame.begin(), frame.end());
    return {};
  });
  return back;
}

inline std::filesystem::path pathIn(const QString& folder, const char* name) {
  return std::filesystem::path(folder.toStdString()) / name;
}

/// The names of all files in a folder.
inline QStringList filesIn(const QTemporaryDir& folder) {
  return QDir(folder.path()).entryList(QDir::Files | QDir::Hidden | QDir::System, QDir::Name);
}

inline QByteArray bytesOf(const std::filesystem::path& path) {
  QFile file(QString::fromStdString(path.string()));
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

/// What is left of a recording that was cut short: its file may be overwritten.
inline constexpr char kRestOfARecording[] = "SQL";

inline bool writeBytes(const std::filesystem::path& path, const QByteArray& bytes) {
  QFile file(QString::fromStdString(path.string()));
  return file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size();
}

/// Runs SQL on a file, without the reader's restrictions.
inline bool execute(const std::filesystem::path& path, const QByteArray& sql) {
  sqlite3* db = nullptr;
  bool done = sqlite3_open(path.c_str(), &db) == SQLITE_OK;
  done = done && sqlite3_exec(db, sql.constData(), nullptr, nullptr, nullptr) == SQLITE_OK;
  return sqlite3_close(db) == SQLITE_OK && done;
}

inline const FallbackAcceptance kAcceptance{"aten::embedding_renorm_", true, "once an epoch only",
                                            5};

}  // namespace highwater::test
