#include "analysis/device/device_path.h"
#include "step_events.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;
using namespace highwater::analysis;
using events::Phase;
using events::SyncKind;

namespace {

constexpr NameId kAdd = 100, kSelect = 101;

PathSummary pathsOf(const OwnedBatch& batch) {
  LiveStore store;
  defineNames(store);
  store.apply(Definitions{{{kAdd, "aten::add"}, {kSelect, "aten::select"}}, {}, {}, {}});
  store.apply(batch.view());
  return summarizePaths(store);
}

/// Step 1 from 0 to 100 ms, its batch moved from 1 to 3 ms.
OwnedBatch movedBatch() {
  OwnedBatch batch;
  batch.steps = {stepAt(1, 0, 100)};
  batch.phases = {phaseAt(1, Phase::DeviceMove, 1, 2)};
  batch.syncPoints = {syncAt(1, SyncKind::CopyToDevice, Phase::DeviceMove, 1, 1, true),
                      syncAt(1, SyncKind::CopyToDevice, Phase::DeviceMove, 2, 1, true)};
  return batch;
}

void addRead(OwnedBatch& batch, std::int64_t atMs, Phase phase, bool deliberate = false) {
  batch.syncPoints.push_back(syncAt(1, SyncKind::ScalarRead, phase, atMs, 2, deliberate));
}

void addOp(OwnedBatch& batch, NameId op, std::int64_t atMs) {
  batch.ops.emplace_back(atMs * kMs, kMs, 1000, 0, 1, op, kNoId, kNoId, kTrainingThread, 0,
                         Phase::LossRead, 0);
}

std::string onlyChain(const OwnedBatch& batch) {
  const PathSummary summary = pathsOf(batch);
  return summary.kinds.size() == 1 ? summary.kinds[0].chain : "not one kind";
}

}  // namespace

class TestDevicePath : public QObject {
  Q_OBJECT

 private slots:
  void hostBatchToHostLogHasFourChangesOfWhichTwoAreDeliberate() {
    OwnedBatch batch = movedBatch();
    batch.fallbacks = {fallbackAt(1, Phase::Forward, 10, 5, 2)};
    addRead(batch, 30, Phase::LossRead, true);
    const PathSummary summary = pathsOf(batch);
    QCOMPARE(summary.steps.size(), 1u);
    QCOMPARE(summary.steps[0].changes, 4u);
    QCOMPARE(summary.steps[0].deliberate, 2u);
    QCOMPARE(
        summary.kinds[0].chain,
        std::string("host \u2192 mps \u2192 cpu: aten::embedding_renorm_ \u2192 mps \u2192 host"));
    QCOMPARE(summary.changesP50, 4.0);
    QCOMPARE(summary.deliberateP50, 2.0);
    QCOMPARE(summary.unplannedP50, 2.0);
  }

  void anAcceptedFallbackIsNotUnplanned() {
    OwnedBatch batch = movedBatch();
    batch.fallbacks = {fallbackAt(1, Phase::Forward, 10, 5, 2),
                       fallbackAt(1, Phase::Forward, 20, 5, 2, kNonzero)};
    addRead(batch, 30, Phase::LossRead, true);
    LiveStore store;
    defineNames(store);
    store.apply(batch.view());
    QCOMPARE(summarizePaths(store).unplannedP50, 4.0);
    store.apply(FallbackAcceptance{"aten::embedding_renorm_", true, "rare", 1});
    const PathSummary summary = summarizePaths(store);
    QCOMPARE(summary.steps[0].changes, 6u);
    QCOMPARE(summary.steps[0].deliberate, 2u);
    QCOMPARE(summary.steps[0].accepted, 2u);
    QCOMPARE(summary.steps[0].unplanned(), 2u);
    QCOMPARE(summary.kinds[0].accepted, 2u);
    QCOMPARE(summary.acceptedP50, 2.0);
    QCOMPARE(summary.unplannedP50, 2.0);
    store.apply(FallbackAcceptance{"aten::embedding_renorm_", false, "", 2});  // withdrawn
    QCOMPARE(summarizePaths(store).steps[0].accepted, 0u);
  }

  void readsCountOnceUntilDeviceWorkFollows() {
    OwnedBatch batch = movedBatch();
    addRead(batch, 30, Phase::LossRead, true);
    addRead(batch, 33, Phase::LossRead);
    QCOMPARE(pathsOf(batch).steps[0].changes, 2u);
    addRead(batch, 50, Phase::Backward);  // what backward queued was read
    QCOMPARE(pathsOf(batch).steps[0].changes, 3u);
    QCOMPARE(onlyChain(batch), std::string("host \u2192 mps \u2192 host; mps \u2192 host"));
  }

  void anOpOnTheDeviceBetweenReadsIsWork() {
    OwnedBatch batch = movedBatch();
    addRead(batch, 30, Phase::LossRead, true);
    addRead(batch, 40, Phase::LossRead);
    addOp(batch, kSelect, 35);  // a view queues nothing
    QCOMPARE(pathsOf(batch).steps[0].changes, 2u);
    addOp(batch, kAdd, 36);
    QCOMPARE(pathsOf(batch).steps[0].changes, 3u);
    batch.ops.back() = {36 * kMs, kMs, -1, 0, 1, kAdd, 0, 0, kTrainingThread, 0, Phase::None, 0};
    QCOMPARE(pathsOf(batch).steps[0].changes, 2u);  // an op of the CPU
  }

  void whatIsReadAndMovedBackComesBack() {
    OwnedBatch batch = movedBatch();
    addRead(batch, 30, Phase::Forward);
    batch.syncPoints.push_back(syncAt(1, SyncKind::CopyToDevice, Phase::Forward, 35, 1));
    QCOMPARE(onlyChain(batch), std::string("host \u2192 mps \u2192 host \u2192 mps"));
    QCOMPARE(pathsOf(batch).steps[0].deliberate, 1u);
  }

