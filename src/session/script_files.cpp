#include "session/script_files.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>

namespace highwater::session {
namespace {

/// The folder with this path relative to the program, if it exists; else `other`.
QString folderOf(const QString& relative, const QString& other) {
  const QString folder = QDir::cleanPath(QCoreApplication::applicationDirPath() + '/' + relative);
  return QFileInfo(folder).isDir() ? folder : other;
}

QString libraryFolder() {
  return folderOf(QStringLiteral("../lib"), QString());
}

}  // namespace

QString scriptPackageFolder() {
  return folderOf(QStringLiteral("../share/highwater/python"),
                  QStringLiteral(HIGHWATER_PYTHON_FOLDER));
}

QString scriptNativeFolder() {
  return libraryFolder() + QStringLiteral("/script");
}

QString simulatedDeviceLibrary() {
  return libraryFolder() + QStringLiteral("/libhighwater_simmps.so");
}

}  // namespace highwater::session
