#pragma once

#include <QByteArray>
#include <QFile>
#include <QFileDevice>
#include <QSaveFile>
#include <csignal>
#include <filesystem>
#include <string>

#include "core/result.h"
#include "report/trace_events.h"

namespace highwater::cli {

/// Makes a file that grows beyond what the shell allows an error like others, for commands that
/// start no program: it would inherit this.
inline void ignoreFileSizeSignal() {
  std::signal(SIGXFSZ, SIG_IGN);
}

/// The error for a file that cannot be written, named by the user after `option`.
[[nodiscard]] inline Error notWritten(const QSaveFile& file, const std::string& option) {
  return failure(file.fileName().toStdString() + " cannot be written: " +
                 file.errorString().toStdString() + "; name another file after " + option);
}

/// Writes pieces to an open file, whose error() is the first that happens.
[[nodiscard]] inline report::Write writeTo(QFileDevice& file) {
  return [&file](std::string_view piece) {
    // Of a disk that gets full, write() tells only by a part, and then by the error of the rest.
    while (!piece.empty() && file.error() == QFileDevice::NoError) {
      const qint64 done = file.write(piece.data(), static_cast<qint64>(piece.size()));
      if (done <= 0) break;
      piece.remove_prefix(static_cast<std::size_t>(done));
    }
  };
}

/// Puts a file that is whole in its place. QSaveFile::commit() alone succeeds where what Qt still
/// held does not fit on the disk.
[[nodiscard]] inline Result<void> commit(QSaveFile& file, const std::string& option) {
  if (file.error() != QFileDevice::NoError || !file.flush() || !file.commit()) {
    return notWritten(file, option);
  }
  return {};
}

/// Checks that a JSON file, named by the user after `option`, can be written, before an answer that
/// takes minutes. Does not change it. An earlier answer may be replaced; another file that was
/// named by mistake may not: kExists.
[[nodiscard]] Result<void> checkJsonFile(const std::string& path, const std::string& option);

/// models::saveFile() for a file that the user named after `option`.
[[nodiscard]] Result<void> saveNamed(const std::string& path, const QByteArray& bytes,
                                     const std::string& option);

/// The first bytes of a file, by which its kind is known; empty where it cannot be read.
[[nodiscard]] inline std::string headOf(const std::filesystem::path& path) {
  constexpr qint64 kHead = 512;
  QFile file(QString::fromStdString(path.string()));
  return file.open(QFile::ReadOnly) ? file.read(kHead).toStdString() : std::string();
}

}  // namespace highwater::cli