  void nestedOnesCountOnce() {
    OwnedBatch batch = movedBatch();
    batch.fallbacks = {fallbackAt(1, Phase::Forward, 10, 10, 2),
                       fallbackAt(1, Phase::Forward, 12, 3, 1)};
    addRead(batch, 13, Phase::Forward);
    QCOMPARE(pathsOf(batch).steps[0].changes, 3u);
    // On another thread it is not nested.
    batch.syncPoints.back() =
        syncAt(1, SyncKind::ScalarRead, Phase::Forward, 13, 1, false, kAutogradThread);
    QCOMPARE(pathsOf(batch).steps[0].changes, 4u);
  }

  void waitsWithoutValuesChangeNothing() {
    OwnedBatch batch = movedBatch();
    batch.syncPoints.push_back(syncAt(1, SyncKind::Synchronize, Phase::None, 30, 5));
    batch.syncPoints.push_back(syncAt(1, SyncKind::EventWait, Phase::None, 40, 5));
    QCOMPARE(onlyChain(batch), std::string("host \u2192 mps"));
  }

  void aMoveThatNobodyWaitedForIsOne() {
    OwnedBatch batch = movedBatch();
    batch.syncPoints.clear();
    QCOMPARE(onlyChain(batch), std::string("host \u2192 mps"));
    QCOMPARE(pathsOf(batch).steps[0].deliberate, 1u);
    batch.fallbacks = {fallbackAt(1, Phase::Forward, 10, 5, 2)};
    QCOMPARE(pathsOf(batch).steps[0].changes, 3u);
    batch.phases.clear();  // the batch is already on the device
    QCOMPARE(onlyChain(batch), std::string("mps \u2192 cpu: aten::embedding_renorm_ \u2192 mps"));
  }

  void whatIsOutsideOfTheStepIsNotItsOwn() {
    OwnedBatch batch = movedBatch();
    batch.syncPoints.push_back(syncAt(1, SyncKind::CopyToHost, Phase::None, 130, 5, true));
    batch.fallbacks = {fallbackAt(1, Phase::None, 140, 5, 2)};
    QCOMPARE(pathsOf(batch).steps[0].changes, 1u);
  }

  void repeatsAreWrittenOnce() {
    OwnedBatch batch = movedBatch();
    for (int i = 0; i < 40; ++i) {
      batch.fallbacks.push_back(fallbackAt(1, Phase::Forward, 10 + 2 * i, 1, 1));
    }
    QCOMPARE(
        onlyChain(batch),
        std::string("host \u2192 mps \u2192 cpu: aten::embedding_renorm_ \u2192 mps (40\u00d7)"));
    QCOMPARE(pathsOf(batch).steps[0].changes, 81u);
  }

  void theTypicalStepComesFirst() {
    OwnedBatch batch;
    for (std::uint32_t step = 1; step <= 5; ++step) {
      const std::int64_t at = 100 * step;
      batch.steps.push_back(stepAt(step, at, 90));
      batch.syncPoints.push_back(
          syncAt(step, SyncKind::CopyToDevice, Phase::DeviceMove, at, 1, true));
      if (step % 2 == 0) {
        batch.syncPoints.push_back(
            syncAt(step, SyncKind::ScalarRead, Phase::LossRead, at + 50, 5, true));
      }
    }
    const PathSummary summary = pathsOf(batch);
    QCOMPARE(summary.kinds.size(), 2u);
    QCOMPARE(summary.kinds[0].chain, std::string("host \u2192 mps"));
    QCOMPARE(summary.kinds[0].steps, 3u);
    QCOMPARE(summary.kinds[1].firstStep, 2u);
    QCOMPARE(summary.changesP50, 1.0);
  }

  void withoutRecordedWaitsNothingIsSaid() {
    OwnedBatch batch;
    batch.steps = {stepAt(1, 0, 100)};  // level off
    QVERIFY(pathsOf(batch).steps.empty() && pathsOf(batch).kinds.empty());
  }

  /// Random events in any order of arrival: the switches are the arrows of the chain, and a
  /// fallback counts two.
  void changesAreTheArrows() {
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
      OwnedBatch batch = movedBatch();
      std::uint32_t fallbacks = 0;
      for (std::int64_t at = 5; at < 95; at += 1 + random() % 9) {
        if (random() % 3 == 0) {
          batch.fallbacks.push_back(fallbackAt(1, Phase::Forward, at, 1, 0));
          ++fallbacks;
        } else {
          const auto kind = random() % 2 == 0 ? SyncKind::CopyToDevice : SyncKind::CopyToHost;
          batch.syncPoints.push_back(syncAt(1, kind, Phase::Forward, at, 1, random() % 2 == 0));
        }
      }
      std::shuffle(batch.syncPoints.begin(), batch.syncPoints.end(), random);
      std::shuffle(batch.fallbacks.begin(), batch.fallbacks.end(), random);
      const StepPath path = pathsOf(batch).steps[0];
      std::uint32_t arrows = 0, ofFallbacks = 0;
      for (std::size_t i = 1; i < path.places.size(); ++i) {
        arrows += !path.places[i].resumed;
        ofFallbacks += path.places[i].kind == PathPlace::Kind::Fallback;
        QVERIFY(path.places[i].kind != path.places[i - 1].kind);
      }
      QCOMPARE(path.changes, arrows);
      QCOMPARE(ofFallbacks, fallbacks);
      QVERIFY(path.deliberate + 2 * fallbacks <= path.changes);
    }
  }
};

HIGHWATER_TEST(TestDevicePath, QCoreApplication)
#include "tst_device_path.moc"
