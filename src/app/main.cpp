#include <QApplication>
#include <QCoreApplication>

#include "app/doctor_command.h"
#include "app/main_window.h"
#include "app/options.h"
#include "app/record_command.h"
#include "app/report_command.h"
#include "app/terminal.h"
#include "app/version.h"
#include "app/window_picture.h"
#include "core/exit_codes.h"

namespace {

using namespace highwater;
using namespace highwater::app;

/// Qt ends the process where it finds no display: say it first, and what can be done without one.
Result<void> checkDisplay() {
#ifdef Q_OS_LINUX
  const auto isSet = [](const char* name) { return !qEnvironmentVariableIsEmpty(name); };
  if (!isSet("DISPLAY") && !isSet("WAYLAND_DISPLAY") && !isSet("QT_QPA_PLATFORM")) {
    return failure(
        "there is no display to open the window on (DISPLAY and WAYLAND_DISPLAY are unset); "
        "without "
        "one, use highwater record, report and export");
  }
#endif
  return {};
}

int run(const RecordOptions& options, int argc, char** argv) {
  const QCoreApplication application(argc, argv);
  return runRecord(options);
}

int run(const ReportOptions& options, int argc, char** argv) {
  const QCoreApplication application(argc, argv);
  return runReport(options);
}

int run(const DoctorOptions& options, int argc, char** argv) {
  const QCoreApplication application(argc, argv);
  return runDoctor(options);
}

int run(const ExportOptions& options, int argc, char** argv) {
  // The picture is drawn in memory: a display, even where there is one, is not asked for.
  qputenv("QT_QPA_PLATFORM", "offscreen");
  const QApplication application(argc, argv);
  const Result<void> drawn =
      exportWindowPicture(options.recording, options.image, {options.size, options.dark});
  if (drawn) return kExitDone;
  printError(drawn.error().message);
  return kExitFailed;
}

int run(const WindowOptions& options, int argc, char** argv) {
  if (const Result<void> display = checkDisplay(); !display) {
    printError(display.error().message);
    return kExitFailed;
  }
  QGuiApplication::setDesktopFileName(QStringLiteral("highwater"));
  const QApplication application(argc, argv);
  MainWindow window(options.launch);
  if (!options.recording.empty()) {
    if (const Result<void> opened = window.openRecording(options.recording); !opened) {
      printError(opened.error().message);
      return kExitFailed;
    }
  }
  window.show();
  return QApplication::exec();
}

}  // namespace

int main(int argc, char** argv) {
  const auto parsed = parseCommandLine(argc, argv);
  if (const auto* early = std::get_if<EarlyExit>(&parsed)) {
    if (early->exitCode == kExitDone) {
      print(early->text);
    } else {
      printError(early->text);
    }
    return early->exitCode;
  }
  QCoreApplication::setApplicationName(QStringLiteral("highwater"));
  QCoreApplication::setApplicationVersion(QLatin1String(kVersion));
  return std::visit([&](const auto& options) { return run(options, argc, argv); },
                    std::get<Invocation>(parsed));
}
