// The window beside a training that sends 20,000 events a second: how soon an event is painted, and
// whether a frame ever takes long. docs/performance.md has the figures.

#include <CLI/CLI.hpp>
#include <QApplication>
#include <QStandardPaths>
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "bench/harness.h"
#include "bench/watch.h"
#include "core/clock.h"
#include "views/panes/timeline_pane.h"
#include "window/main_window.h"

using namespace highwater;

namespace {

struct Choices {
  double seconds = 60;
};

const bench::Bench kBench{"live",
                          "How soon the window paints what a training sends",
                          "nothing",
                          {{"painted_p99", 50}, {"longest_frame", 33}}};

/// Notes when the events of each millisecond of the run have been painted in the timeline.
class PaintWatch final : public QObject {
 public:
  PaintWatch(window::MainWindow& window, views::TimelinePane& pane) : window_(window) {
    pane.installEventFilter(this);
  }
  bool eventFilter(QObject* object, QEvent* event) override {
    if (event->type() != QEvent::Paint || painting_) {
      return false;
    }
    painting_ = true;
    object->event(event);
    painting_ = false;
    noteFrame();
    return true;
  }
  std::vector<double> takeLatencies() { return std::move(latenciesMs_); }
  [[nodiscard]] std::size_t frames() const { return frames_; }

 private:
  void noteFrame() {
    ++frames_;
    const auto& hello = window_.currentRun().store().hello();
    if (!hello) {
      return;
    }
    constexpr std::int64_t kMs = 1'000'000;
    const std::int64_t nowNs = monotonicNs() - hello->clock.monotonicEpochNs;
    const std::int64_t paintedUpToNs = window_.timeAxis().extent().endNs;
    if (frames_ == 1) {
      nextNs_ = paintedUpToNs;  // what was painted before nobody has watched
    }
    for (; nextNs_ <= paintedUpToNs; nextNs_ += kMs) {
      latenciesMs_.push_back(static_cast<double>(nowNs - nextNs_) / 1e6);
    }
  }

  window::MainWindow& window_;
  std::vector<double> latenciesMs_;
  std::int64_t nextNs_ = 0;
  std::size_t frames_ = 0;
  bool painting_ = false;
};

void measure(const Choices& choices, bench::Report& report) {
  session::LaunchOptions launch;
  launch.steps = 0;
  window::MainWindow window(launch, nullptr, window::MainWindow::Settings::kOff);
  window.show();
  QApplication::processEvents();
  window.startRun();
  const analysis::LiveStore& store = window.currentRun().store();
  // The first second builds what later frames only change.
  const auto reached = [&](double seconds) {
    return static_cast<double>(store.completeUpToNs()) >= seconds * 1e9;
  };
  if (!bench::waitUntil([&] { return reached(1); }, 30'000)) {
    throw std::runtime_error("the flooding worker sent nothing");
  }
  const auto panes = window.findChildren<views::TimelinePane*>();
  const auto shown = std::find_if(panes.begin(), panes.end(), [](const views::TimelinePane* pane) {
    return pane->isVisible();
  });
  if (shown == panes.end()) {
    throw std::runtime_error("the window shows no timeline");
  }
  PaintWatch paints(window, **shown);
  bench::StillWatch still;
  still.start();
  const std::size_t framesBefore = paints.frames();
  const std::uint64_t eventsBefore = store.eventCount();
  if (!bench::waitUntil([&] { return reached(choices.seconds + 1); },
                        static_cast<int>(choices.seconds * 1000) + 30'000)) {
    throw std::runtime_error("the flooding worker stopped");
  }
  const std::vector<double> latencies = paints.takeLatencies();
  const std::string setting = "20,000 events a second";
  const auto painted = [&](const char* name, double share) {
    report.rows.push_back(bench::quantile(name, setting, "ms", latencies, share));
  };
  painted("painted_p50", 0.5);
  painted("painted_p99", 0.99);
  painted("painted_most", 1);
  const auto aSecond = [&](std::uint64_t count) {
    return static_cast<double>(count) / choices.seconds;
  };
  report.rows.push_back(bench::exact("longest_frame", setting, "ms", still.longestMs()));
  report.rows.push_back(
      bench::exact("frames_a_second", setting, "1/s", aSecond(paints.frames() - framesBefore)));
  report.rows.push_back(
      bench::exact("events_a_second", setting, "1/s", aSecond(store.eventCount() - eventsBefore)));
  window.currentRun().abandon();
}

}  // namespace

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  qputenv("HIGHWATER_WORKER", HIGHWATER_FAKE_WORKER);
  qputenv("FAKE_WORKER", "flood");
  QStandardPaths::setTestModeEnabled(true);
  QApplication qt(argc, argv);
  Choices choices;
  bench::Harness harness(kBench);
  harness.options().add_option("--seconds", choices.seconds, "of training, after the first");
  return harness.run(argc, argv, [&](bench::Report& report) { measure(choices, report); });
}
