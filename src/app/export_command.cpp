#include "app/export_command.h"

#include <QApplication>

#include "app/terminal.h"
#include "app/window_picture.h"
#include "core/exit_codes.h"

namespace highwater::app {
namespace {

/// What the offscreen platform cannot do is no news to whoever wants a picture.
void showOnlyTrouble(QtMsgType type, const QMessageLogContext&, const QString& message) {
  if (type == QtCriticalMsg || type == QtFatalMsg) printError(message.toStdString());
}

}  // namespace

int runExport(const ExportOptions& options, int argc, char** argv) {
  qInstallMessageHandler(showOnlyTrouble);
  qputenv("QT_QPA_PLATFORM", "offscreen");
  const QApplication application(argc, argv);
  const auto drawn = exportWindowPicture(options.recording, options.image,
                                         {.size = options.size, .dark = options.dark});
  if (!drawn) {
    printError(drawn.error().message);
    return drawn.error().code == ErrorCode::kUsage ? kExitUsage : kExitFailed;
  }
  return kExitDone;
}

}  // namespace highwater::app
