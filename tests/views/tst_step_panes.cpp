// Step time, throughput and loss: lines that stay connected, scales that one step does not spoil;
// and the panes that are shown on demand.
#include <QAction>
#include <QApplication>
#include <QRegularExpression>
#include <QTest>
#include <QToolButton>
#include <QToolTip>
#include <cmath>
#include <random>

#include "analysis/step_events.h"
#include "support/pane_bench.h"
#include "support/test_program.h"
#include "views/panes/memory_pane.h"
#include "views/panes/pane_picture.h"
#include "views/panes/pane_stack.h"
#include "views/panes/step_panes.h"
#include "views/panes/system_pane.h"

using namespace highwater;
using namespace highwater::views;
using test::kMs;
using test::PaneBench;
using test::render;

namespace {

/// Steps of the given lengths in ms, each after a pause.
test::OwnedBatch stepsOf(const std::vector<std::pair<int, int>>& pausesAndLengths) {
  test::OwnedBatch batch;
  std::int64_t ns = 0;
  std::uint32_t step = 0;
  for (const auto& [pause, length] : pausesAndLengths) {
    ns += pause * kMs;
    batch.steps.emplace_back(ns, length * kMs, 1, 1, -1, ++step, 16, 64, 1024, 0.5F, 0, 0);
    ns += length * kMs;
  }
  batch.completeUpToNs = ns;
  return batch;
}

const StepPlottable& plottableOf(QCustomPlot& pane) {
  for (int i = 0; i < pane.plottableCount(); ++i) {
    if (auto* found = dynamic_cast<StepPlottable*>(pane.plottable(i))) return *found;
  }
  qFatal("no plottable of steps");
}

}  // namespace

class TestStepPanes : public QObject {
  Q_OBJECT

 private slots:
  void longStepsAreInSeconds_data() {
    QTest::addColumn<int>("ms");
    QTest::addColumn<QString>("unit");
    QTest::newRow("short") << 40 << "ms";
    QTest::newRow("long") << 20'000 << "s";
  }
  void longStepsAreInSeconds() {
    QFETCH(const int, ms);
    QFETCH(const QString, unit);
    PaneBench bench;
    bench.apply(stepsOf({{0, ms}, {0, ms}, {0, ms}, {0, ms}}));
    StepTimePane pane(&bench.store, &bench.axis, &bench.focus);
    pane.resize(800, 200);
    pane.show();
    pane.renderNow();
    const QString svg = QString::fromUtf8(paneSvg(pane));
    // A label of the axis has no decimals here; the readout has.
    const QRegularExpression label(QStringLiteral(">\\s*\\d+ %1\\s*<").arg(unit));
    QVERIFY2(svg.contains(label), qPrintable(svg.right(4000)));
    QVERIFY(!svg.contains("e+0"));
  }

  void initTestCase() { QApplication::setPalette(Theme::dark().palette()); }

  void pinnedRangesHaveTheirMedian() {
    PaneBench bench;
    std::vector<std::pair<int, int>> lengths(10, {0, 100});
    lengths.insert(lengths.end(), 10, {0, 40});
    bench.apply(stepsOf(lengths));
    StepTimePane pane(&bench.store, &bench.axis, &bench.focus);
    QVERIFY(!pane.pinnedMedian(Pin::kA));
    bench.axis.select(0, 1000 * kMs);
    bench.axis.pinSelection(Pin::kA);
    bench.axis.select(1000 * kMs, 1400 * kMs);
    bench.axis.pinSelection(Pin::kB);
    QCOMPARE(pane.pinnedMedian(Pin::kA), std::optional(100.0));
    QCOMPARE(pane.pinnedMedian(Pin::kB), std::optional(40.0));
    render(pane, {1000, 120});
    // Another run has other numbers at the same rows.
    std::vector<std::pair<int, int>> other(20, {0, 70});
    bench.store = analysis::LiveStore();
    bench.apply(stepsOf(other));
    QCOMPARE(pane.pinnedMedian(Pin::kA), std::optional(70.0));
    bench.axis.select(0, 50 * kMs);
    bench.axis.pinSelection(Pin::kA);
    QVERIFY(!pane.pinnedMedian(Pin::kA));  // no whole step
  }

