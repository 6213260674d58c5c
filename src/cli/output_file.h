#pragma once

#include <QByteArray>
#include <QFile>
#include <QSaveFile>
#include <filesystem>
#include <string>

#include "core/result.h"
#include "report/trace_events.h"

namespace highwater::cli {

/// The error for a file that cannot be written, named by the user after `option`.
[[nodiscard]] inline Error notWritten(const QSaveFile& file, const std::string& option) {
  return failure(file.fileName().toStdString() + " cannot be written: " +
                 file.errorString().toStdString() + "; name another file after " + option);
}

/// Writes pieces to an open file, which says itself where that fails.
[[nodiscard]] inline report::Write writeTo(QSaveFile& file) {
  return [&file](std::string_view piece) {
    file.write(piece.data(), static_cast<qint64>(piece.size()));
  };
}

/// The first bytes of a file, by which its kind is known; empty where it cannot be read.
[[nodiscard]] inline QByteArray headOf(const std::filesystem::path& path) {
  constexpr qint64 kHead = 512;
  QFile file(QString::fromStdString(path.string()));
  return file.open(QFile::ReadOnly) ? file.read(kHead) : QByteArray();
}

}  // namespace highwater::cli
