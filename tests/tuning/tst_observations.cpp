#include "analysis/step_events.h"
#include "core/units.h"
#include "support/test_program.h"
#include "tuning/device_limits.h"
#include "tuning/observations.h"

using namespace highwater;
using namespace highwater::tuning;

namespace {

/// A run whose steps come one after the other.
class Run {
 public:
  explicit Run(const char* device = "mps") {
    Hello hello;
    hello.device.selected = device;
    hello.limits = test::limitsOf(4 * kGiB);
    store_.apply(hello);
    RunDescription run;
    run.parameters = 1000;
    run.dtype = "float32";
    run.width = 128;
    run.heads = 4;
    store_.apply(run);
  }

  Run& step(std::uint32_t batch, std::uint32_t length, std::uint64_t current, std::uint64_t driver,
            bool exact = true) {
    const std::int64_t begin = 10 * test::kMs * ++steps_;
    const std::vector<events::StepRecord> records{
        {begin, 9 * test::kMs, current, driver, -1, static_cast<std::uint32_t>(steps_), batch,
         length, batch * length, 0, 0, static_cast<std::uint8_t>(exact)}};
    EventBatch events;
    events.steps = records;
    store_.apply(events);
    return *this;
  }
  Run& sample(std::uint64_t current, std::uint64_t driver) {
    const std::vector<events::MemorySample> samples{{10 * test::kMs * (steps_ + 1) - 2, current,
                                                     driver, 4 * kGiB,
                                                     events::SampleOrigin::Timer}};
    EventBatch events;
    events.memorySamples = samples;
    store_.apply(events);
    return *this;
  }
  Run& emptyCache(double after = 0) {
    const std::vector<events::Marker> markers{{10 * test::kMs * (steps_ + 1) - 1, 0, after,
                                               static_cast<std::uint32_t>(steps_ + 1), kNoId,
                                               events::MarkerKind::CacheEmptied}};
    EventBatch events;
    events.markers = markers;
    store_.apply(events);
    return *this;
  }

  const analysis::LiveStore& store() const { return store_; }
  std::vector<Observation> observations() const { return observationsOf(store_); }

 private:
  analysis::LiveStore store_;
  std::int64_t steps_ = 0;
};

}  // namespace

class TestObservations : public QObject {
  Q_OBJECT

