#pragma once

#include <QSaveFile>
#include <string>

#include "core/result.h"

namespace highwater::cli {

/// The error for a file that cannot be written, named by the user after `option`.
[[nodiscard]] inline Error notWritten(const QSaveFile& file, const std::string& option) {
  return failure(file.fileName().toStdString() + " cannot be written: " +
                 file.errorString().toStdString() + "; name another file after " + option);
}

}  // namespace highwater::cli
