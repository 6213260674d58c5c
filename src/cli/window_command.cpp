#include "cli/window_command.h"

#include <QApplication>
#include <filesystem>

#include "cli/stop_signals.h"
#include "cli/terminal.h"
#include "core/exit_codes.h"
#include "window/main_window.h"

namespace highwater::cli {
namespace {

/// Checked first, because Qt aborts the process where it finds no display.
bool hasDisplay() {
#if defined(Q_OS_MACOS)
  return true;
#else
  return qEnvironmentVariableIsSet("QT_QPA_PLATFORM") || !qEnvironmentVariableIsEmpty("DISPLAY") ||
         !qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY");
#endif
}

}  // namespace

int runWindow(const WindowOptions& options, int argc, char** argv) {
  std::error_code ignored;
  if (!options.recording.empty() && !std::filesystem::exists(options.recording, ignored)) {
    printError("there is neither a recording nor a command \"" + options.recording +
               "\"; 'highwater --help' lists commands and options");
    return kExitUsage;
  }
  if (!hasDisplay()) {
    printError(
        "there is no display for the window; 'highwater record -o FILE' trains and records "
        "without one");
    return kExitFailed;
  }
  QApplication application(argc, argv);
  window::MainWindow mainWindow(options.launch);
  if (!options.recording.empty()) {
    if (auto opened = mainWindow.openRecording(options.recording); !opened) {
      printError(opened.error().message);
      return kExitFailed;
    }
  }
  // As if the user had closed the window: ends the run and completes its recording.
  const StopSignals stops;
  QObject::connect(&stops, &StopSignals::stopRequested, &mainWindow, [&mainWindow] {
    mainWindow.close();
    QApplication::quit();
  });
  mainWindow.show();
  if (options.startAtOnce) {
    mainWindow.startRun();
  }
  return QApplication::exec();
}

}  // namespace highwater::cli
