#include "analysis/live_store.h"
#include "core/units.h"
#include "step_events.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;
using analysis::LiveStore;

namespace {

events::MemorySample memoryAt(std::int64_t ms, std::uint64_t current) {
  return {ms * kMs, current, current * 2, 1000, events::SampleOrigin::Timer};
}

events::SyncPoint nonzeroAt(std::uint32_t step, std::int64_t beginMs, std::int64_t ms,
                            bool deliberate, events::SyncKind kind = events::SyncKind::Nonzero) {
  return syncAt(step, kind, events::Phase::Backward, beginMs, ms, deliberate);
}

events::FallbackEvent forwardFallbackAt(std::uint32_t step, std::int64_t beginMs, std::int64_t ms) {
  return fallbackAt(step, events::Phase::Forward, beginMs, ms, 0);
}

events::Marker marker(events::MarkerKind kind, double before = 0, double after = 0,
                      NameId text = kNoId, std::int64_t ms = 0) {
  return {ms * kMs, before, after, 1, text, kind};
}

}  // namespace

class TestLiveStore : public QObject {
  Q_OBJECT

 private slots:
  void aLineNamesThePlaceOfAScriptsEvent() {
    LiveStore store;
    for (test::OwnedMessage message : test::makeSampleRun({.steps = 1})) {
      if (auto* run = std::get_if<RunDescription>(&message)) {
        run->ownScript = true;
        store.apply(*run);
      } else if (const auto* definitions = std::get_if<Definitions>(&message)) {
        store.apply(*definitions);
      }
    }
    const std::string line = store.callSiteParts(test::kTrainStep).line;
    QCOMPARE(store.placeText(events::Phase::Forward, kNoId, test::kTrainStep), line + ", forward");
    // Most waits of a script are outside of phases: the line is enough.
    QCOMPARE(store.placeText(events::Phase::None, kNoId, test::kTrainStep), line);
    QCOMPARE(store.placeText(events::Phase::None, kNoId, kNoId), std::string("outside a phase"));
  }

  void takesAWholeRun() {
    LiveStore store;
    feed(makeSampleRun(), store);
    QVERIFY(store.simulated());
    QCOMPARE(store.run()->preset, "small");
    QVERIFY(store.end()->reason == RunEnd::Reason::kFinished);
    QCOMPARE(store.steps().records.size(), 60u);
    QCOMPARE(store.steps().durationMs.size(), 60u);
    QCOMPARE(store.steps().lane.size(), 60u);
    QCOMPARE(store.phases().size(), 360u);
    QCOMPARE(store.phaseLane().size(), 360u);
    QCOMPARE(store.fallbacks().size(), 15u);
    QCOMPARE(store.evaluations().size(), 3u);
    QCOMPARE(store.markers().size(), 3u);
    QCOMPARE(store.memory().current.size(), store.memory().timesNs.size());
    QVERIFY(std::is_sorted(store.memory().timesNs.begin(), store.memory().timesNs.end()));
    QVERIFY(store.memory().current.minMax(0, store.memory().current.size()).max > 500.0 * kMiB);
    QCOMPARE(store.knobs().batchSize, 32u);
    QCOMPARE(store.knobs().sequenceLength, 64u);
    QCOMPARE(store.runningStep(), 60u);
    QCOMPARE(store.dropped(), 0u);
    QVERIFY(!store.openSpan());
    QVERIFY(store.completeUpToNs() > store.steps().records.back().begin_ns());

    std::uint64_t events = 0;
    forEachMessage(makeSampleRun(), [&](const Message& message) {
      if (const auto* batch = std::get_if<EventBatch>(&message)) {
        events += batch->size() - batch->heartbeats.size();
      }
    });
    QCOMPARE(store.eventCount(), events);
  }

  void emptyStoreAnswers() {
    LiveStore store;
    store.clear();
    QVERIFY(!store.simulated());
    QVERIFY(!store.hello() && !store.run() && !store.end() && !store.openSpan());
    QCOMPARE(store.name(kNoId), "");
    QCOMPARE(store.runningStep(), 0u);
    QCOMPARE(store.completeUpToNs(), 0);
  }

