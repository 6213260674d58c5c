#include "cli/window_command.h"

#include <QApplication>
#include <QThread>
#include <QTimer>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/own_plugins.h"
#include "cli/script_exit.h"
#include "cli/sim_options.h"
#include "cli/stop_signals.h"
#include "cli/terminal.h"
#include "core/exit_codes.h"
#include "session/describe_worker.h"
#include "session/session.h"
#include "session/start_signals.h"
#include "store/recording_reader.h"
#include "window/main_window.h"

namespace highwater::cli {
namespace {

#if defined(Q_OS_MACOS)
constexpr bool kIsMac = true;
#else
constexpr bool kIsMac = false;
#endif

constexpr char kWithoutDisplay[] =
    "use 'highwater run --record FILE', 'highwater report' or 'highwater export', which need none, "
    "or set QT_QPA_PLATFORM=offscreen";

/// What Qt has said since the start; shown only if it gives up.
QStringList& startMessages() {
  static QStringList messages;
  return messages;
}

/// Qt aborts the process where a display does not answer. Ends it with a reason and an exit code
/// instead.
void endWithoutDisplay(QtMsgType type, const QMessageLogContext&, const QString& message) {
  if (type != QtFatalMsg) {
    startMessages() << message;
    return;
  }
  const QString why = startMessages().value(0, message.section(u'\n', 0, 0));
  printError("there is no display for the window (" + why.trimmed().toStdString() + "); " +
             kWithoutDisplay);
  std::fflush(stderr);
  std::_Exit(kExitFailed);
}

/// Makes the application, or ends the process where there is no display.
std::unique_ptr<QApplication> makeApplication(int& argc, char** argv) {
  const QtMessageHandler before = qInstallMessageHandler(&endWithoutDisplay);
  const OwnPlugins own;
  auto application = std::make_unique<QApplication>(argc, argv);
  qInstallMessageHandler(before);
  for (const QString& each : startMessages()) qWarning("%s", qPrintable(each));
  return application;
}

// A program that an early Ctrl+C ends has ended by then, and no window has flashed up.
constexpr int kWaitForEndMs = 5000;

/// Whoever waits for `highwater run` waits for the program, also when the window is closed before.
/// Signals that came while the program was started are meant for it. The window is then only shown
/// if the program goes on nevertheless.
int runScriptInWindow(window::MainWindow& mainWindow, const session::ScriptOptions& script,
                      StopSignals& stops) {
  // One that came before is not for the program, which does not exist yet.
  int early = 0;
  const auto noting = QObject::connect(&stops, &StopSignals::stopRequested,
                                       [&early](int, int signal) { early = signal; });
  const auto usable = session::checkSimulatedSettings(script);
  std::optional<session::StartSignals> terminals(std::in_place);
  stops.readPending();
  QObject::disconnect(noting);
  if (early != 0) return exitAs({0, early});
  if (!usable) {
    printError(usable.error().message);
    return kExitUsage;
  }
  QApplication::setQuitOnLastWindowClosed(false);
  const auto quitWhenBothAreGone = [&mainWindow] {
    if (!mainWindow.isVisible() && !mainWindow.currentRun().scriptRuns()) QApplication::quit();
  };
  QObject::connect(qApp, &QApplication::lastWindowClosed, &mainWindow, quitWhenBothAreGone);
  QObject::connect(&mainWindow.currentRun(), &run::Run::scriptEnded, &mainWindow,
                   quitWhenBothAreGone, Qt::QueuedConnection);
  // The first program's: the window may show other runs afterwards.
  std::optional<session::ProcessExit> exit;
  QObject::connect(&mainWindow.currentRun(), &run::Run::scriptEnded, &mainWindow,
                   [&] { exit = exit ? exit : mainWindow.currentRun().scriptExit(); });
  if (auto started = mainWindow.runScript(script, {}); !started) {
    printError(started.error().message);
    return started.error().code == ErrorCode::kNotFound ? kExitUsage : kExitFailed;
  }
  terminals.reset();
  std::signal(SIGQUIT, SIG_IGN);  // the program's, as Ctrl+C is
  if (!stops.readPending()) {
    mainWindow.showInFront();
  } else {
    QTimer::singleShot(kWaitForEndMs, &mainWindow, [&mainWindow] {
      if (mainWindow.currentRun().live()) mainWindow.showInFront();
    });
  }
  const int code = QApplication::exec();
  if (exit) return exitAs(*exit);
  const auto& end = mainWindow.currentRun().store().end();
  return !script.host.isEmpty() && end ? session::exitCodeFor(*end) : code;
}

}  // namespace

int runWindow(const WindowOptions& options, int argc, char** argv) {
  std::error_code ignored;
  if (!options.recording.empty() && !std::filesystem::exists(options.recording, ignored)) {
    printError(noSuchFileText(options.recording));
    return kExitUsage;
  }
  // Asked before Qt finds none, which ends the process; who insists is told why by Qt, except by a
  // Mac's.
  if ((kIsMac || !options.insists) && !canShowWindow()) {
    printError(std::string("there is no display for the window; ") +
               (options.recording.empty() ? "'highwater record' trains and records without one"
                                          : kWithoutDisplay));
    return kExitFailed;
  }
  if (options.script) {
    warnOfLiftedLimit("mps", options.script->environment);
  } else if (options.startAtOnce) {
    warnOfLiftedLimit(options.launch.device, options.launch.environment);
  }
  const std::unique_ptr<QApplication> application = makeApplication(argc, argv);
  window::MainWindow mainWindow(options.launch);
  if (!options.recording.empty()) {
    // Only whether it is one: reading it may take longer than the first window should.
    if (auto opened = store::RecordingReader::open(options.recording); !opened) {
      printError(opened.error().message);
      return kExitFailed;
    }
    mainWindow.openInBackground(options.recording);
  }
  StopSignals stops;
  QObject::connect(&stops, &StopSignals::stopRequested, &mainWindow,
                   [&mainWindow](int count, int signal) {
                     // A program in this terminal gets Ctrl+C itself. Who ends this process by
                     // another signal means the training.
                     if (mainWindow.currentRun().scriptRuns()) {
                       const bool isHere = mainWindow.currentRun().script()->host.isEmpty();
                       if (signal == SIGINT && isHere) return;
                       // As closing the window: the program on another machine goes on.
                       if (isHere || signal != SIGHUP) mainWindow.currentRun().signalScript(signal);
                       // While the program is started, the window is not shown yet.
                       const bool isInterrupt = signal == SIGINT && count < kLettingGo;
                       if (isInterrupt) return;
                       if (QThread::currentThread()->loopLevel() > 0) mainWindow.closeAtOnce();
                       return;
                     }
                     // As if the user had closed the window: stops the run and completes its
                     // recording. The second signal does not wait for the end of a step.
                     if (count == 1 && mainWindow.currentRun().live()) {
                       mainWindow.close();
                       return;
                     }
                     mainWindow.closeAtOnce();
                     QApplication::quit();
                   });
  if (options.script) return runScriptInWindow(mainWindow, *options.script, stops);
  mainWindow.showInFront();
  if (options.startAtOnce) {
    mainWindow.startRun();
  }
  return QApplication::exec();
}

}  // namespace highwater::cli
