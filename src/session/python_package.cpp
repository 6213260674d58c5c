#include "session/python_package.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>

namespace highwater::session {
namespace {

QString besidePrograms(const QString& relative) {
  return QDir::cleanPath(QCoreApplication::applicationDirPath() + '/' + relative);
}

}  // namespace

QString librariesFolder() {
  return besidePrograms(QStringLiteral("../lib"));
}

QString pythonPackageFolder() {
  // Installed, or in a macOS bundle.
  for (const char* relative : {"../share/highwater/python", "../Resources/python"}) {
    const QString folder = besidePrograms(QLatin1String(relative));
    if (QFileInfo(folder).isDir()) return folder;
  }
  return QStringLiteral(HIGHWATER_PYTHON_FOLDER);
}

QString scriptLibraryFolder() {
  const QString inBundle = besidePrograms(QStringLiteral("../Resources/script"));
  return QFileInfo(inBundle).isDir() ? inBundle : librariesFolder() + QStringLiteral("/script");
}

QString simulatedDeviceLibrary() {
  return librariesFolder() + QStringLiteral("/libhighwater_simmps.so");
}

}  // namespace highwater::session
