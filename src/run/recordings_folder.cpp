#include "run/recordings_folder.h"

#include <QDateTime>
#include <QDir>
#include <QFileInfo>
#include <QStandardPaths>
#include <system_error>

#include "run/run.h"

namespace highwater::run {
namespace {

const QLatin1String kSuffix(".highwater");
constexpr qsizetype kMostBytes = 200;  ///< file systems allow 255, and "-journal" may follow

}  // namespace

QString recordingsFolder() {
  return QStandardPaths::writableLocation(QStandardPaths::AppLocalDataLocation) +
         QStringLiteral("/recordings");
}

QString recordingFile(const QString& name) {
  return recordingsFolder() + u'/' + name + kSuffix;
}

QString freeRecordingName(const QString& stem) {
  QString name;
  int number = 0;
  do {
    name = QStringLiteral("%1-%2").arg(stem).arg(++number, 2, 10, QLatin1Char('0'));
  } while (QFileInfo::exists(recordingFile(name)));
  return name;
}

Result<std::filesystem::path> newRecordingPath(const QString& name, Naming naming) {
  const QString folder = recordingsFolder();
  std::error_code problem;
  std::filesystem::create_directories(folder.toStdString(), problem);
  if (problem) {
    return Error{ErrorCode::kNoPermission, "the folder for recordings, " + folder.toStdString() +
                                               ", cannot be made: " + problem.message()};
  }
  QString stem = name;
  if (naming == Naming::kWithTime) {
    stem += QDateTime::currentDateTime().toString(QStringLiteral("-yyyyMMdd-HHmmss"));
  }
  std::filesystem::path path(recordingFile(stem).toStdString());
  std::error_code error;  // where it cannot tell, RecordingWriter will
  for (int i = 2; std::filesystem::exists(path, error); ++i) {
    path = recordingFile(QStringLiteral("%1-%2").arg(stem).arg(i)).toStdString();
  }
  return path;
}

QString problemWithRecordingName(const QString& name, const QString& folder) {
  if (name.isEmpty()) return Run::tr("Name the recording");
  if (name.contains(u'/') || name.contains(QChar::Null)) return Run::tr("A name, without folders");
  if (name.startsWith(u'.')) return Run::tr("A name that does not begin with a dot");
  if (name.toUtf8().size() > kMostBytes) return Run::tr("The name is too long");
  if (QFileInfo::exists(folder + u'/' + name + kSuffix))
    return Run::tr("There is such a recording: choose another");
  return {};
}

QString shownPath(const QString& path) {
  const QString home = QDir::homePath();
  if (path == home) return QStringLiteral("~");
  return path.startsWith(home + u'/') ? u'~' + path.mid(home.size()) : path;
}

QString meantPath(const QString& text, const QString& folder) {
  if (text == QLatin1String("~")) return QDir::homePath();
  if (text.startsWith(QLatin1String("~/"))) return QDir::cleanPath(QDir::homePath() + text.mid(1));
  return QDir::cleanPath(QDir(folder).absoluteFilePath(text));
}

}  // namespace highwater::run
