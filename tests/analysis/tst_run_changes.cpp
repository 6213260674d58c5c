#include "analysis/findings/run_changes.h"
#include "judged_run.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;
using namespace highwater::analysis;

namespace {

void mark(JudgedRun& run, std::uint32_t step, events::MarkerKind kind, double before,
          double after) {
  run.more.markers.emplace_back(JudgedRun::beginMs(step) * kMs - 1, before, after, step, kNoId,
                                kind);
}

std::vector<RunChange> changesOf(const JudgedRun& run, std::size_t most = 3) {
  LiveStore store;
  run.fill(store);
  return runChanges(store, most);
}

/// Its loader takes 25 of 45 ms until step 21.
JudgedRun fixedLoader() {
  JudgedRun run;
  run.stepMs = 20;
  run.deviceMs = 18;
  run.moreAssemblyMs = [](std::uint32_t step) { return step <= 20 ? 25 : 0; };
  mark(run, 21, events::MarkerKind::LossInterval, 5, 10);
  return run;
}

}  // namespace

class TestRunChanges : public QObject {
  Q_OBJECT

 private slots:
  void sayWhatAFixGained() {
    const auto changes = changesOf(fixedLoader());
    QCOMPARE(changes.size(), std::size_t{1});
    const RunChange& change = changes.front();
    QCOMPARE(change.firstStep, 21U);
    // Without steps 1 and 21.
    QCOMPARE(change.stepsBefore, std::size_t{19});
    QCOMPARE(change.stepsAfter, std::size_t{19});
    QCOMPARE(change.stepMs.a, 45.0);
    QCOMPARE(change.stepMs.b, 20.0);
    QVERIFY(change.stepMs.beyondNoise());
    QVERIFY(change.sameTokens);
    QVERIFY(std::abs(change.tokensPerS.a - 16 * 64 / 0.045) < 1);
    QCOMPARE(change.gone.size(), std::size_t{1});
    QCOMPARE(change.gone.front().kind, FindingKind::HostBound);
    QVERIFY(change.gone.front().gainMs->high >= 20);
  }

  void aFindingThatStaysIsNotGone() {
    JudgedRun run = fixedLoader();
    run.moreAssemblyMs = [](std::uint32_t step) { return step <= 20 ? 25 : 24; };
    const auto changes = changesOf(run);
    QCOMPARE(changes.size(), std::size_t{1});
    QVERIFY(changes.front().gone.empty());
  }

  void stepsOfOtherSizesDoNotCompare() {
    JudgedRun run;
    run.batchSize = [](std::uint32_t step) { return step <= 20 ? 16 : 32; };
    run.driver = [](std::uint32_t step) { return (step <= 20 ? 200 : 300) * kMiB; };
    mark(run, 21, events::MarkerKind::BatchSize, 16, 32);
    const auto changes = changesOf(run);
    QCOMPARE(changes.size(), std::size_t{1});
    QVERIFY(!changes.front().sameTokens);
    QVERIFY(std::abs(changes.front().tokensPerS.b / changes.front().tokensPerS.a - 2) < 1e-9);
    QCOMPARE(changes.front().driverPeakBytes.change(), 100.0 * kMiB);
  }

  void theNewestFirstAndNoShortOnes() {
    JudgedRun run;
    for (const std::uint32_t step : {10U, 20U, 23U, 33U}) {
      mark(run, step, events::MarkerKind::LossInterval, step, step + 1);
    }
    const auto changes = changesOf(run);
    // Between 20 and 23 are two steps that count.
    QCOMPARE(changes.size(), std::size_t{2});
    QCOMPARE(changes[0].firstStep, 33U);
    QCOMPARE(changes[1].firstStep, 10U);
    QCOMPARE(changesOf(run, 1).size(), std::size_t{1});
  }

  /// A try turns a knob to and fro, and has a result of its own.
  void noneOfATry() {
    LiveStore store;
    const JudgedRun run = fixedLoader();
    run.fill(store);
    const auto note = [&store](std::uint32_t step, std::string_view text) {
      store.apply(Note{JudgedRun::beginMs(step) * kMs, step, std::string(text), 0});
    };
    QCOMPARE(runChanges(store, 3).size(), std::size_t{1});
    note(14, kTriesOld);
    note(20, kTriesNew);
    note(26, kTriedEnough);
    QVERIFY(runChanges(store, 3).empty());
  }

  void recordingOpsDividesStepsOnly() {
    JudgedRun run;
    mark(run, 15, events::MarkerKind::ProbeLevel, 1, 2);
    QVERIFY(changesOf(run).empty());
    mark(run, 30, events::MarkerKind::LossInterval, 5, 10);
    const auto changes = changesOf(run);
    QCOMPARE(changes.size(), std::size_t{1});
    QCOMPARE(changes.front().stepsBefore, std::size_t{14});  // 16 to 29
  }

  /// In parts the same is found, and changes whose steps are complete are compared once.
  void changesAreKnownOnceTheirStepsAreComplete() {
    JudgedRun run;
    for (const std::uint32_t step : {10U, 20U, 30U}) {
      mark(run, step, events::MarkerKind::LossInterval, step, step + 1);
    }
    LiveStore store;
    run.fill(store);
    OwnedBatch last;
    last.completeUpToNs = JudgedRun::beginMs(run.steps + 1) * kMs;
    store.apply(last.view());
    KnownRunChanges known;
    const auto parts = [&] {
      auto check = runChangesInTurns(store, 3, &known);
      std::size_t count = 0;
      while (check.advance()) ++count;
      return std::pair(count, check.finish());
    };
    const auto [first, changes] = parts();
    QCOMPARE(changes.size(), std::size_t{3});
    // More may come of the newest one, after step 30.
    QCOMPARE(known.size(), std::size_t{2});
    const auto [second, again] = parts();
    QVERIFY2(second < first / 2, qPrintable(QString("%1, %2").arg(first).arg(second)));
    for (std::size_t i = 0; i < 3; ++i) {
      QCOMPARE(again[i].firstStep, changes[i].firstStep);
      QCOMPARE(again[i].stepMs.b, changes[i].stepMs.b);
      QCOMPARE(again[i].gone.size(), changes[i].gone.size());
    }
    QCOMPARE(known.size(), std::size_t{2});
    store.apply(RunEnd{});
    (void)parts();
    QCOMPARE(known.size(), std::size_t{3});
    const auto [count, whole] = parts();
    QCOMPARE(count, std::size_t{3});  // one part each
    QCOMPARE(whole.size(), runChanges(store, 3).size());
  }

  void noneWithoutSteps() {
    JudgedRun run;
    run.steps = 0;
    mark(run, 1, events::MarkerKind::BatchSize, 16, 32);
    QVERIFY(changesOf(run).empty());
  }
};

HIGHWATER_TEST(TestRunChanges, QCoreApplication)
#include "tst_run_changes.moc"
