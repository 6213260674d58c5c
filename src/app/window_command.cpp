#include "app/window_command.h"

#include <QApplication>
#include <filesystem>

#include "app/main_window.h"
#include "app/stop_signals.h"
#include "app/terminal.h"
#include "core/exit_codes.h"

namespace highwater::app {
namespace {

/// Qt ends the process where it finds no display.
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
               "\"; 'highwater --help' lists what there is");
    return kExitUsage;
  }
  if (!hasDisplay()) {
    printError(
        "there is no display for the window; 'highwater record -o FILE' trains and records "
        "without one");
    return kExitFailed;
  }
  QApplication application(argc, argv);
  MainWindow window(options.launch);
  if (!options.recording.empty()) {
    if (auto opened = window.openRecording(options.recording); !opened) {
      printError(opened.error().message);
      return kExitFailed;
    }
  }
  // As if it had been closed by hand: the run ends, and its recording with it.
  const StopSignals stops;
  QObject::connect(&stops, &StopSignals::stopRequested, &window, [&window] {
    window.close();
    QApplication::quit();
  });
  window.show();
  if (options.startAtOnce) {
    window.startRun();
  }
  return QApplication::exec();
}

}  // namespace highwater::app
