// The memory model of the run on screen, and what the sliders ask of it.

#include "core/out_of_memory.h"
#include "core/run_limits.h"
#include "core/units.h"
#include "models/tuning_state.h"
#include "support/sample_run.h"
#include "support/test_program.h"
#include "tuning/sweep.h"

using namespace highwater;
using models::TuningState;

class TestTuningState : public QObject {
  Q_OBJECT

 private slots:
  void saysWhyThereIsNone() {
    analysis::LiveStore store;
    TuningState state(&store);
    state.refresh();
    QVERIFY(!state.model() && !state.reason().isEmpty());
    QVERIFY(!state.largestSafeBatch(64) && !state.longestSafeLength(16));
    QVERIFY(state.tried().empty());
  }

  void fitsTheSettingsOfARun() {
    analysis::LiveStore store;
    TuningState state(&store);
    QSignalSpy changes(&state, &TuningState::changed);
    test::forEachMessage(test::makeSampleRun({}), [&](const Message& each) { store.apply(each); });
    state.refresh();
    QCOMPARE(changes.size(), 1);
    QVERIFY(state.model());
    QCOMPARE(state.tried().size(), std::size_t{2});  // the batch doubles at step 30
    for (const models::TriedSetting& each : state.tried()) {
      QCOMPARE(each.setting.length, 64U);
      QVERIFY(each.setting.batch == 16 || each.setting.batch == 32);
      QVERIFY(each.steps > 20 && !each.outOfMemory);
      QVERIFY(each.peakCurrent > 0);
      QVERIFY(std::isfinite(each.tokensPerS) && each.lowerQuartile <= each.tokensPerS &&
              each.tokensPerS <= each.upperQuartile);
    }
    QCOMPARE(state.current().batch, 32U);
    // Nothing new: no new fit.
    state.refresh();
    QCOMPARE(changes.size(), 1);
    // Another run begins anew.
    store.clear();
    state.refresh();
    QVERIFY(!state.model() && state.tried().empty());
  }

  /// The chart has the numbers of the sweep's own steps, whatever is trained before and after them.
  void theSweepKeepsItsNumbers() {
    analysis::LiveStore store;
    test::forEachMessage(test::makeSampleRun({}), [&](const Message& each) { store.apply(each); });
    tuning::SweptSetting swept;
    swept.setting = {16, 64};
    swept.peakDriver = 77 * kMiB;
    swept.safe = true;
    swept.tokensPerS = 1234.5;
    swept.lowerQuartile = 1200.5;
    swept.upperQuartile = 1300.5;
    store.apply(Note{0, 1, tuning::noteOf(1, swept), 0});
    TuningState state(&store);
    state.refresh();
    const auto tried =
        std::find_if(state.tried().begin(), state.tried().end(),
                     [&](const auto& each) { return each.setting == swept.setting; });
    QVERIFY(tried != state.tried().end());
    QCOMPARE(tried->tokensPerS, 1234.5);
    QCOMPARE(tried->lowerQuartile, 1200.5);
    QCOMPARE(tried->upperQuartile, 1300.5);
    QCOMPARE(tried->peakDriver, 77 * kMiB);
    QVERIFY(tried->steps > 20);
  }

  /// As long as the run lives, its cache counts; in a sweep, which empties it, it does not, nor
  /// after the end.
  void countsTheCacheOfALiveRun() {
    analysis::LiveStore store;
    std::vector<Message> ends;
    test::forEachMessage(test::makeSampleRun({}), [&](const Message& each) {
      std::holds_alternative<RunEnd>(each) ? ends.push_back(each) : store.apply(each);
    });
    TuningState state(&store);
    state.refresh();
    QVERIFY(state.model() && state.model()->held());
    const std::uint64_t held = state.model()->held()->driverNow;
    QVERIFY(held > 0 && state.model()->driver({1, 64}).lower >= held);
    QSignalSpy changes(&state, &TuningState::changed);
    state.setSweeping(true, std::nullopt);
    QVERIFY(!state.model()->held() && changes.size() == 1);
    QVERIFY(state.model()->driver({1, 64}).lower < held);
    state.setSweeping(false, std::nullopt);
    QVERIFY(state.model()->held().has_value());
    // Emptied: what is left is the least now.
    const std::vector<events::Marker> markers{{store.completeUpToNs(), double(held), 1.0 * kMiB, 60,
                                               kNoId, events::MarkerKind::CacheEmptied}};
    EventBatch batch;
    batch.markers = markers;
    store.apply(batch);
    state.refresh();
    QVERIFY(state.model()->held() && state.model()->held()->driverNow == kMiB);
    store.apply(ends.empty() ? Message(RunEnd{}) : ends.front());
    state.refresh();
    QVERIFY(state.model() && !state.model()->held());
  }