  /// Each column holds what its steps have, and begins where the one before it ended.
  void theLineAgreesWithAFullWalk_data() {
    QTest::addColumn<unsigned>("seed");
    for (unsigned seed = 0; seed < 10; ++seed) QTest::addRow("seed %u", seed) << seed;
  }

  void theLineAgreesWithAFullWalk() {
    QFETCH(unsigned, seed);
    std::mt19937 random(seed);
    std::vector<std::pair<int, int>> lengths;
    for (int i = 0; i < 3000; ++i) {
      const bool slow = random() % 100 == 0, pause = random() % 200 == 0;
      lengths.emplace_back(pause ? 3000 : 0, slow ? 900 : int(random() % 20));
    }
    PaneBench bench;
    bench.apply(stepsOf(lengths));
    const auto& steps = bench.store.steps();
    const std::int64_t runNs = bench.store.completeUpToNs();
    const std::int64_t beginNs = seed % 2 == 0 ? 0 : runNs / 3;
    const TimeScale scale{{beginNs, seed % 2 == 0 ? runNs : runNs / 2}, 100, 400};
    constexpr double kPausePixels = 4;
    const std::vector<LineColumn> columns =
        lineColumns(steps, steps.tokensPerS, scale, kPausePixels);
    const auto pauseNs = static_cast<std::int64_t>(kPausePixels * scale.nsPerPixel());
    std::vector<LineColumn> wanted;
    double before = std::nan("");
    std::int64_t untilNs = 0;
    for (int column = 0; column < 400; ++column) {
      const std::int64_t from = scale.timeAt(100 + column), to = scale.timeAt(101 + column);
      double low = INFINITY, high = -INFINITY;
      bool any = false;
      for (std::size_t i = 0; i < steps.lane.size(); ++i) {
        const analysis::Span& span = steps.lane[i];
        const bool first = column == 0 && span.beginNs < from && span.endNs > from;
        if (!(span.beginNs >= from && span.beginNs < to) && !first) continue;
        if (!any && span.beginNs - untilNs > pauseNs) before = std::nan("");
        any = true;
        if (std::isnan(steps.tokensPerS[i])) continue;
        if (!std::isnan(before)) {
          low = std::min(low, before);
          high = std::max(high, before);
        }
        low = std::min(low, steps.tokensPerS[i]);
        high = std::max(high, steps.tokensPerS[i]);
        before = steps.tokensPerS[i];
        untilNs = span.endNs;
      }
      if (!any && from - untilNs > pauseNs) before = std::nan("");
      if (low > high && !std::isnan(before)) low = high = before;
      if (low <= high) wanted.push_back({column, low, high});
    }
    QCOMPARE(columns.size(), wanted.size());
    for (std::size_t i = 0; i < columns.size(); ++i) {
      QCOMPARE(columns[i].column, wanted[i].column);
      QCOMPARE(columns[i].low, wanted[i].low);
      QCOMPARE(columns[i].high, wanted[i].high);
      if (i > 0 && columns[i].column == columns[i - 1].column + 1 && columns[i].column < 400) {
        // Connected: the ranges of neighbours meet, unless training paused between them.
        const bool meet =
            columns[i].low <= columns[i - 1].high && columns[i - 1].low <= columns[i].high;
        if (!meet) QVERIFY(std::isnan(before) || pauseNs < 3000 * kMs);
      }
    }
  }

