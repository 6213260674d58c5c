// The time of a frame: all panes of the window, redrawn whole, at six zooms of an hour-long run,
// beside QCustomPlot's own graphs and items with the same data. docs/performance.md has the
// figures.

#include <malloc.h>

#include <CLI/CLI.hpp>
#include <QApplication>
#include <QElapsedTimer>
#include <QMainWindow>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <random>

#include "bench/harness.h"
#include "bench/watch.h"
#include "qcustomplot.h"
#include "support/sample_run.h"

#include "models/tuning_state.h"
#include "views/panes/event_focus.h"
#include "views/panes/pane_stack.h"
#include "views/panes/time_axis.h"
#include "views/panes/timeline_pane.h"
#include "views/theme.h"
#include "window/bottom_tables.h"
#include "window/findings_dock.h"
#include "window/window_docks.h"

using namespace highwater;
using views::TimeRange;

namespace {

const bench::Bench kBench{"frame",
                          "The time of a frame beside QCustomPlot's graphs and items",
                          "QCustomPlot 2.1",
                          {{"frame", 8},
                           {"cursor", 1},
                           // Close up QCustomPlot has few points to draw.
                           {"memory_over_graphs", 1.0 / 20, ", 1 h"},
                           {"timeline_over_items", 1.0 / 20},
                           {"frame_over_stock", 1.0 / 20},
                           {"range_drag", 8},
                           {"range_drag_most", 8},
                           {"bytes_a_sample", 16},
                           {"bytes_an_op", 32},
                           {"bytes_a_span", 32}},
                          15};

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kRunNs = 3600 * kSecond;
constexpr QSize kWindow(1600, 900);
constexpr int kLanes = 16, kThreads = 4;
constexpr int kOpNames = 40, kModules = 12;
constexpr std::int64_t kStepNs = kSecond / 10;
constexpr std::array<events::Phase, 6> kPhases = {
    events::Phase::BatchAssembly, events::Phase::DeviceMove, events::Phase::Forward,
    events::Phase::LossRead,      events::Phase::Backward,   events::Phase::OptimizerStep};

struct Choices {
  std::size_t samples = 10'000'000;
  std::size_t spans = 1'000'000;
  std::size_t stockSpans = 200'000;
  bool onlyDrag = false;
  std::string zoom;  ///< only this one, to profile; empty: all, and a drag
};

enum class Curve { kSmooth, kSawtooth, kRandom };
constexpr std::array<std::pair<Curve, const char*>, 3> kCurves = {
    {{Curve::kSmooth, "smooth"}, {Curve::kSawtooth, "sawtooth"}, {Curve::kRandom, "random"}}};

struct Zoom {
  const char* name;
  TimeRange range;
};

/// From the whole run down to 0.36 s, each a tenth of the one before, around the same moment.
std::vector<Zoom> zooms() {
  static constexpr std::array<const char*, 5> kNames = {"1 h", "6 min", "36 s", "3.6 s", "0.36 s"};
  std::vector<Zoom> all;
  std::int64_t length = kRunNs;
  for (const char* name : kNames) {
    const std::int64_t begin = (kRunNs - length) / 10 * 6;
    all.push_back({name, {begin, begin + length}});
    length /= 10;
  }
  // A whole run that is just being looked at from its end.
  all.insert(all.begin() + 1, {"20 min", {kRunNs - kRunNs / 3, kRunNs}});
  return all;
}

double bytesAt(Curve curve, std::int64_t ns, std::mt19937_64& random) {
  constexpr double kGiB = 1024.0 * 1024 * 1024;
  const double s = static_cast<double>(ns) / 1e9;
  switch (curve) {
    case Curve::kSmooth:
      return (2 + std::sin(s / 40) + 0.3 * std::sin(s * 3)) * kGiB;
    case Curve::kSawtooth:
      return (1 + 2 * std::fmod(s, 0.1) / 0.1) * kGiB;
    case Curve::kRandom:
      return (1 + 2 * std::generate_canonical<double, 53>(random)) * kGiB;
  }
  return 0;
}

/// Bytes that the heap holds.
double heapBytes() {
  const auto info = mallinfo2();
  return static_cast<double>(info.uordblks) + static_cast<double>(info.hblkhd);
}

void addSamples(analysis::LiveStore& store, Curve curve, std::size_t count) {
  std::mt19937_64 random(11);
  constexpr std::size_t kBatch = 10'000;
  for (std::size_t i = 0; i < count;) {
    test::OwnedBatch batch;
    for (std::size_t k = 0; k < kBatch && i < count; ++k, ++i) {
      const auto ns = static_cast<std::int64_t>(
          static_cast<double>(kRunNs) * static_cast<double>(i) / static_cast<double>(count));
      const auto current = static_cast<std::uint64_t>(bytesAt(curve, ns, random));
      batch.memorySamples.emplace_back(ns, current, current + (1ULL << 30), 8ULL << 30,
                                       events::SampleOrigin::Timer);
    }
    store.apply(batch.view());
  }
}

/// The phase of a moment, as addSteps() lays them out on average.
events::Phase phaseAt(std::int64_t ns) {
  return kPhases[static_cast<std::size_t>(ns % kStepNs / 12'500'000) % kPhases.size()];
}

/// Spans of random lengths that fill half of their lane.
void addSpans(analysis::LiveStore& store, std::size_t count) {
  std::mt19937_64 random(12);
  const auto perLane = static_cast<std::int64_t>(count / kLanes);
  const std::int64_t stride = kRunNs / perLane;
  constexpr std::int64_t kBatch = 1000;
  for (std::int64_t i = 0; i < perLane;) {
    test::OwnedBatch batch;
    for (const std::int64_t end = std::min(i + kBatch, perLane); i < end; ++i) {
      for (int lane = 0; lane < kLanes; ++lane) {
        const auto length = static_cast<std::int64_t>(static_cast<double>(stride) *
                                                      std::generate_canonical<double, 53>(random));
        batch.ops.emplace_back(i * stride + lane, std::max<std::int64_t>(length, 1), 1 << 20, 0,
                               static_cast<std::uint32_t>(i / 50 + 1),
                               static_cast<NameId>(i % kOpNames + 1),
                               static_cast<ModuleId>(i / kOpNames % kModules + 1), kNoId,
                               static_cast<std::uint16_t>(lane % kThreads + 1),
                               static_cast<std::uint16_t>(lane / kThreads), phaseAt(i * stride),
                               static_cast<std::uint8_t>(0));
      }
    }
    store.apply(batch.view());
  }
}

/// Steps of 100 ms with their phases, a wait and, in every fourth, a fallback.
void addSteps(analysis::LiveStore& store) {
  std::mt19937_64 random(13);
  for (std::uint32_t step = 1; step <= kRunNs / kStepNs; ++step) {
    test::OwnedBatch batch;
    const std::int64_t begin = (step - 1) * kStepNs;
    std::int64_t at = begin;
    for (const events::Phase phase : kPhases) {
      const auto length = static_cast<std::int64_t>(10'000'000 + random() % 5'000'000);
      batch.phases.emplace_back(at, length, step, static_cast<std::uint16_t>(1), phase);
      at += length;
    }
    batch.steps.emplace_back(begin, kStepNs, 2ULL << 30, 3ULL << 30, kStepNs / 2, step, 16u, 64u,
                             1024u, 0.5F, static_cast<std::uint8_t>(step % 10 == 0),
                             static_cast<std::uint8_t>(0));
    batch.syncPoints.emplace_back(begin + 30'000'000, 8'000'000, 4, step, 1, kNoId, kNoId,
                                  static_cast<std::uint16_t>(1), events::SyncKind::ScalarRead,
                                  events::Phase::Forward, static_cast<std::uint8_t>(step % 2));
    batch.completeUpToNs = begin + kStepNs;
    store.apply(batch.view());
  }
}

using Milliseconds = std::vector<double>;

template <typename F>
double timed(F&& work) {
  QElapsedTimer timer;
  timer.start();
  work();
  return static_cast<double>(timer.nsecsElapsed()) / 1e6;
}

/// The panes of the window on an axis of their own, and a timeline with a row for each lane of
/// ops, which stands for the stack's own: that has as many rows as its height lets it.
class Panes {
 public:
  explicit Panes(const analysis::LiveStore& store)
      : focus_(&store, &axis_), stack_(&store, &axis_, &focus_), lanes_(&store, &axis_, &focus_) {
    axis_.setExtent({0, store.completeUpToNs()});
    stack_.resize(kWindow);
    stack_.show();
    lanes_.setMostOpRows(kLanes);
    lanes_.resize(kWindow.width(), lanes_.height());
    lanes_.show();
    QApplication::processEvents();
    panes_ = stack_.findChildren<views::TimePane*>();
    const auto own = std::find_if(panes_.begin(), panes_.end(), [](views::TimePane* pane) {
      return qobject_cast<views::TimelinePane*>(pane) != nullptr;
    });
    *own = &lanes_;
  }

