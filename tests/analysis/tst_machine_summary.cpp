// The machine in a range of time, by its samples.

#include "analysis/machine_summary.h"
#include "step_events.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::analysis;
using events::PowerMode;
using events::ThermalState;
using test::kMs;

namespace {

void addSample(test::OwnedBatch& batch, std::int64_t ms, ThermalState thermal,
               PowerMode power = PowerMode::Unknown, std::int64_t bytes = -1) {
  batch.machineSamples.emplace_back(ms * kMs, bytes, bytes, 2 * bytes, bytes, thermal, power);
  batch.completeUpToNs = ms * kMs;
}

std::int64_t msOf(const MachineSummary& summary, ThermalState state) {
  return summary.thermalNs[static_cast<std::size_t>(state)] / kMs;
}

}  // namespace

class TestMachineSummary : public QObject {
  Q_OBJECT

 private slots:
  void unknownStaysUnknown() {
    LiveStore store;
    const MachineSummary none = summarizeMachine(store, {0, 1000 * kMs});
    QVERIFY(!none.compressorPeakBytes && !none.swappedInBytes && !none.lowPowerShare());
    QCOMPARE(none.hottest(), ThermalState::Unknown);
    QCOMPARE(none.shareFrom(ThermalState::Fair), 0.0);
    test::OwnedBatch batch;
    for (int i = 0; i < 20; ++i) addSample(batch, 100 * i, ThermalState::Unknown);
    store.apply(batch.view());
    const MachineSummary unknown = summarizeMachine(store, {0, 2000 * kMs});
    QVERIFY(!unknown.compressorPeakBytes && !unknown.gpuPeakBytes && !unknown.swappedInBytes &&
            !unknown.swappedOutBytes && !unknown.swapPeakBytesPerS && !unknown.lowPowerShare());
    QCOMPARE(unknown.hottest(), ThermalState::Unknown);
  }

  void sumsTheTimeInEachState() {
    LiveStore store;
    test::OwnedBatch batch;
    addSample(batch, 0, ThermalState::Nominal, PowerMode::Normal, 100);
    addSample(batch, 500, ThermalState::Serious, PowerMode::Normal, 300);
    addSample(batch, 900, ThermalState::Serious, PowerMode::Low, 200);
    addSample(batch, 1000, ThermalState::Nominal, PowerMode::Normal, 900);
    addSample(batch, 9000, ThermalState::Unknown, PowerMode::Unknown, 950);
    batch.completeUpToNs = 9500 * kMs;
    store.apply(batch.view());
    const MachineSummary whole = summarizeMachine(
        store,
        {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()});
    QCOMPARE(msOf(whole, ThermalState::Serious), std::int64_t{500});
    // A sample counts for two seconds at most.
    QCOMPARE(msOf(whole, ThermalState::Nominal), std::int64_t{2500});
    QCOMPARE(msOf(whole, ThermalState::Unknown), std::int64_t{500});
    QCOMPARE(whole.hottest(), ThermalState::Serious);
    QCOMPARE(whole.shareFrom(ThermalState::Fair), 0.5 / 3);
    QCOMPARE(whole.lowPowerShare().value(), 0.1 / 3);
    QCOMPARE(whole.compressorPeakBytes.value(), std::uint64_t{950});
    QCOMPARE(whole.swappedInBytes.value(), std::uint64_t{850});
    QCOMPARE(whole.swappedOutBytes.value(), std::uint64_t{1700});
    const MachineSummary part = summarizeMachine(store, {400 * kMs, 950 * kMs});
    QCOMPARE(msOf(part, ThermalState::Serious), std::int64_t{450});
    QCOMPARE(msOf(part, ThermalState::Nominal), std::int64_t{0});
    QCOMPARE(part.gpuPeakBytes.value(), std::uint64_t{300});
    QVERIFY(!part.swappedInBytes);  // the counter went back
  }

  /// The times of all states together are the range, however it is cut.
  void rangesAddUp() {
    std::mt19937 random(3);
    LiveStore store;
    test::OwnedBatch batch;
    std::int64_t ms = 0;
    for (int i = 0; i < 300; ++i) {
      addSample(batch, ms, static_cast<ThermalState>(random() % 5));
      ms += 1 + static_cast<std::int64_t>(random() % 200);
    }
    batch.completeUpToNs = ms * kMs;
    store.apply(batch.view());
    const MachineSummary whole = summarizeMachine(store, {0, ms * kMs});
    std::int64_t sum = 0;
    for (const std::int64_t ns : whole.thermalNs) sum += ns;
    QCOMPARE(sum, ms * kMs);
    for (int i = 0; i < 100; ++i) {
      const auto& times = store.machine().timesNs;
      const std::int64_t cut = times[random() % times.size()];
      const MachineSummary before = summarizeMachine(store, {0, cut});
      const MachineSummary after = summarizeMachine(store, {cut, ms * kMs});
      for (std::size_t state = 0; state < whole.thermalNs.size(); ++state) {
        QCOMPARE(before.thermalNs[state] + after.thermalNs[state], whole.thermalNs[state]);
      }
    }
  }
};

HIGHWATER_TEST(TestMachineSummary, QCoreApplication)
#include "tst_machine_summary.moc"