  void oneCutStepLeavesTheScaleAndGetsAMark() {
    std::vector<std::pair<int, int>> lengths(40, {0, 240});
    lengths[20].second = 60'000;  // cut by a pause
    PaneBench bench;
    bench.apply(stepsOf(lengths));
    bench.axis.setVisible({0, bench.store.completeUpToNs()});
    StepTimePane pane(&bench.store, &bench.axis, &bench.focus);
    render(pane, {1000, 96});
    QVERIFY(pane.yAxis->range().upper < 600);
    QCOMPARE(plottableOf(pane).beyondTop().size(), std::size_t{1});
    const double x = plottableOf(pane).beyondTop().front();
    const analysis::Span& cut = bench.store.steps().lane[20];
    QVERIFY(x > pane.scale().pixelAt(cut.beginNs) && x < pane.scale().pixelAt(cut.endNs));
    // A step of a millisecond, for the throughput.
    lengths[20].second = 1;
    PaneBench fast;
    fast.apply(stepsOf(lengths));
    ThroughputPane rate(&fast.store, &fast.axis, &fast.focus);
    render(rate, {1000, 82});
    QVERIFY(rate.yAxis->range().upper < 3 * 1024 / 0.24);
    QCOMPARE(plottableOf(rate).beyondTop().size(), std::size_t{1});
  }

  /// Zoomed out, a pixel column has the longest of its steps, and from below the most time that
  /// fallbacks and unplanned waits took of one.
  void barsAtADistanceAgreeWithAFullWalk() {
    std::mt19937 random(5);
    std::vector<std::pair<int, int>> lengths;
    for (int i = 0; i < 3000; ++i) lengths.emplace_back(0, 10 + int(random() % 10));
    for (const std::size_t slow : {700U, 1500U, 2999U}) lengths[slow].second = 25 + int(slow) % 7;
    test::OwnedBatch batch = stepsOf(lengths);
    for (const events::StepRecord& step : batch.steps) {
      const std::int64_t third = step.duration_ns() / 3;
      if (random() % 8 == 0) {
        batch.fallbacks.emplace_back(step.begin_ns(), third, 0, 0, 0, step.step(), 1, kNoId, kNoId,
                                     std::uint16_t{1}, events::Phase::Forward);
      }
      if (random() % 4 == 0) {
        batch.syncPoints.emplace_back(step.begin_ns() + third, third, 4, step.step(), 1, kNoId,
                                      kNoId, std::uint16_t{1}, events::SyncKind::ScalarRead,
                                      events::Phase::Forward, std::uint8_t{0});
      }
    }
    PaneBench bench;
    bench.apply(batch);
    StepTimePane pane(&bench.store, &bench.axis, &bench.focus);
    const QImage image = render(pane, {600, 96});
    const TimeScale scale = pane.scale();
    const auto& steps = bench.store.steps();
    const Theme& theme = Theme::dark();
    const auto rowOf = [&pane](double ms) { return int(std::round(pane.yAxis->coordToPixel(ms))); };
    const int left = pane.plotRect().left(), width = pane.plotRect().width();
    int hatched = 0, waits = 0;
    for (int column = 2; column < width - 2; ++column) {  // the run's edges are lines
      const std::int64_t from = scale.timeAt(left + column), to = scale.timeAt(left + column + 1);
      double longest = 0, fallback = 0, wait = 0;
      for (std::size_t i = steps.lane.firstFrom(from); i < steps.lane.firstFrom(to); ++i) {
        longest = std::max(longest, steps.durationMs[i]);
        fallback = std::max(fallback, steps.fallbackMs[i]);
        wait = std::max(wait, steps.unplannedSyncMs[i]);
      }
      if (longest == 0) continue;
      const int top = rowOf(longest), floor = rowOf(0);
      const int fallbackTop = rowOf(std::min(fallback, longest));
      const int waitTop = rowOf(std::min(fallback + wait, longest));
      const auto at = [&](int y) { return image.pixelColor(left + column, y); };
      const QByteArray place = QByteArray::number(column);
      for (int y = pane.plotRect().top(); y < floor; ++y) {
        const bool isWait = y >= waitTop && y < fallbackTop;
        const bool isFallback = y >= fallbackTop && fallback > 0;
        const bool isPlain = y >= top && !isWait && !isFallback;
        QVERIFY2((at(y) == theme.orange) == isWait, place);
        QVERIFY2((at(y) == theme.neutralBar) == isPlain, place);
        waits += isWait;
        hatched += isFallback && at(y) == theme.vermillion;
      }
      if (fallback > 0 && waitTop < fallbackTop) QCOMPARE(at(fallbackTop), theme.plot);
    }
    QVERIFY(waits > 100 && hatched > 100);
  }

