#include <QDockWidget>
#include <QLabel>
#include <QMainWindow>
#include <QTest>

#include "analysis/run_summary.h"
#include "models/qt_text.h"
#include "support/sample_run.h"
#include "support/test_program.h"
#include "views/panels/selection_panel.h"
#include "views/panes/event_focus.h"
#include "views/panes/time_axis.h"
#include "window/window_docks.h"

using namespace highwater;

namespace {

/// The docks of a window on a run.
struct NumbersBench {
  analysis::LiveStore store;
  views::TimeAxis axis;
  views::EventFocus focus{&store, &axis};
  models::TuningState tuning{&store};
  QMainWindow window;
  window::WindowDocks docks{&window, &store, &axis, &focus, &tuning};

  explicit NumbersBench(const test::SampleRunOptions& options) {
    test::feed(test::makeSampleRun(options), store);
    axis.setExtent({0, store.completeUpToNs()}, 0);
  }

  /// What Ctrl+C copies of Selection, after a refresh.
  QString numbers(bool live) {
    docks.setLive(live);
    docks.refresh();
    return window.findChild<views::SelectionPanel*>("selectionPanel")->asText();
  }
};

}  // namespace

class TestLiveNumbers : public QObject {
  Q_OBJECT

 private slots:
  void aLiveRunShowsItsNewestSteps() {
    NumbersBench bench({.steps = 80, .doubleBatchAtStep = 0, .ended = false});
    const QString numbers = bench.numbers(true);
    QVERIFY2(numbers.startsWith("Newest 50 steps\tsteps 31\u201380, "), qPrintable(numbers));
    const auto& records = bench.store.steps().records;
    const auto expected = analysis::summarize(
        bench.store, analysis::TimeRange{records[30].begin_ns(),
                                         records[79].begin_ns() + records[79].duration_ns()});
    QVERIFY(numbers.contains("Step p50\t" + text(formatMs(expected.stepMsP50)) + '\n'));
    QVERIFY(numbers.contains('\t' + text(bench.store.rateText(expected.tokensPerS)) + '\n'));
    QVERIFY(numbers.contains("\nDriver allocated now\t"));
  }

  void anEndedRunShowsAllOfThem() {
    NumbersBench bench({.steps = 80});
    const QString numbers = bench.numbers(false);
    QVERIFY2(numbers.startsWith("Whole run, 2 settings\tsteps 1\u201380, "), qPrintable(numbers));
    QVERIFY(!numbers.contains("now"));
    QVERIFY(numbers.contains("\nHeld-out accuracy\t"));
  }

  /// A live run's numbers are of no step from before a change, and a selected range goes first.
  void theyBeginWithTheLastChange() {
    NumbersBench bench({.ended = false});
    QVERIFY(bench.numbers(true).startsWith("Since batch 16 \u2192 32\tsteps 30\u201360, "));
    const auto& records = bench.store.steps().records;
    bench.axis.select(records[4].begin_ns(), records[9].begin_ns());
    const QString numbers = bench.numbers(true);
    QVERIFY2(numbers.startsWith("Selected range\tsteps 5\u20139, "), qPrintable(numbers));
    QVERIFY(numbers.contains("\nDriver allocated now\t"));
  }

  void theQueueFillsFirst() {
    for (const std::uint32_t steps : {1U, 2U, 3U}) {
      NumbersBench bench({.steps = steps, .ended = false});
      const QString numbers = bench.numbers(true);
      QCOMPARE(numbers.contains("Throughput, mean\t\u2013\n"), steps < 3);
      QCOMPARE(numbers.contains("Step p50\t\u2013\n"), steps < 3);
    }
  }
};

HIGHWATER_TEST(TestLiveNumbers, QApplication)
#include "tst_live_numbers.moc"