 private:
  /// The step time of four steps of 9 ms, one every 10 ms but for a break after the second, in
  /// which lies what `events` tell. Name 7 is "evaluation", 8 is "data".
  static double stepMsWithBreak(std::int64_t breakMs, EventBatch events) {
    analysis::LiveStore store;
    store.apply(Definitions{{{7, "evaluation"}, {8, "data"}}, {}, {}, {}});
    std::vector<events::StepRecord> records;
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::int64_t begin = (10 * i + (i > 1 ? breakMs : 0)) * test::kMs;
      records.push_back({begin, 9 * test::kMs, 50, 100, -1, i + 1, 8, 64, 512, 0, 0, 1});
    }
    events.steps = records;
    store.apply(events);
    const std::vector<std::size_t> rows{0, 1, 2, 3};
    return stepMsOf(store, rows);
  }

 private slots:
  /// Since the cache was emptied; of a setting the largest peak, in the order of the first steps.
  void knowsWhatIsHeld() {
    Run run;
    QVERIFY(heldMemoryOf(run.store()).trained.empty());
    run.step(64, 64, 500, 900).emptyCache();
    QVERIFY(heldMemoryOf(run.store()).trained.empty());
    run.step(8, 64, 50, 100).step(8, 32, 40, 110).step(8, 64, 60, 120).sample(55, 120);
    const HeldMemory held = heldMemoryOf(run.store());
    QCOMPARE(held.driverNow, 120U);
    QCOMPARE(held.trained.size(), 2U);
    QVERIFY((held.trained[0].setting == Setting{8, 64}) && held.trained[0].peakDriver == 120);
    QVERIFY((held.trained[1].setting == Setting{8, 32}) && held.trained[1].peakDriver == 110);
    run.emptyCache(70);
    QCOMPARE(heldMemoryOf(run.store()).driverNow, 70U);
    run.step(8, 64, 50, 90).sample(45, 95);
    QCOMPARE(heldMemoryOf(run.store()).driverNow, 95U);
  }

  void leavesOutTheWarmUp() {
    // The first step lacks the optimizer's state; the first at a new setting has another past.
    const auto seen = Run()
                          .step(8, 64, 50, 100)
                          .step(8, 64, 80, 120)
                          .step(8, 64, 82, 120)
                          .step(16, 64, 190, 220)
                          .step(16, 64, 150, 220)
                          .observations();
    QCOMPARE(seen.size(), 2u);
    QVERIFY((seen[0].setting == Setting{8, 64}));
    QCOMPARE(seen[0].peakCurrent, 82u);
    QCOMPARE(seen[0].peakDriver, 120u);
    QCOMPARE(seen[0].steps, 2u);
    QVERIFY(seen[0].exact);
    QCOMPARE(seen[1].peakCurrent, 150u);
    QCOMPARE(seen[1].steps, 1u);
  }

  void aSettingOfOneStepCounts() {
    const auto seen = Run().step(8, 64, 50, 100).step(8, 32, 40, 100).observations();
    QCOMPARE(seen.size(), 2u);
  }

  void sampledPeaksAreMarked() {
    const auto seen =
        Run().step(8, 64, 50, 100).step(8, 64, 80, 120).step(8, 64, 81, 120, false).observations();
    QCOMPARE(seen.size(), 1u);
    QVERIFY(!seen[0].exact);
  }

  void remembersTheCacheOfLargerSettings() {
    Run run;
    run.step(32, 64, 100, 300).step(32, 64, 100, 300).step(8, 64, 40, 300).step(8, 64, 40, 300);
    auto seen = run.observations();
    QCOMPARE(seen.size(), 2u);
    QVERIFY(seen[0].driverIncludesEarlier && !seen[1].driverIncludesEarlier);
    run.emptyCache().step(8, 64, 40, 90).step(8, 64, 40, 90);
    seen = run.observations();
    QVERIFY(!seen[0].driverIncludesEarlier);
    QCOMPARE(seen[0].peakDriver, 90u);
  }

  /// A smaller setting leaves blocks too: what a setting takes alone is what a run of it takes.
  void prefersWhatASettingTakesAlone() {
    Run run;
    run.step(8, 64, 40, 90).step(8, 64, 40, 90).step(32, 64, 100, 390).step(32, 64, 100, 390);
    auto seen = run.observations();
    QCOMPARE(seen[1].peakDriver, 390u);
    run.emptyCache().step(32, 64, 100, 300).step(32, 64, 100, 300);
    QCOMPARE(run.observations()[1].peakDriver, 390u);  // too few steps to tell
    seen = run.step(32, 64, 100, 310).step(32, 64, 100, 300).observations();
    QCOMPARE(seen[1].peakDriver, 310u);
    QVERIFY(!seen[1].driverIncludesEarlier);
    QCOMPARE(seen[0].peakDriver, 90u);
    // What comes after another setting says less again.
    seen = run.step(8, 64, 40, 300).step(8, 64, 40, 300).step(32, 64, 100, 400).observations();
    QCOMPARE(seen[1].peakDriver, 310u);
  }

  /// As many tokens in longer rows take more.
  void remembersTheCacheOfLongerSettings() {
    Run run;
    run.step(8, 256, 100, 300).step(8, 256, 100, 300).step(32, 64, 40, 300).step(32, 64, 40, 300);
    const auto seen = run.observations();
    QCOMPARE(seen.size(), 2u);
    QVERIFY(!seen[0].driverIncludesEarlier && seen[1].driverIncludesEarlier);
  }

  /// Steps of one setting that need 100 of driver, and what lies before or between them.
  void remembersTheCacheOfOtherParts() {
    struct Reading {
      double ms;
      std::uint64_t current, driver;
    };
    const auto seenWith = [](std::int64_t gapMs, const std::vector<Reading>& readings) {
      EventBatch events;
      std::vector<events::StepRecord> records;
      for (std::uint32_t i = 1; i <= 4; ++i) {
        const std::int64_t begin = (10 * i + (i > 2 ? gapMs : 0)) * test::kMs;
        const std::uint64_t driver = i > 2 && gapMs > 0 ? 900 : 100;
        records.push_back({begin, 10 * test::kMs, 80, driver, -1, i, 8, 64, 512, 0, 0, 1});
      }
      std::vector<events::MemorySample> samples;
      for (const Reading& each : readings) {
        samples.emplace_back(static_cast<std::int64_t>(each.ms * test::kMs), each.current,
                             each.driver, 4 * kGiB, events::SampleOrigin::PhaseBoundary);
      }
      events.steps = records;
      events.memorySamples = samples;
      analysis::LiveStore store;
      store.apply(events);
      return observationsOf(store).at(0);
    };
    // A gap in which driver memory grew: the steps before it tell what the setting takes.
    const Observation before =
        seenWith(50, {{11, 50, 100}, {19, 50, 100}, {29, 50, 100}, {80, 50, 900}, {90, 50, 900}});
    QVERIFY(!before.driverIncludesEarlier);
    QCOMPARE(before.peakDriver, 100u);
    // What grew there and stays in use is no cache.
    const Observation inUse =
        seenWith(50, {{11, 50, 100}, {29, 50, 100}, {80, 850, 900}, {90, 850, 900}});
    QCOMPARE(inUse.peakDriver, 900u);
    QVERIFY(!inUse.driverIncludesEarlier);
    // A large model before step 1, of which nothing is in use any more; weights, which still are.
    QVERIFY(seenWith(0, {{5, 90, 95}, {10, 10, 95}, {20, 10, 95}}).driverIncludesEarlier);
    QVERIFY(!seenWith(0, {{5, 10, 95}, {10, 10, 95}, {20, 10, 95}}).driverIncludesEarlier);
    // It was emptied later: the last two steps count.
    const Observation emptied =
        seenWith(0, {{5, 90, 95}, {10, 10, 95}, {20, 10, 95}, {30, 10, 12}, {40, 10, 100}});
    QVERIFY(!emptied.driverIncludesEarlier);
    QCOMPARE(emptied.steps, 3u);
  }

  /// A host that reads the loss at each tenth step has queued the others in no time.
  void knowsHowLongAStepTakes() {
    const auto run = [](auto&& durationOf) {
      std::vector<events::StepRecord> records;
      std::int64_t begin = 0;
      for (std::uint32_t i = 1; i <= 41; ++i) {
        records.push_back({begin, durationOf(i), 50, 100, -1, i, 8, 64, 512, 0, 0, 1});
        begin += durationOf(i);
      }
      analysis::LiveStore store;
      EventBatch events;
      events.steps = records;
      store.apply(events);
      return store;
    };
    const analysis::LiveStore queued =
        run([](std::uint32_t step) { return step % 10 == 1 ? 491 * test::kMs : test::kMs; });
    QCOMPARE(observationsOf(queued).front().stepMs, 50.0);
    const analysis::LiveStore alike = run([](std::uint32_t) { return 50 * test::kMs; });
    QCOMPARE(observationsOf(alike).front().stepMs, 50.0);
    const std::vector<std::size_t> rows{10, 11, 12, 20, 21};
    QCOMPARE(stepMsOf(queued, rows), (491.0 + 1 + 1 + 491 + 1) / 5);
    QCOMPARE(stepMsOf(queued, {}), 0.0);
  }

  /// Nobody trains in a pause.
  void stepTimesHaveNoPauses() {
    const std::vector<events::Marker> markers{
        {20 * test::kMs, 0, 0, 3, kNoId, events::MarkerKind::Paused},
        {60'020 * test::kMs, 0, 0, 3, kNoId, events::MarkerKind::Resumed}};
    EventBatch events;
    events.markers = markers;
    QCOMPARE(stepMsWithBreak(60'000, events), 39.0 / 4);
  }

  /// Nor in an evaluation, which may take longer than the steps between two of them.
  void stepTimesHaveNoEvaluations() {
    // One within the other, and a phase of the script's own, which belongs to the step.
    std::vector<events::NamedSpan> spans;
    spans.emplace_back(20 * test::kMs, 500 * test::kMs, 2u, 7u, ThreadId{1}, std::uint8_t{0});
    spans.emplace_back(30 * test::kMs, 100 * test::kMs, 2u, 7u, ThreadId{1}, std::uint8_t{1});
    spans.emplace_back(520 * test::kMs, 4 * test::kMs, 3u, 8u, ThreadId{1}, std::uint8_t{0});
    EventBatch events;
    events.namedSpans = spans;
    QCOMPARE(stepMsWithBreak(500, events), 39.0 / 4);
  }

  void inputsWithoutLength() {
    const auto seen = Run().step(8, 0, 40, 90).step(8, 0, 40, 90).step(0, 0, 40, 90).observations();
    QCOMPARE(seen.size(), 1u);
    QVERIFY((seen[0].setting == Setting{8, 1}));
  }

  void makesAModel() {
    const Run run = Run().step(8, 64, 50 * kMiB, 100 * kMiB).step(8, 64, 80 * kMiB, 120 * kMiB);
    const auto model = memoryModelOf(run.store());
    QVERIFY(model);
    QCOMPARE(model->limits().recommendedBytes, 4 * kGiB);
    QCOMPARE(model->current({8, 64}).bytes, 80 * kMiB);
    QVERIFY(model->formula().fixedRange().lower >= 4000);
  }

  void theCpuHasNoModel() {
    const Run run = Run("cpu").step(8, 64, 0, 0);
    const auto model = memoryModelOf(run.store());
    QVERIFY(!model);
    QVERIFY(model.error().message.find("CPU") != std::string::npos);
    QVERIFY(!memoryModelOf(Run().store()));
  }
};

HIGHWATER_TEST(TestObservations, QCoreApplication)
#include "tst_observations.moc"