  void lossScalesHoldTheirValues() {
    std::mt19937 random(4);
    for (int round = 0; round < 2000; ++round) {
      const double size = std::pow(10.0, static_cast<double>(random() % 9) - 4);
      const double a = size * static_cast<double>(random() % 1000) / 1000;
      const double b =
          random() % 5 == 0 ? a : a + size * static_cast<double>(random() % 1000) / 900;
      const LossScale scale = makeLossScale(a, b);
      QVERIFY(scale.bottom < a && scale.top > b);
      QVERIFY(scale.tick > 0);
      const double labels =
          std::floor(scale.top / scale.tick) - std::ceil(scale.bottom / scale.tick) + 1;
      QVERIFY2(labels >= 1 && labels <= 6, qPrintable(QString::number(labels)));
      if (scale.decimals < 6) {  // two labels never read the same
        QVERIFY(scale.tick >= 0.999 * std::pow(10.0, -scale.decimals));
      }
    }
  }

  void aLossThatDivergedIsDrawnAsUnknown() {
    constexpr float kBad[] = {INFINITY, -INFINITY, NAN};
    for (const bool any : {true, false}) {
      test::OwnedBatch batch;
      for (std::uint32_t i = 0; i < 30; ++i) {
        const float loss = any && i < 20 ? 2.0F - 0.05F * static_cast<float>(i) : kBad[i % 3];
        batch.steps.emplace_back(i * 10 * kMs, 10 * kMs, 1, 1, -1, i + 1, 16, 64, 1024, loss, 1, 0);
      }
      batch.completeUpToNs = 300 * kMs;
      PaneBench bench;
      bench.apply(batch);
      QCOMPARE(bench.store.steps().lastLossRow.has_value(), any);
      LossPane pane(&bench.store, &bench.axis, &bench.focus);
      render(pane, {1000, 70});
      QVERIFY(std::isfinite(pane.yAxis->range().lower) && std::isfinite(pane.yAxis->range().upper));
      if (any) QVERIFY(pane.yAxis->range().lower < 1.05 && pane.yAxis->range().upper > 2);
    }
  }

  void theLossIsDrawnWhereItWasRead() {
    PaneBench bench;
    bench.feed({.steps = 60, .lossEvery = 5});
    QVERIFY(bench.store.steps().lastLossRow.has_value());
    LossPane pane(&bench.store, &bench.axis, &bench.focus);
    const QImage image = render(pane, {1000, 70});
    const auto& steps = bench.store.steps();
    int read = 0;
    for (std::size_t i = 0; i < steps.records.size(); ++i) {
      if (std::isnan(steps.loss[i])) continue;
      ++read;
      const int x = int(pane.scale().pixelAt(steps.lane[i].endNs));
      const int y = int(pane.yAxis->coordToPixel(steps.loss[i]));
      int near = 0;
      for (int dx = -2; dx <= 2; ++dx) {
        for (int dy = -2; dy <= 2; ++dy) {
          if (image.rect().contains(x + dx, y + dy)) {
            near += image.pixelColor(x + dx, y + dy).lightness() > 150;
          }
        }
      }
      QVERIFY2(near >= 2, qPrintable(QString("step %1").arg(i + 1)));
    }
    QCOMPARE(read, 12);
  }

