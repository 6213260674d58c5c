#include "cli/off_screen.h"

#include <QString>

#include "cli/output_file.h"
#include "cli/own_plugins.h"
#include "cli/terminal.h"

namespace highwater::cli {
namespace {

/// Hides Qt's warnings about what the offscreen platform cannot do.
void showOnlyTrouble(QtMsgType type, const QMessageLogContext&, const QString& message) {
  if (type == QtCriticalMsg || type == QtFatalMsg) printError(message.toStdString());
}

}  // namespace

void useNoScreen() {
  ignoreFileSizeSignal();
  qInstallMessageHandler(showOnlyTrouble);
  qputenv("QT_QPA_PLATFORM", "offscreen");
  static const OwnPlugins own;  // until the end: these commands start no other program
}

}  // namespace highwater::cli