  void aLargerReserveLeavesSmallerSettings() {
    analysis::LiveStore store;
    test::forEachMessage(test::makeSampleRun({}), [&](const Message& each) { store.apply(each); });
    TuningState state(&store);
    state.refresh();
    QSignalSpy reserves(&state, &TuningState::reserveChanged);
    std::uint32_t before = state.limits().batch + 1;
    for (const double reserve : {0.0, 0.5, 0.8, 5.0}) {
      state.setReserve(reserve);
      const std::uint32_t batch = state.largestSafeBatch(64).value_or(0);
      QVERIFY(batch <= before && batch <= state.limits().batch);
      before = batch;
    }
    QCOMPARE(state.reserve(), 0.9);
    QCOMPARE(reserves.size(), 4);
  }

  void marksTheSettingThatRanOut() {
    analysis::LiveStore store;
    test::forEachMessage(test::makeSampleRun({}), [&](const Message& each) { store.apply(each); });
    test::OwnedBatch batch;
    const std::int64_t ns = store.completeUpToNs();
    batch.markers.emplace_back(ns + 1, 32.0, 200.0, 61U, kNoId, events::MarkerKind::BatchSize);
    batch.markers.emplace_back(ns + 2, 0.0, 0.0, 61U, kNoId, events::MarkerKind::OutOfMemory);
    batch.completeUpToNs = ns + 3;
    store.apply(batch.view());
    TuningState state(&store);
    state.refresh();
    QCOMPARE(state.tried().size(), std::size_t{3});
    QCOMPARE(state.tried().back().setting.batch, 200U);
    QVERIFY(state.tried().back().outOfMemory && state.tried().back().steps == 0);
    QVERIFY(std::isnan(state.tried().back().tokensPerS));
  }

  /// A script names no limits: what it was trained at is on the map.
  void theLimitsHoldWhatWasTried() {
    analysis::LiveStore store;
    test::OwnedBatch batch;
    for (std::uint32_t step = 1; step <= 12; ++step) {
      const std::int64_t ns = step * 100'000'000LL;
      batch.memorySamples.emplace_back(ns, 1U << 28, 1U << 29, 1U << 31,
                                       events::SampleOrigin::PhaseBoundary);
      batch.steps.emplace_back(ns, 90'000'000, 1U << 28, 1U << 29, -1, step, 600U, 2048U,
                               600U * 2048U, 0.5F, 0, 1);
    }
    batch.completeUpToNs = 1'400'000'000;
    store.apply(batch.view());
    TuningState state(&store);
    state.refresh();
    QCOMPARE(state.limits(), (tuning::Setting{kMostBatchSize, 2048}));
  }

  /// An evaluation needs other memory than a step: its setting has not failed.
  void anEvaluationThatRanOutMarksNoSetting() {
    analysis::LiveStore store;
    test::forEachMessage(test::makeSampleRun({}), [&](const Message& each) { store.apply(each); });
    constexpr NameId kText = 900;
    store.apply(Definitions{
        {{kText, std::string(kInEvaluation) + "MPS backend out of memory"}}, {}, {}, {}});
    test::OwnedBatch batch;
    const std::int64_t ns = store.completeUpToNs();
    batch.markers.emplace_back(ns + 1, 0.0, 0.0, 61U, kText, events::MarkerKind::OutOfMemory);
    batch.completeUpToNs = ns + 2;
    store.apply(batch.view());
    TuningState state(&store);
    state.refresh();
    for (const models::TriedSetting& each : state.tried()) QVERIFY(!each.outOfMemory);
  }

  /// The sliders are those of the samples.
  void ofAScriptTheCurrentSettingIsChosen() {
    analysis::LiveStore store;
    TuningState state(&store);
    state.setChosen({16, 64});
    test::forEachMessage(test::makeSampleRun({}), [&](const Message& each) {
      Message message = each;
      if (auto* run = std::get_if<RunDescription>(&message)) run->ownScript = true;
      store.apply(message);
    });
    state.refresh();
    QVERIFY(state.isOfScript());
    QCOMPARE(state.chosen(), state.current());
    QVERIFY(state.current() != (tuning::Setting{16, 64}));
    state.setChosen({16, 64});
    QCOMPARE(state.chosen(), (tuning::Setting{16, 64}));
  }

  void theChosenSettingIsToldOnce() {
    analysis::LiveStore store;
    TuningState state(&store);
    QSignalSpy chosen(&state, &TuningState::chosenChanged);
    state.setChosen({32, 0});
    state.setChosen({32, 1});
    QCOMPARE(chosen.size(), 1);
    QCOMPARE(state.chosen().length, 1U);
  }
};

HIGHWATER_TEST(TestTuningState, QCoreApplication)
#include "tst_tuning_state.moc"