  void clearForgetsEverythingButTheRevision() {
    LiveStore store;
    feed(makeSampleRun(), store);
    const std::uint64_t revision = store.revision();
    store.clear();
    QVERIFY(store.revision() > revision);
    QVERIFY(!store.hello());
    QVERIFY(store.steps().records.empty());
    QCOMPARE(store.eventCount(), 0u);
    QCOMPARE(store.name(kRenorm), "unknown");
  }

  void revisionGrowsWithChanges() {
    LiveStore store;
    store.apply(Welcome{1});
    QCOMPARE(store.revision(), 0u);
    store.apply(Hello{});
    QCOMPARE(store.revision(), 1u);
    store.apply(OwnedBatch().view());
    QCOMPARE(store.revision(), 2u);
  }

  /// Each in front of all others: their number squared is what that costs.
  void dropsSamplesWhereTooManyAreLate() {
    constexpr std::int64_t kSamples = 24'000;
    OwnedBatch batch;
    for (std::int64_t ms = kSamples; ms > 0; --ms) batch.memorySamples.push_back(memoryAt(ms, 1));
    batch.completeUpToNs = kSamples * kMs;
    LiveStore store;
    store.apply(batch.view());
    const auto& times = store.memory().timesNs;
    QVERIFY(store.dropped() > 0 && times.size() > 10'000);
    QCOMPARE(times.size() + store.dropped(), std::uint64_t(kSamples));
    QVERIFY(std::is_sorted(times.begin(), times.end()));
    // Those in order are taken as before.
    const std::size_t before = times.size();
    OwnedBatch inOrder;
    for (int i = 1; i <= 5; ++i) inOrder.memorySamples.push_back(memoryAt(kSamples + i, 1));
    inOrder.completeUpToNs = (kSamples + 5) * kMs;
    store.apply(inOrder.view());
    QCOMPARE(store.memory().timesNs.size(), before + 5);
  }

  void lateSamplesFindTheirPlace() {
    LiveStore store;
    OwnedBatch batch;
    for (const std::int64_t ms : {10, 30, 20, 50, 40, 45, 5}) {
      batch.memorySamples.push_back(memoryAt(ms, static_cast<std::uint64_t>(ms)));
    }
    store.apply(batch.view());
    const auto& memory = store.memory();
    QCOMPARE(memory.timesNs.size(), 7u);
    QVERIFY(std::is_sorted(memory.timesNs.begin(), memory.timesNs.end()));
    for (std::size_t i = 0; i < memory.timesNs.size(); ++i) {
      QCOMPARE(memory.current[i], static_cast<double>(memory.timesNs[i] / kMs));
      QCOMPARE(memory.driver[i], 2 * memory.current[i]);
    }
  }

  void missingReadingsAreNaN() {
    LiveStore store;
    OwnedBatch batch;
    batch.systemSamples.emplace_back(20 * kMs, 5, -1, 0, 37.5f, events::Pressure::Warning);
    batch.systemSamples.emplace_back(10 * kMs, -1, 7, -1, -1, events::Pressure::Unknown);
    store.apply(batch.view());
    const auto& system = store.system();
    QVERIFY(std::isnan(system.footprint[0]));
    QCOMPARE(system.available[0], 7.0);
    QVERIFY(std::isnan(system.swapUsed[0]));
    QCOMPARE(system.footprint[1], 5.0);
    QVERIFY(std::isnan(system.available[1]));
    QCOMPARE(system.swapUsed[1], 0.0);
    QVERIFY(std::isnan(system.gpuPercent[0]));
    QCOMPARE(system.gpuPercent[1], 37.5);
    QVERIFY(system.pressure[0] == events::Pressure::Unknown);
    QVERIFY(system.pressure[1] == events::Pressure::Warning);
  }

  void hostSamplesAreInOrderOfTime() {
    LiveStore store;
    for (const std::int64_t ms : {5, 1, 3}) {
      OwnedBatch batch;
      batch.hostSamples.emplace_back(ms * kMs, 1, kNoId, kTrainingThread, events::Phase::None);
      store.apply(batch.view());
    }
    std::vector<std::int64_t> times;
    for (const auto& each : store.hostSamples()) times.push_back(each.time_ns() / kMs);
    QCOMPARE(times, (std::vector<std::int64_t>{1, 3, 5}));
  }

  void swapRatesAreOfTheLastSecond() {
    LiveStore store;
    OwnedBatch batch;
    const auto sample = [&batch](std::int64_t ms, std::int64_t in, std::int64_t out) {
      batch.machineSamples.emplace_back(ms * kMs, std::int64_t{-1}, in, out, std::int64_t{7},
                                        events::ThermalState::Unknown, events::PowerMode::Low);
    };
    // 1000 bytes in each 100 ms, and 500 of them in; but all of the first second in its first 100
    // ms.
    for (int i = 0; i <= 20; ++i) {
      const std::int64_t bytes = i == 0 ? 0 : 500 * std::max(i, 10);
      sample(100 * i, bytes, bytes);
    }
    sample(2100, 10'000, 10'000);  // a pause
    sample(2600, 10'000, 10'000);
    sample(3100, 10'000, 10'000);
    sample(3200, 0, 0);    // a counter that counts back
    sample(3300, -1, -1);  // unknown
    store.apply(batch.view());
    const auto& machine = store.machine();
    for (std::size_t row = 0; row < 10; ++row) QVERIFY(std::isnan(machine.swapRate[row]));
    QCOMPARE(machine.swapRate[10], 10'000.0);
    for (std::size_t row = 11; row < 20; ++row) {
      QCOMPARE(machine.swapRate[row], 1000.0 * (double(row) - 10));
    }
    QCOMPARE(machine.swapRate[20], 10'000.0);
    QCOMPARE(machine.swapRate[21], 9000.0);  // of the last second, 0.1 s had none
    QCOMPARE(machine.swapRate[23], 0.0);
    QVERIFY(std::isnan(machine.swapRate[24]));
    QVERIFY(std::isnan(machine.swapRate[25]));
    QVERIFY(std::isnan(machine.compressor[3]));
    QCOMPARE(machine.gpuBytes[3], 7.0);
    QVERIFY(machine.power[3] == events::PowerMode::Low);
    QVERIFY(store.revision() > 0);
  }

  void aLossReadAtEveryStepIsUnplanned() {
    const auto read = [](std::uint32_t number, events::Phase phase) {
      return events::SyncPoint{
          (number * 100 - 20) * kMs,    5 * kMs, 4, number, kNonzero, kNoId, kNoId, 1,
          events::SyncKind::ScalarRead, phase,   1};
    };
    LiveStore store;
    // Every step, every other step, and every step again; the move of a batch stays planned.
    for (const std::uint32_t number : {1, 2, 3, 5, 7, 8}) {
      OwnedBatch batch;
      batch.steps = {stepAt(number, (number - 1) * 100, 100)};
      batch.syncPoints = {read(number, events::Phase::LossRead),
                          read(number, events::Phase::DeviceMove)};
      store.apply(batch.view());
    }
    std::vector<int> planned;
    for (const auto& each : store.syncPoints()) planned.push_back(each.deliberate());
    QCOMPARE(planned, (std::vector<int>{1, 1, 0, 1, 0, 1, 1, 1, 1, 1, 0, 1}));
    // Lane and steps say the same.
    for (std::size_t i = 0; i < store.syncLane().size(); ++i) {
      const analysis::Span& span = store.syncLane()[i];
      QCOMPARE((span.category & analysis::kDeliberateBit) != 0,
               store.syncPoints()[span.payload].deliberate() != 0);
    }
    const auto& lost = store.steps().unplannedSyncMs;
    QCOMPARE(std::vector<double>({lost[0], lost[1], lost[2], lost[3], lost[4], lost[5]}),
             std::vector<double>({0, 5, 5, 0, 0, 5}));
  }

  void lostTimeOfAStep() {
    LiveStore store;
    OwnedBatch before;  // arrives before its step's record
    before.fallbacks = {forwardFallbackAt(1, 10, 3), forwardFallbackAt(0, 12, 100)};
    before.syncPoints = {nonzeroAt(1, 20, 2, false), nonzeroAt(1, 23, 50, true),
                         nonzeroAt(1, 24, 60, false, events::SyncKind::Fallback),
                         nonzeroAt(2, 120, 7, false)};
    store.apply(before.view());
    OwnedBatch record;  // in the same batch, steps stand before the others
    record.steps = {stepAt(1, 0, 100)};
    record.fallbacks = {forwardFallbackAt(1, 30, 4)};
    store.apply(record.view());
    QCOMPARE(store.steps().fallbackMs[0], 7.0);
    QCOMPARE(store.steps().unplannedSyncMs[0], 2.0);
    OwnedBatch late;  // another thread's events, after the record
    late.steps = {stepAt(2, 100, 100), stepAt(5, 300, 100)};
    late.fallbacks = {forwardFallbackAt(1, 40, 5), forwardFallbackAt(4, 250, 9)};
    store.apply(late.view());
    OwnedBatch later;
    later.syncPoints = {nonzeroAt(1, 50, 6, false), nonzeroAt(3, 210, 9, false),
                        nonzeroAt(5, 310, 11, false)};
    store.apply(later.view());
    QCOMPARE(store.steps().fallbackMs[0], 12.0);
    QCOMPARE(store.steps().unplannedSyncMs[0], 8.0);
    QCOMPARE(store.steps().unplannedSyncMs[1], 7.0);
    QCOMPARE(store.steps().unplannedSyncMs[2], 11.0);
    QCOMPARE(store.steps().fallbackMs[2], 0.0);
  }

  void deviceSpansJoinTheirSteps() {
    LiveStore store;
    OwnedBatch batch;
    batch.steps = {stepAt(1, 0, 10), stepAt(2, 10, 10), stepAt(4, 20, 10)};
    batch.deviceSpans.emplace_back(15 * kMs, 9 * kMs, 1);
    store.apply(batch.view());
    OwnedBatch later;
    later.deviceSpans.emplace_back(35 * kMs, 8 * kMs, 4);
    later.deviceSpans.emplace_back(36 * kMs, 7 * kMs, 5);  // of a step that does not exist
    store.apply(later.view());
    QCOMPARE(store.steps().deviceMs.size(), 3u);
    QCOMPARE(store.steps().deviceMs[0], 9.0);
    QVERIFY(std::isnan(store.steps().deviceMs[1]));
    QCOMPARE(store.steps().deviceMs[2], 8.0);
  }

  void tokensPerSecond() {
    LiveStore store;
    OwnedBatch batch;
    batch.steps = {stepAt(1, 0, 500), stepAt(2, 600, 0)};
    store.apply(batch.view());
    QCOMPARE(store.steps().tokensPerS[0], 2048.0);
    QVERIFY(std::isnan(store.steps().tokensPerS[1]));
  }

  void aLossThatIsNotFiniteIsNotRead() {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const float losses[] = {0.5F, kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()};
    LiveStore store;
    OwnedBatch batch;
    std::uint32_t number = 0;
    for (const float loss : losses) {
      batch.steps.emplace_back(number * 100 * kMs, 50 * kMs, 1, 1, -1, number + 1, 16, 64, 1024,
                               loss, 1, 0);
      ++number;
    }
    store.apply(batch.view());
    QCOMPARE(store.steps().loss.size(), 4u);
    QCOMPARE(store.steps().loss[0], 0.5);
    for (std::size_t row = 1; row < 4; ++row) QVERIFY(std::isnan(store.steps().loss[row]));
    QCOMPARE(store.steps().lastLossRow, std::optional<std::size_t>(0));
  }

  /// Calls of a model are steps at the end of a run in which nothing trained.
  void iterationsAreStepsOfARunThatNeverTrains() {
    RunDescription run;
    run.ownScript = true;
    run.stepsAre = StepsAre::kIterations;
    OwnedBatch batch;
    for (std::uint32_t step = 1; step <= 4; ++step) {
      batch.steps.push_back(test::stepAt(step, step * 10, 10));
    }
    LiveStore store, trained;
    for (LiveStore* each : {&store, &trained}) {
      each->apply(run);
      each->apply(batch.view());
      QVERIFY(each->steps().records.empty());
    }
    store.apply(RunEnd{});
    QCOMPARE(store.steps().records.size(), std::size_t{4});
    run.stepsAre = StepsAre::kTraining;
    run.firstStep = 3;  // the stream may tell it late
    trained.apply(run);
    OwnedBatch late;
    late.steps.push_back(test::stepAt(2, 20, 10));
    trained.apply(late.view());
    trained.apply(RunEnd{});
    QCOMPARE(trained.steps().records.size(), std::size_t{2});
    QCOMPARE(trained.steps().records.front().step(), 3u);
  }

  void knobsFollowMarkers() {
    LiveStore store;
    RunDescription run;
    run.knobs = {16, 64, 10};
    store.apply(run);
    QVERIFY(store.knobs() == (Knobs{16, 64, 10}));
    OwnedBatch batch;
    batch.markers = {marker(events::MarkerKind::BatchSize, 16, 32),
                     marker(events::MarkerKind::LossInterval, 10, 5),
                     marker(events::MarkerKind::SequenceLength, 64, -1)};
    store.apply(batch.view());
    QVERIFY(store.knobs() == (Knobs{32, 64, 5}));
  }

  void markerTexts_data() {
    QTest::addColumn<int>("kind");
    QTest::addColumn<double>("before");
    QTest::addColumn<double>("after");
    QTest::addColumn<int>("text");
    QTest::addColumn<QString>("expected");
    const auto row = [](events::MarkerKind kind, double before, double after, int text,
                        const char* expected) {
      QTest::newRow(expected) << static_cast<int>(kind) << before << after << text
                              << QString::fromUtf8(expected);
    };
    using events::MarkerKind;
    row(MarkerKind::BatchSize, 16, 32, 0, "batch 16 → 32");
    row(MarkerKind::SequenceLength, 64, 128, 0, "sequence 64 → 128");
    row(MarkerKind::LossInterval, 10, 5, 0, "loss every 10 → 5");
    row(MarkerKind::CacheEmptied, 0, 0, 0, "cache emptied");
    row(MarkerKind::OutOfMemory, 0, 0, 0, "out of memory");
    row(MarkerKind::OutOfMemory, 0, 0, kNoteText, "out of memory: looks good");
    row(MarkerKind::Recovered, 0, 0, 0, "recovered");
    row(MarkerKind::Paused, 0, 0, 0, "paused");
    row(MarkerKind::Resumed, 0, 0, 0, "resumed");
    row(MarkerKind::Note, 0, 0, kNoteText, "looks good");
    row(MarkerKind::Note, 0, 0, 99, "unknown");
    row(MarkerKind::BatchSize, std::nan(""), 1e300, 0, "batch ? → ?");
  }

  void markerTexts() {
    QFETCH(int, kind);
    QFETCH(double, before);
    QFETCH(double, after);
    QFETCH(int, text);
    QFETCH(QString, expected);
    LiveStore store;
    feed(makeSampleRun(), store);
    const auto mark =
        marker(static_cast<events::MarkerKind>(kind), before, after, static_cast<NameId>(text));
    QCOMPARE(QString::fromStdString(store.markerText(mark)), expected);
  }

  void namesOfDefinitions() {
    LiveStore store;
    feed(makeSampleRun(), store);
    QCOMPARE(store.name(kRenorm), "aten::embedding_renorm_");
    QCOMPARE(store.modulePath(kLayer1), "encoder.layers.1");
    QCOMPARE(store.callSite(kTrainStep), "train.cpp:41 (trainStep)");
    QCOMPARE(store.callSite(kForward), "model.cpp:112 (forward)");
  }

  void unknownIdsHaveNames() {
    LiveStore store;
    QCOMPARE(store.name(kOtherId), "other");
    QCOMPARE(store.name(12345), "unknown");
    QCOMPARE(store.modulePath(kNoId), "");
    QCOMPARE(store.modulePath(kOtherId), "other");
    QCOMPARE(store.modulePath(77), "unknown");
    QCOMPARE(store.callSite(kNoId), "");
    QCOMPARE(store.callSite(77), "unknown");
    Definitions definitions;
    definitions.modules = {{5, 4, "child"}};
    definitions.callSites = {{5, 0, "", "", 3}, {6, 0, "f", "", 0}, {7, 0, "", "a/b.py", 9}};
    store.apply(definitions);
    QCOMPARE(store.modulePath(5), "unknown.child");
    QCOMPARE(store.callSite(5), "");
    QCOMPARE(store.callSite(6), "f");
    QCOMPARE(store.callSite(7), "b.py:9");
  }

  void loopOfModulesEnds() {
    LiveStore store;
    Definitions definitions;
    definitions.modules = {{2, 3, "a"}, {3, 2, "b"}};
    store.apply(definitions);
    QVERIFY(store.modulePath(2).size() < 1000);
  }

  void openSpanIsTheInnermost() {
    LiveStore store;
    feed(makeSampleRun({.ended = false}), store);
    const std::int64_t now = store.completeUpToNs() + 500 * kMs;
    OwnedBatch batch;
    batch.completeUpToNs = now;
    batch.openSpans.emplace_back(now - 400 * kMs, now, 61, kCopy, 1, 0, events::Phase::Forward);
    batch.openSpans.emplace_back(now - 300 * kMs, now, 61, kRenorm, 1, 2, events::Phase::Forward);
    batch.openSpans.emplace_back(now - 350 * kMs, now, 61, kNonzero, 1, 1, events::Phase::Forward);
    batch.heartbeats.emplace_back(now, 61, 0);
    store.apply(batch.view());
    QVERIFY(store.openSpan());
    QCOMPARE(store.name(store.openSpan()->span.name()), "aten::embedding_renorm_");
    // The end of the run does not close it.
    store.apply(RunEnd{RunEnd::Reason::kHung, 0, 9, "no heartbeat", "", ""});
    QVERIFY(store.openSpan());
  }

  void openSpanEnds() {
    const auto withOpenSpan = [] {
      LiveStore store;
      OwnedBatch batch;
      batch.completeUpToNs = 1000 * kMs;
      batch.openSpans.emplace_back(800 * kMs, 990 * kMs, 3, kNonzero, 1, 0, events::Phase::Forward);
      store.apply(batch.view());
      return store;
    };
    LiveStore store = withOpenSpan();
    QVERIFY(store.openSpan());
    OwnedBatch finished;
    finished.steps = {stepAt(3, 700, 400)};
    store.apply(finished.view());
    QVERIFY(!store.openSpan());

    store = withOpenSpan();
    OwnedBatch same;
    same.heartbeats.emplace_back(1100 * kMs, 3, 0);
    store.apply(same.view());
    QVERIFY(store.openSpan());
    OwnedBatch progressed;
    progressed.heartbeats.emplace_back(1200 * kMs, 4, 0);
    store.apply(progressed.view());
    QVERIFY(!store.openSpan());

    store = withOpenSpan();
    OwnedBatch silent;
    silent.completeUpToNs = 2500 * kMs;
    store.apply(silent.view());
    QVERIFY(!store.openSpan());
  }

  void pauseAndRunningStep() {
    LiveStore store;
    OwnedBatch batch;
    batch.markers = {marker(events::MarkerKind::Paused, 0, 0, kNoId, 10)};
    batch.heartbeats.emplace_back(5 * kMs, 7, 0);
    store.apply(batch.view());
    QVERIFY(store.paused());  // the marker is the newer one, whatever the order in the batch
    QCOMPARE(store.runningStep(), 7u);
    OwnedBatch resumed;
    resumed.markers = {marker(events::MarkerKind::Resumed, 0, 0, kNoId, 20)};
    store.apply(resumed.view());
    QVERIFY(!store.paused());
    OwnedBatch paused;
    paused.heartbeats.emplace_back(30 * kMs, 8, 1);
    store.apply(paused.view());
    QVERIFY(store.paused());
    QCOMPARE(store.runningStep(), 8u);
  }

  void dropsAreCounted() {
    LiveStore store;
    OwnedBatch batch;
    batch.drops.emplace_back(5 * kMs, 10, events::EventKind::MemorySample);
    batch.drops.emplace_back(6 * kMs, 1, events::EventKind::SyncPoint);
    batch.drops.emplace_back(7 * kMs, 2, events::EventKind::MemorySample);
    store.apply(batch.view());
    QCOMPARE(store.dropped(), 13u);
    QCOMPARE(store.droppedByKind().at(events::EventKind::MemorySample), 12u);
    QCOMPARE(store.drops().size(), 3u);
    QCOMPARE(store.eventCount(), 0u);
  }

  void lanesPointToEvents() {
    LiveStore store;
    OwnedBatch batch;
    batch.syncPoints = {nonzeroAt(1, 50, 5, true), nonzeroAt(1, 20, 5, false)};
    store.apply(batch.view());
    const auto& lane = store.syncLane();
    QCOMPARE(lane[0].payload, 1u);
    QCOMPARE(lane[1].payload, 0u);
    QCOMPARE(int(lane[0].category), static_cast<int>(events::SyncKind::Nonzero));
    QCOMPARE(int(lane[1].category), static_cast<int>(events::SyncKind::Nonzero) | 0x80);
  }
};

HIGHWATER_TEST(TestLiveStore, QCoreApplication)
#include "tst_live_store.moc"