  void readingsThatAreUnknownAreLeftOut() {
    PaneBench bench;
    bench.feed({.steps = 60});
    SystemPane pane(&bench.store, &bench.axis, &bench.focus);
    pane.refresh();
    const auto has = [&pane](SystemRow::Kind kind) {
      return std::any_of(pane.rows().begin(), pane.rows().end(),
                         [kind](const SystemRow& row) { return row.kind == kind; });
    };
    QVERIFY(has(SystemRow::Kind::kFootprint) && has(SystemRow::Kind::kAvailable));
    QVERIFY(!has(SystemRow::Kind::kGpu));
    QVERIFY(pane.leftOut().contains("GPU:"));
    PaneBench known;
    known.feed({.steps = 60, .gpuPercent = 75});
    SystemPane other(&known.store, &known.axis, &known.focus);
    other.refresh();
    QCOMPARE(other.rows().size(), pane.rows().size() + 1);
    QVERIFY(!other.leftOut().contains("GPU:"));
    render(other, {1000, other.height()});
    other.show();
    QVERIFY(QTest::qWaitForWindowExposed(&other, test::kWaitMs));
    QTest::mouseMove(&other, {20, 10});
    QTRY_VERIFY(QToolTip::isVisible());
    QVERIFY(QToolTip::text().contains("thermal: this recording is of an earlier version"));
  }

  /// Compressor, swap rate and thermal state have a row only if they say something.
  void rowsOfTheMachineComeWhenTheySaySomething() {
    using Kind = SystemRow::Kind;
    constexpr std::int64_t kMiBBytes = 1 << 20;
    enum class What { kCalm, kSwaps, kHot };
    const auto rowsOf = [&](What what, PaneBench& bench, SystemPane& pane) {
      test::OwnedBatch batch;
      for (std::int64_t i = 0; i <= 100; ++i) {
        const bool late = i > 50;
        const std::int64_t out = what == What::kSwaps && late ? (i - 50) * kMiBBytes : 0;
        const auto thermal = what == What::kHot && late ? events::ThermalState::Serious
                                                        : events::ThermalState::Nominal;
        batch.systemSamples.emplace_back(i * 100 * kMs, kMiBBytes, kMiBBytes, out, -1.0F,
                                         events::Pressure::Normal);
        batch.machineSamples.emplace_back(
            i * 100 * kMs, out, std::int64_t{0}, out, 5 * kMiBBytes, thermal,
            what == What::kHot && i > 75 ? events::PowerMode::Low : events::PowerMode::Normal);
      }
      batch.completeUpToNs = 10'000 * kMs;
      bench.apply(batch);
      pane.refresh();
      std::vector<Kind> kinds;
      for (const SystemRow& row : pane.rows()) kinds.push_back(row.kind);
      return kinds;
    };
    PaneBench calm, swaps, hot;
    SystemPane calmPane(&calm.store, &calm.axis, &calm.focus);
    QCOMPARE(rowsOf(What::kCalm, calm, calmPane),
             (std::vector{Kind::kFootprint, Kind::kAvailable, Kind::kSwap, Kind::kGpuMemory,
                          Kind::kPressure}));
    const QString out = calmPane.leftOut();
    for (const char* words : {"compressor: nothing was compressed", "swapping: nothing was swapped",
                              "thermal: the thermal state was nominal, and Low Power Mode off"}) {
      QVERIFY2(out.contains(words), qPrintable(out));
    }
    SystemPane swapsPane(&swaps.store, &swaps.axis, &swaps.focus);
    QCOMPARE(rowsOf(What::kSwaps, swaps, swapsPane),
             (std::vector{Kind::kFootprint, Kind::kAvailable, Kind::kCompressor, Kind::kSwap,
                          Kind::kSwapRate, Kind::kGpuMemory, Kind::kPressure}));
    SystemPane hotPane(&hot.store, &hot.axis, &hot.focus);
    QCOMPARE(rowsOf(What::kHot, hot, hotPane),
             (std::vector{Kind::kFootprint, Kind::kAvailable, Kind::kSwap, Kind::kGpuMemory,
                          Kind::kPressure, Kind::kThermal}));
    const SystemRow& row = hotPane.rows().back();
    render(hotPane, {1000, hotPane.height()});
    const int y = static_cast<int>(row.top + row.height) - 4;
    const QRect plot = hotPane.plotRect();
    // The word is read where the bar is.
    hotPane.show();
    QVERIFY(QTest::qWaitForWindowExposed(&hotPane, test::kWaitMs));
    QTest::mouseMove(&hotPane, {plot.left() + plot.width() * 9 / 10, y});
    QTRY_COMPARE(QToolTip::text(), QStringLiteral("thermal serious, Low Power Mode"));
  }

