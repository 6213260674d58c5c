#include "models/saved_file.h"

#include <QSaveFile>

namespace highwater::models {

Result<void> saveFile(const QString& path, const QByteArray& bytes) {
  QSaveFile file(path);
  bool written = file.open(QIODevice::WriteOnly);
  // Of a disk that gets full, write() tells only by a part, and then by the error of the rest.
  for (qsizetype at = 0; written && at < bytes.size();) {
    const qint64 done = file.write(bytes.constData() + at, bytes.size() - at);
    written = done > 0;
    at += done;
  }
  // commit() alone succeeds where what Qt still held does not fit on the disk.
  if (written && file.flush() && file.commit()) return {};
  return failure(path.toStdString() + " cannot be written: " + file.errorString().toStdString());
}

}  // namespace highwater::models
