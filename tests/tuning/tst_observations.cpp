#include <QTest>

#include "analysis/step_events.h"
#include "core/units.h"
#include "tuning/observations.h"

using namespace highwater;
using namespace highwater::tuning;

namespace {

constexpr MemoryLimits kLimits{
    .recommendedBytes = 4 * kGiB, .lowWatermarkRatio = 1.4, .highWatermarkRatio = 1.7};

/// A run whose steps come one after the other.
class Run {
 public:
  explicit Run(const char* device = "mps") {
    Hello hello;
    hello.device.selected = device;
    hello.limits = kLimits;
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

  /// As many tokens in longer rows take more.
  void remembersTheCacheOfLongerSettings() {
    Run run;
    run.step(8, 256, 100, 300).step(8, 256, 100, 300).step(32, 64, 40, 300).step(32, 64, 40, 300);
    const auto seen = run.observations();
    QCOMPARE(seen.size(), 2u);
    QVERIFY(!seen[0].driverIncludesEarlier && seen[1].driverIncludesEarlier);
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

QTEST_GUILESS_MAIN(TestObservations)
#include "tst_observations.moc"
