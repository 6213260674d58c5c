#pragma once

#include <QApplication>
#include <QSize>
#include <QString>

#include "support/active_window.h"
#include "support/find_shown.h"
#include "support/own_home.h"
#include "window/main_window.h"

namespace highwater::test {

/// A window on screen that shows a recording.
struct OpenedRecording {
  explicit OpenedRecording(
      const QString& path, QSize size = {1280, 800},
      window::MainWindow::Settings settings = window::MainWindow::Settings::kOff)
      : window(inOwnHome(), nullptr, settings) {
    if (!size.isEmpty()) window.resize(size);
    opened = window.openRecording(path.toStdString()).ok();
    window.show();
    makeActive(window);
    QApplication::processEvents();
    window.renderNow();
    QApplication::processEvents();
  }
  template <typename T>
  [[nodiscard]] T* find(const char* name) const {
    return findShown<T>(window, name);
  }
  [[nodiscard]] const analysis::LiveStore& store() { return window.currentRun().store(); }

  window::MainWindow window;
  bool opened = false;

 private:
  static session::LaunchOptions inOwnHome() {
    useOwnHome();
    return {};
  }
};

}  // namespace highwater::test