  void show(TimeRange range) {
    axis_.setVisible(range);
    QApplication::processEvents();
  }
  /// Draws every pane whole and brings it to the screen; the time of each, by its name.
  std::vector<std::pair<QString, double>> draw() {
    std::vector<std::pair<QString, double>> times;
    for (views::TimePane* pane : panes_) {
      times.emplace_back(pane->objectName(), timed([pane] {
                           pane->renderNow();
                           pane->repaint();
                         }));
    }
    return times;
  }
  /// Moves the cursor through all panes.
  double moveCursor(std::int64_t ns) {
    return timed([&] {
      axis_.setCursor(ns);
      emit axis_.frames().frame();
      QApplication::processEvents();  // paints what the frame has outdated
    });
  }

 private:
  views::TimeAxis axis_;
  views::EventFocus focus_;
  views::PaneStack stack_;
  views::TimelinePane lanes_;
  QList<views::TimePane*> panes_;
};

/// The docks around the panes: the numbers, findings and tables of the selected range.
class Docks {
 public:
  explicit Docks(const analysis::LiveStore& store)
      : focus_(&store, &axis_),
        tuning_(&store),
        docks_(&window_, &store, &axis_, &focus_, &tuning_) {
    axis_.setExtent({0, store.completeUpToNs()});
    window_.resize(kWindow);
    window_.show();
    docks_.refresh();
    QApplication::processEvents();
  }

