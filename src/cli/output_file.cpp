#include "cli/output_file.h"

#include <QFileInfo>

#include "models/saved_file.h"

namespace highwater::cli {

Result<void> checkJsonFile(const std::string& path, const std::string& option) {
  const QFileInfo info(QString::fromStdString(path));
  const std::string other = "; name another file after " + option;
  // QSaveFile would replace a device by a file.
  if (info.exists() && !info.isFile()) return failure(path + " is not a regular file" + other);
  const std::string head = headOf(path);
  if (!head.empty() && head.front() != '{') {
    return Error{ErrorCode::kExists,
                 path + " exists and is not JSON, so it is not overwritten" + other};
  }
  QSaveFile file(info.filePath());
  if (!file.open(QIODevice::WriteOnly)) return notWritten(file, option);
  file.cancelWriting();
  return {};
}

Result<void> saveNamed(const std::string& path, const QByteArray& bytes,
                       const std::string& option) {
  auto saved = models::saveFile(QString::fromStdString(path), bytes);
  if (saved) return {};
  return Error{saved.error().code, saved.error().message + "; name another file after " + option};
}

}  // namespace highwater::cli
