#pragma once

#include <QApplication>
#include <QTemporaryDir>

#include "support/active_window.h"
#include "support/own_home.h"
#include "window/main_window.h"

namespace highwater::test {

/// A folder and a window whose runs are those of the fake worker, long trainings: for tests that
/// need both anew for each of their functions.
struct WindowBench {
  QTemporaryDir folder;
  window::MainWindow window{longRuns(), nullptr, window::MainWindow::Settings::kOff};

  /// For all windows of this process.
  static void useFakeWorker(const char* program) {
    qputenv("HIGHWATER_WORKER", program);
    qputenv("FAKE_WORKER", "train");
  }

  WindowBench() {
    window.resize(1600, 1000);
    window.show();
    makeActive(window);
  }

 private:
  static session::LaunchOptions longRuns() {
    useOwnHome();
    session::LaunchOptions launch;
    launch.steps = 1'000'000;
    return launch;
  }
};

}  // namespace highwater::test