  /// Serves events until the ops of the run are counted.
  void finishCounting() {
    if (!bench::waitUntil([this] { return !docks_.tables()->isCounting(); }, 60'000)) {
      qFatal("the ops were still being counted after a minute");
    }
  }

  /// Selects a range, as one step of a drag does, until all numbers of it are painted.
  double drag(TimeRange range) {
    return timed([&] {
      axis_.select(range.beginNs, range.endNs);
      docks_.refresh();
      QApplication::processEvents();
    });
  }
  /// The findings of the range, which follow when a drag rests.
  double check() {
    return timed([this] {
      docks_.findings()->checkNow();
      QApplication::processEvents();
    });
  }
  /// The longest that the window's thread stands still while the findings of a range are made.
  double longestTurn(TimeRange range) {
    bool checked = false;
    const auto connection = QObject::connect(docks_.findings(), &window::FindingsDock::checked,
                                             [&] { checked = true; });
    axis_.select(range.beginNs, range.endNs);
    docks_.refresh();
    QApplication::processEvents();
    bench::StillWatch watch;
    watch.start();
    if (!bench::waitUntil([&] { return checked; }, 60'000)) {
      qFatal("a check for findings was not complete after a minute");
    }
    QApplication::processEvents();
    QObject::disconnect(connection);
    return watch.longestMs();
  }

 private:
  QMainWindow window_;
  views::TimeAxis axis_;
  views::EventFocus focus_;
  models::TuningState tuning_;
  window::WindowDocks docks_;
};

/// What QCustomPlot draws with the same data: a graph for each series, a rectangle for each span.
class Stock {
 public:
  explicit Stock(const analysis::LiveStore& store) {
    plot_.resize(kWindow);
    plot_.setNoAntialiasingOnDrag(true);
    const auto& memory = store.memory();
    for (const analysis::SeriesPyramid* series :
         {&memory.current, &memory.driver, &memory.recommended}) {
      QVector<QCPGraphData> points(static_cast<qsizetype>(series->size()));
      for (std::size_t i = 0; i < series->size(); ++i) {
        points[static_cast<qsizetype>(i)] = {static_cast<double>(memory.timesNs[i]), (*series)[i]};
      }
      plot_.addGraph()->data()->set(points, true);
    }
    plot_.yAxis->setRange(0, 8.0 * (1 << 30));
    plot_.show();
  }
  double draw(TimeRange range) {
    plot_.xAxis->setRange(static_cast<double>(range.beginNs), static_cast<double>(range.endNs));
    return timed([this] { plot_.replot(QCustomPlot::rpImmediateRefresh); });
  }

 private:
  QCustomPlot plot_;
};

class StockSpans {
 public:
  StockSpans(const analysis::LiveStore& store, std::size_t count) {
    plot_.resize(kWindow);
    plot_.setAutoAddPlottableToLegend(false);
    const auto& ops = store.ops();
    for (std::size_t row = ops.firstRow; row < std::min(ops.endRow(), ops.firstRow + count);
         ++row) {
      const events::OpSpan& op = *ops.at(row);
      auto* item = new QCPItemRect(&plot_);
      const double lane = op.thread() * kThreads + op.depth();
      item->topLeft->setCoords(static_cast<double>(op.begin_ns()), lane + 0.9);
      item->bottomRight->setCoords(static_cast<double>(op.begin_ns() + op.duration_ns()), lane);
      item->setPen(Qt::NoPen);
      item->setBrush(Qt::blue);
      endNs_ = op.begin_ns() + op.duration_ns();
    }
    plot_.yAxis->setRange(0, 30);
    plot_.show();
  }
  /// Draws the spans that a zoom of `length` holds: the items are those of the run's beginning.
  double draw(std::int64_t length) {
    plot_.xAxis->setRange(0, static_cast<double>(std::min(length, endNs_)));
    return timed([this] { plot_.replot(QCustomPlot::rpImmediateRefresh); });
  }

 private:
  QCustomPlot plot_;
  std::int64_t endNs_ = 0;
};

/// The most bytes that a lane takes for a span, with the sums by category that it is drawn from,
/// while it grows: the columns have some room to spare.
double mostBytesASpan() {
  constexpr std::uint32_t kLeast = 100'000, kMost = 1'000'000, kBetween = 5'000;
  const double empty = heapBytes();
  analysis::SpanIndex lane;
  double most = 0;
  for (std::uint32_t i = 0; i < kMost; ++i) {
    const std::int64_t begin = std::int64_t{i} * 1000;
    lane.append({begin, begin + 900, i, static_cast<std::uint8_t>(kPhases[i % kPhases.size()])});
    if (i + 1 >= kLeast && (i + 1) % kBetween == 0) {
      lane.prepare();
      most = std::max(most, (heapBytes() - empty) / (i + 1));
    }
  }
  return most;
}

/// Each range is nearly the whole run, the costliest to count, and none is as the one before.
void measureDrag(const analysis::LiveStore& store, int rounds, bench::Report& report) {
  Docks docks(store);
  // The ops of the run are still being counted, in turns between the events of the drag.
  report.rows.push_back(bench::exact("range_drag_while_opening", "1 h", "ms",
                                     docks.drag({3'000'000, kRunNs - 5'000'000})));
  docks.finishCounting();
  Milliseconds drags, checks, turns;
  for (int round = 1; round <= rounds; ++round) {
    drags.push_back(docks.drag({round * 7'000'000, kRunNs - round * 11'000'000}));
    checks.push_back(docks.check());
    turns.push_back(docks.longestTurn({round * 8'000'000, kRunNs - round * 12'000'000}));
  }
  const std::string setting = "1 h";
  report.rows.push_back({"range_drag", setting, "ms", bench::estimate(drags)});
  report.rows.push_back(bench::quantile("range_drag_most", setting, "ms", drags, 1));
  report.rows.push_back({"range_findings", setting, "ms", bench::estimate(checks)});
  report.rows.push_back({"range_findings_turn", setting, "ms", bench::estimate(turns)});
  report.rows.push_back(bench::quantile("range_findings_turn_most", setting, "ms", turns, 1));
}

void measure(const Choices& choices, int rounds, bench::Report& report) {
  for (const auto& [curve, curveName] : kCurves) {
    analysis::LiveStore store;
    const double empty = heapBytes();
    addSamples(store, curve, choices.samples);
    const double withSamples = heapBytes();
    addSpans(store, choices.spans);
    const double withSpans = heapBytes();
    addSteps(store);
    if (curve == kCurves.front().first) {
      const auto perSample = (withSamples - empty) / static_cast<double>(choices.samples) / 3;
      report.rows.push_back(bench::exact("bytes_a_sample", "a series of three", "B", perSample));
      report.rows.push_back(
          bench::exact("bytes_an_op", "ops of 16 lanes", "B",
                       (withSpans - withSamples) / static_cast<double>(choices.spans)));
      report.rows.push_back(
          bench::exact("bytes_a_span", "a lane of 6 categories, most", "B", mostBytesASpan()));
    }
    const bool drag = curve == kCurves.front().first && choices.zoom.empty();
    if (drag) measureDrag(store, rounds, report);
    if (choices.onlyDrag) return;
    Panes panes(store);
    std::optional<Stock> stock;
    if (choices.stockSpans > 0) {
      stock.emplace(store);
    }
    std::map<std::string, std::pair<Milliseconds, double>> frames;  // by zoom, with the graphs
    for (const Zoom& zoom : zooms()) {
      if (!choices.zoom.empty() && choices.zoom != zoom.name) continue;
      const std::string setting = std::string(curveName) + ", " + zoom.name;
      panes.show(zoom.range);
      Milliseconds all, hover;
      std::map<QString, Milliseconds> byPane;
      panes.draw();
      for (int round = 0; round < rounds; ++round) {
        double sum = 0;
        for (const auto& [name, ms] : panes.draw()) {
          sum += ms;
          byPane[name].push_back(ms);
        }
        all.push_back(sum);
        hover.push_back(panes.moveCursor(zoom.range.beginNs + round * 1'000'000));
      }
      report.rows.push_back({"frame", setting, "ms", bench::estimate(all)});
      report.rows.push_back({"cursor", setting, "ms", bench::estimate(hover)});
      for (auto& [name, times] : byPane) {
        report.rows.push_back({name.toStdString(), setting, "ms", bench::estimate(times)});
      }
      if (!stock) {
        continue;
      }
      Milliseconds graphs, ratios;
      for (int round = 0; round < std::min(rounds, 5); ++round) {
        graphs.push_back(stock->draw(zoom.range));
      }
      const double graphMs = bench::medianOf(graphs);
      for (const double ms : byPane[QStringLiteral("memoryPane")]) {
        ratios.push_back(ms / graphMs);
      }
      frames[zoom.name] = {all, graphMs};
      report.rows.push_back({"stock_graphs", setting, "ms", bench::estimate(graphs)});
      report.rows.push_back({"memory_over_graphs", setting, "×", bench::estimate(ratios)});
    }
    if (curve == kCurves.front().first && choices.stockSpans > 0) {
      StockSpans items(store, choices.stockSpans);
      for (const Zoom& zoom : zooms()) {
        const std::int64_t length = zoom.range.endNs - zoom.range.beginNs;
        panes.show({0, length});
        Milliseconds lanes, stockTimes;
        for (int round = 0; round < rounds; ++round) {
          for (const auto& [name, ms] : panes.draw()) {
            if (name == QLatin1String("timelinePane")) {
              lanes.push_back(ms);
            }
          }
        }
        for (int round = 0; round < 3; ++round) {
          stockTimes.push_back(items.draw(length));
        }
        const double itemMs = bench::medianOf(stockTimes);
        Milliseconds ratios;
        for (const double ms : lanes) {
          ratios.push_back(ms / itemMs);
        }
        report.rows.push_back({"timeline", zoom.name, "ms", bench::estimate(lanes)});
        report.rows.push_back({"stock_items", zoom.name, "ms", bench::estimate(stockTimes)});
        report.rows.push_back({"timeline_over_items", zoom.name, "×", bench::estimate(ratios)});
        ratios.clear();
        for (const double ms : frames[zoom.name].first) {
          ratios.push_back(ms / (frames[zoom.name].second + itemMs));
        }
        if (ratios.empty()) continue;  // this zoom was not asked for
        report.rows.push_back({"frame_over_stock", zoom.name, "×", bench::estimate(ratios)});
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication qt(argc, argv);
  QApplication::setPalette(views::Theme::dark().palette());
  Choices choices;
  bench::Harness harness(kBench);
  CLI::App& options = harness.options();
  options.add_option("--samples", choices.samples, "memory samples of three series each");
  options.add_option("--spans", choices.spans, "ops in 16 lanes");
  options.add_option("--stock-spans", choices.stockSpans,
                     "those that QCustomPlot draws as items; 0: without QCustomPlot");
  options.add_flag("--only-drag", choices.onlyDrag, "only the numbers of a dragged range");
  options.add_option("--zoom", choices.zoom, "only this zoom, to profile it: \"1 h\", \"36 s\"");
  return harness.run(argc, argv,
                     [&](bench::Report& report) { measure(choices, harness.rounds(), report); });
}