  /// Each by all samples: the last one may not know.
  void saysOnlyWhatOfHeatIsKnown() {
    using State = events::ThermalState;
    using Mode = events::PowerMode;
    const auto leftOut = [](State state, Mode mode) {
      PaneBench bench;
      test::OwnedBatch batch;
      for (std::int64_t i = 0; i <= 10; ++i) {
        const bool known = i < 10;
        batch.machineSamples.emplace_back(
            i * 100'000'000, std::int64_t{0}, std::int64_t{0}, std::int64_t{0}, std::int64_t{0},
            known ? state : State::Unknown, known ? mode : Mode::Unknown);
      }
      batch.completeUpToNs = 1'000'000'000;
      bench.apply(batch);
      SystemPane pane(&bench.store, &bench.axis, &bench.focus);
      pane.refresh();
      const QStringList lines = pane.leftOut().split('\n');
      const auto line = std::find_if(lines.begin(), lines.end(), [](const QString& each) {
        return each.contains("thermal: ");
      });
      return line == lines.end() ? QString() : line->mid(line->indexOf("thermal: "));
    };
    QCOMPARE(leftOut(State::Nominal, Mode::Normal),
             QString("thermal: the thermal state was nominal, and Low Power Mode off"));
    QCOMPARE(leftOut(State::Nominal, Mode::Unknown),
             QString("thermal: the thermal state was nominal"));
    QCOMPARE(leftOut(State::Unknown, Mode::Normal),
             QString("thermal: this machine does not report its thermal state; Low Power Mode was "
                     "off"));
    QCOMPARE(leftOut(State::Unknown, Mode::Unknown),
             QString("thermal: this machine does not report its thermal state"));
  }

  /// Hidden where memory needs the room; the user's choice counts, by the arrow or the action.
  void optionalPanesComeOnDemand() {
    PaneBench bench;
    bench.feed({.steps = 60});
    PaneStack stack(&bench.store, &bench.axis, &bench.focus);
    stack.refresh();
    stack.resize(1000, 640);
    stack.show();
    QVERIFY(QTest::qWaitForWindowExposed(&stack, test::kWaitMs));
    auto* system = stack.findChild<SystemPane*>();
    auto* loss = stack.findChild<LossPane*>();
    auto* memory = stack.findChild<MemoryPane*>();
    QVERIFY(!system->isVisible() && !loss->isVisible());
    auto* toggle = stack.findChild<QToolButton*>("systemPaneToggle");
    QTest::mouseClick(toggle, Qt::LeftButton);
    QTRY_VERIFY(system->isVisible());
    QVERIFY(stack.systemAction()->isChecked());
    QTRY_COMPARE(system->mapTo(&stack, QPoint()).y(),
                 memory->mapTo(&stack, QPoint()).y() + memory->height());
    QVERIFY(memory->height() >= 160);
    QTest::mouseClick(toggle, Qt::LeftButton);
    QTRY_VERIFY(!system->isVisible());
    stack.lossAction()->trigger();
    QTRY_VERIFY(loss->isVisible());
    stack.lossAction()->trigger();
    QTRY_VERIFY(!loss->isVisible());
    // The user's choice stays, whatever the room.
    stack.resize(1000, 1400);
    QTRY_COMPARE(stack.height(), 1400);
    QVERIFY(!loss->isVisible() && !system->isVisible());
    PaneStack roomy(&bench.store, &bench.axis, &bench.focus);
    roomy.refresh();
    roomy.resize(1000, 1400);
    roomy.show();
    QVERIFY(QTest::qWaitForWindowExposed(&roomy, test::kWaitMs));
    QVERIFY(roomy.findChild<SystemPane*>()->isVisible());
    QVERIFY(roomy.findChild<LossPane*>()->isVisible());
  }
};

HIGHWATER_TEST(TestStepPanes, QApplication)
#include "tst_step_panes.moc"
