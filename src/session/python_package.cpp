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
  const QString installed = besidePrograms(QStringLiteral("../share/highwater/python"));
  return QFileInfo(installed).isDir() ? installed : QStringLiteral(HIGHWATER_PYTHON_FOLDER);
}

QString scriptLibraryFolder() {
  return librariesFolder() + QStringLiteral("/script");
}

QString simulatedDeviceLibrary() {
  return librariesFolder() + QStringLiteral("/libhighwater_simmps.so");
}

}  // namespace highwater::session
