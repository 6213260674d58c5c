// How soon the window stands there, and how soon a large recording can be looked at in it.
// docs/performance.md has the figures.

#include <CLI/CLI.hpp>
#include <QApplication>
#include <QElapsedTimer>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <algorithm>
#include <filesystem>

#include "bench/harness.h"
#include "bench/watch.h"
#include "support/large_recording.h"
#include "window/main_window.h"
#include "window/opening_page.h"

using namespace highwater;

namespace {

struct Choices {
  std::uint64_t mebibytes = 1024;
  std::string recording;
};

// A recording is opened too few times for an interval: of those the slowest has to meet the goal.
const bench::Bench kBench{"start",
                          "How soon the window and a large recording stand there",
                          "nothing",
                          {{"first_window", 500}, {"overview_most", 1000}, {"still_most", 100}},
                          5};

constexpr int kLimitMs = 90'000;

std::unique_ptr<window::MainWindow> makeWindow() {
  return std::make_unique<window::MainWindow>(session::LaunchOptions(), nullptr,
                                              window::MainWindow::Settings::kOff);
}

/// From nothing to the first painted window.
double firstWindowMs() {
  QElapsedTimer timer;
  timer.start();
  const auto window = makeWindow();
  window->show();
  QApplication::processEvents();
  window->repaint();
  return bench::sinceMs(timer);
}

struct Opened {
  double overviewMs = 0, wholeMs = 0, longestStillMs = 0;
};

Opened open(const std::filesystem::path& path) {
  const auto window = makeWindow();
  window->show();
  QApplication::processEvents();
  const auto* page = window->findChild<window::OpeningPage*>();
  Opened opened;
  bench::StillWatch watch;
  QElapsedTimer timer;
  watch.start();
  timer.start();
  window->openInBackground(path);
  const auto shown = [&] { return window->currentRun().showsFile(); };
  if (!bench::waitUntil([&] { return page->showsOverview() || shown(); }, kLimitMs)) {
    throw std::runtime_error("the recording was not opened");
  }
  QApplication::processEvents();
  window->repaint();
  opened.overviewMs = bench::sinceMs(timer);
  if (!bench::waitUntil(shown, kLimitMs)) {
    throw std::runtime_error("the recording was not read to its end");
  }
  QApplication::processEvents();
  window->repaint();
  QApplication::processEvents();
  opened.wholeMs = bench::sinceMs(timer);
  opened.longestStillMs = watch.longestMs();
  return opened;
}

void measure(const Choices& choices, int rounds, bench::Report& report) {
  std::vector<double> first;
  firstWindowMs();  // the first of all loads the fonts
  for (int i = 0; i < rounds; ++i) {
    first.push_back(firstWindowMs());
  }
  report.rows.push_back({"first_window", "without settings", "ms", bench::estimate(first)});

  QTemporaryDir folder;
  std::filesystem::path path = choices.recording;
  if (path.empty()) {
    path = folder.filePath(QStringLiteral("large.highwater")).toStdString();
    // A step of 1000 ops takes some 14 KiB.
    const auto made = test::writeLargeRecording(path, {.steps = choices.mebibytes * 1024 / 14});
    if (!made) {
      throw std::runtime_error(made.error().message);
    }
  }
  const auto size = std::to_string(std::filesystem::file_size(path) >> 20) + " MiB";
  std::vector<double> overview, whole, still;
  for (int i = 0; i < std::min(rounds, 3); ++i) {
    const Opened opened = open(path);
    overview.push_back(opened.overviewMs);
    whole.push_back(opened.wholeMs);
    still.push_back(opened.longestStillMs);
  }
  for (const auto& [name, values] :
       {std::pair("overview", overview), std::pair("whole", whole), std::pair("still", still)}) {
    report.rows.push_back({name, size, "ms", bench::estimate(values)});
    report.rows.push_back(bench::quantile(std::string(name) + "_most", size, "ms", values, 1));
  }
}

}  // namespace

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QStandardPaths::setTestModeEnabled(true);
  QApplication qt(argc, argv);
  Choices choices;
  bench::Harness harness(kBench);
  CLI::App& options = harness.options();
  options.add_option("--mebibytes", choices.mebibytes, "size of the recording that is made");
  options.add_option("--recording", choices.recording, "opens this one instead");
  return harness.run(argc, argv,
                     [&](bench::Report& report) { measure(choices, harness.rounds(), report); });
}
