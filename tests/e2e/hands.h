#pragma once

#include <QAction>
#include <QTest>

#include "analysis/live_store.h"
#include "session/session.h"
#include "views/panels/banner.h"
#include "window/main_window.h"

namespace highwater::test {

/// A run of the real worker on the simulated device.
inline session::LaunchOptions workerRun(std::uint32_t batch = 8, std::uint32_t length = 16) {
  session::LaunchOptions options;
  options.workerProgram = QStringLiteral(HIGHWATER_BIN_DIR "/highwater-worker");
  options.device = "sim";
  options.batchSize = batch;
  options.sequenceLength = length;
  return options;
}

/// A window as the user has it, and hands to work it with.
struct Hands {
  using State = session::Session::State;

  explicit Hands(const session::LaunchOptions& options = {})
      : window(options, nullptr, window::MainWindow::Settings::kOff) {
    window.show();
  }

  template <typename T>
  [[nodiscard]] T* find(const char* name) const {
    return window.findChild<T*>(QLatin1String(name));
  }
  void trigger(const char* action) const {
    auto* found = find<QAction>(action);
    QVERIFY2(found && found->isEnabled(), action);
    found->trigger();
  }
  void click(QWidget* widget) const { QTest::mouseClick(widget, Qt::LeftButton); }
  /// Types `value` into a spin box or field in place of what it shows.
  template <typename Field>
  void type(Field* field, const QByteArray& value) const {
    field->setFocus();
    field->selectAll();
    QTest::keyClicks(field, QString::fromUtf8(value));
    QTest::keyClick(field, Qt::Key_Return);
  }

  [[nodiscard]] run::Run& run() { return window.currentRun(); }
  [[nodiscard]] const analysis::LiveStore& store() { return run().store(); }
  [[nodiscard]] State state() { return run().state(); }
  [[nodiscard]] std::size_t steps() { return store().steps().records.size(); }
  [[nodiscard]] bool trains(std::size_t count) {
    return state() == State::kRunning && steps() >= count;
  }
  [[nodiscard]] views::Banner* banner() const { return find<views::Banner>("endBanner"); }

  window::MainWindow window;
};

}  // namespace highwater::test
