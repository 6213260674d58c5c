#include "analysis/settings_change.h"
#include "step_events.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::analysis;
using test::kMs;

namespace {

/// Ten steps, one every 100 ms from 100 ms on.
LiveStore tenSteps() {
  LiveStore store;
  test::OwnedBatch batch;
  for (std::uint32_t i = 1; i <= 10; ++i) {
    batch.steps.emplace_back(i * 100 * kMs, 90 * kMs, 0, 0, -1, i, 16, 64, 1000, 0.0F, false, true);
  }
  batch.completeUpToNs = 1090 * kMs;
  store.apply(batch.view());
  return store;
}

void mark(LiveStore& store, std::int64_t ms, events::MarkerKind kind, double before, double after) {
  test::OwnedBatch batch;
  batch.markers.emplace_back(ms * kMs, before, after, 0, kNoId, kind);
  batch.completeUpToNs = store.completeUpToNs();
  store.apply(batch.view());
}

}  // namespace

class TestSettingsChange : public QObject {
  Q_OBJECT

 private slots:
  void withoutAChangeTheNewestCount() {
    const LiveStore store = tenSteps();
    QVERIFY(settingsChanges(store).empty());
    const RecentSteps recent = recentSteps(store, 4);
    QCOMPARE(recent.firstRow, std::size_t{6});
    QCOMPARE(recent.count, std::size_t{4});
    QVERIFY(recent.since.empty());
    QCOMPARE(recentSteps(store, 50).count, std::size_t{10});
    QCOMPARE(recentSteps(LiveStore(), 50).count, std::size_t{0});
    QCOMPARE(settingsIn(store, {0, 2000 * kMs}), std::size_t{1});
  }

  void noStepFromBeforeAChangeCounts() {
    LiveStore store = tenSteps();
    mark(store, 400, events::MarkerKind::LossInterval, 1, 10);
    mark(store, 695, events::MarkerKind::BatchSize, 16, 32);
    mark(store, 696, events::MarkerKind::SequenceLength, 64, 128);
    mark(store, 850, events::MarkerKind::CacheEmptied, 0, 0);  // no setting
    const RecentSteps recent = recentSteps(store, 50);
    QCOMPARE(recent.firstRow, std::size_t{6});  // step 7 begins at 700 ms
    QCOMPARE(recent.count, std::size_t{4});
    QCOMPARE(recent.since, std::string("batch 16 → 32, sequence 64 → 128"));
    // Where the change lies too far back, the numbers do not begin with it.
    QVERIFY(recentSteps(store, 3).since.empty());
    QCOMPARE(recentSteps(store, 3).count, std::size_t{3});
    QCOMPARE(settingsIn(store, {0, 2000 * kMs}), std::size_t{3});
    QCOMPARE(settingsIn(store, {500 * kMs, 790 * kMs}), std::size_t{2});
    QCOMPARE(settingsIn(store, {700 * kMs, 2000 * kMs}), std::size_t{1});
    mark(store, 1080, events::MarkerKind::BatchSize, 32, 64);  // no step yet
    QCOMPARE(recentSteps(store, 50).count, std::size_t{0});
    QCOMPARE(recentSteps(store, 50).since, std::string("batch 32 → 64"));
  }

  void aScriptsKnobsCount() {
    LiveStore store = tenSteps();
    RunDescription run;
    run.ownScript = true;
    store.apply(run);
    ScriptKnob knob;
    knob.name = "loss_impl";
    knob.kind = ScriptKnob::Kind::kChoice;
    knob.choices = {"margin", "clamp"};
    store.apply(knob);
    QVERIFY(settingsChanges(store).empty());                 // a declaration is no change
    mark(store, 300, events::MarkerKind::BatchSize, 16, 7);  // a guess
    QVERIFY(settingsChanges(store).empty());
    knob.value = 1;
    store.apply(knob);
    store.apply(knob);
    const auto changes = settingsChanges(store);
    QCOMPARE(changes.size(), std::size_t{1});
    QCOMPARE(changes[0].text, std::string("loss_impl margin → clamp"));
    QCOMPARE(changes[0].timeNs, 1090 * kMs);
  }
};

HIGHWATER_TEST(TestSettingsChange, QCoreApplication)
#include "tst_settings_change.moc"
