#include "fake_counters.h"
#include "probe/readings/phase_scope.h"
#include "probe/readings/sampler.h"
#include "probe/readings/system_readings.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::probe;
using highwater::probe::test::FakeCounters;

namespace {

struct Drained {
  std::vector<events::MemorySample> memory;
  std::vector<events::SystemSample> system;
  std::vector<events::MachineSample> machine;
  std::vector<events::PhaseSpan> phases;

  void operator()(const events::MemorySample& e) { memory.push_back(e); }
  void operator()(const events::SystemSample& e) { system.push_back(e); }
  void operator()(const events::MachineSample& e) { machine.push_back(e); }
  void operator()(const events::PhaseSpan& e) { phases.push_back(e); }
  template <typename T>
  void operator()(const T&) {}

  void drain(Recorder& recorder) {
    for (const auto& lane : recorder.lanes()) {
      lane->drain([this](const EventRecord& record) { record.visit(*this); });
    }
  }
};

struct FixedCounters : CounterSource {
  DeviceCounters value;

  std::optional<DeviceCounters> read() override { return value; }
};

/// A script's peaks, which nobody here may reset.
struct FakePeaks : PeakSource {
  std::optional<std::uint64_t> peakBytes;
  int reads = 0;

  std::optional<DevicePeaks> read() override {
    ++reads;
    return peakBytes ? std::optional(DevicePeaks{*peakBytes, 0, 0}) : std::nullopt;
  }
  void reset() override { QFAIL("it would change what the script reads"); }
};

}  // namespace

class TestSampler : public QObject {
  Q_OBJECT
 private slots:
  void deadlinesDoNotDrift() {
    DeadlineGrid grid(1000, 100);
    QCOMPARE(grid.advance(999), std::int64_t{0});
    QCOMPARE(grid.nextNs(), std::int64_t{1000});
    QCOMPARE(grid.advance(1030), std::int64_t{0});
    QCOMPARE(grid.nextNs(), std::int64_t{1100});
    QCOMPARE(grid.advance(1455), std::int64_t{3});  // 1200, 1300 and 1400 were missed
    QCOMPARE(grid.nextNs(), std::int64_t{1500});
    QCOMPARE(grid.advance(1500), std::int64_t{0});
    QCOMPARE(grid.nextNs(), std::int64_t{1600});
  }

  void wakesAtDeadlinesUntilEnd() {
    constexpr std::int64_t kPeriodNs = 2'000'000;
    const RunClock clock = RunClock::startingNow();
    WakeUps wakeUps;
    std::vector<std::int64_t> deadlines{kPeriodNs}, wakes;
    wakeUps.run(clock, deadlines.back(), [&](std::int64_t nowNs) {
      wakes.push_back(nowNs);
      if (wakes.size() == 5) wakeUps.end();
      deadlines.push_back(nowNs + kPeriodNs);
      return deadlines.back();
    });
    QCOMPARE(wakes.size(), std::size_t{5});
    for (std::size_t i = 0; i < wakes.size(); ++i) QVERIFY(wakes[i] >= deadlines[i]);
    wakeUps.run(clock, 0, [&](std::int64_t) -> std::int64_t {
      wakes.push_back(0);
      return 0;
    });
    QCOMPARE(wakes.size(), std::size_t{5});  // end() was called before
  }

  void samplesCountersAndSystem() {
    Recorder recorder(RunClock::startingNow());
    FakeCounters counters;
    Sampler sampler(recorder, &counters, 1000);
    sampler.start();
    QTRY_VERIFY(counters.reads >= 20);
    sampler.stop();
    Drained drained;
    drained.drain(recorder);
    QCOMPARE(drained.memory.size(), static_cast<std::size_t>(counters.reads));
    for (std::size_t i = 0; i < drained.memory.size(); ++i) {
      QCOMPARE(drained.memory[i].current_bytes(), std::uint64_t{i + 1});
      QCOMPARE(drained.memory[i].origin(), events::SampleOrigin::Timer);
      if (i > 0) QVERIFY(drained.memory[i].time_ns() > drained.memory[i - 1].time_ns());
    }
    QVERIFY(!drained.system.empty());
    QVERIFY(drained.system.size() < drained.memory.size());
    QCOMPARE(recorder.seenPeakDriver(), 2 * counters.reads);
  }

  void samplesTheSystemAlone() {
    Recorder recorder(RunClock::startingNow());
    Sampler sampler(recorder, nullptr, 50);
    sampler.start();
    Drained drained;
    QTRY_VERIFY((drained.drain(recorder), drained.system.size() >= 2));
    sampler.stop();
    QVERIFY(drained.memory.empty());
  }

  void callsOtherWorkAtItsOwnRate() {
    Recorder recorder(RunClock::startingNow());
    FakeCounters counters;
    std::vector<std::int64_t> times;
    std::atomic<std::size_t> calls{0};
    Sampler sampler(recorder, &counters, 1);
    sampler.alsoCall([&](std::int64_t nowNs) -> std::int64_t {
      times.push_back(nowNs);
      return ++calls <= 10 ? 1'000'000 : 5'000'000;
    });
    sampler.start();
    QTRY_VERIFY(calls >= 20);
    sampler.stop();
    QVERIFY(counters.reads < times.size());
    QVERIFY(std::is_sorted(times.begin(), times.end()));
    // It is never called before it asked to be.
    for (std::size_t i = 11; i < times.size(); ++i) {
      QVERIFY(times[i] - times[10] >= static_cast<std::int64_t>(i - 11) * 5'000'000);
    }
  }

  void usesTheGivenSystemReader() {
    struct FakeSystem : SystemReader {
      SystemReadings read() override {
        SystemReadings readings;
        readings.footprintBytes = 5000;
        readings.availableBytes = 4000;
        readings.swapUsedBytes = 300;
        readings.pressure = events::Pressure::Critical;
        readings.compressorBytes = 70;
        readings.swappedOutBytes = 90;
        readings.power = {events::ThermalState::Fair, events::PowerMode::Low};
        return readings;
      }
    };
    Recorder recorder(RunClock::startingNow());
    Sampler sampler(recorder, nullptr, 50, std::make_unique<FakeSystem>());
    sampler.start();
    Drained drained;
    QTRY_VERIFY((drained.drain(recorder), !drained.system.empty()));
    sampler.stop();
    QCOMPARE(drained.system[0].footprint_bytes(), std::int64_t{5000});
    QCOMPARE(drained.system[0].swap_used_bytes(), std::int64_t{300});
    QCOMPARE(drained.system[0].pressure(), events::Pressure::Critical);
    QVERIFY(!drained.machine.empty());
    QCOMPARE(drained.machine[0].time_ns(), drained.system[0].time_ns());
    QCOMPARE(drained.machine[0].compressor_bytes(), std::int64_t{70});
    QCOMPARE(drained.machine[0].swapped_in_bytes(), std::int64_t{-1});
    QCOMPARE(drained.machine[0].swapped_out_bytes(), std::int64_t{90});
    QCOMPARE(drained.machine[0].gpu_bytes(), std::int64_t{-1});
    QCOMPARE(drained.machine[0].thermal(), events::ThermalState::Fair);
    QCOMPARE(drained.machine[0].power(), events::PowerMode::Low);
  }

  void phasesSampleAtBothBoundaries() {
    Recorder recorder(RunClock::startingNow());
    recorder.setStep(7);
    FakeCounters counters;
    {
      const PhaseScope scope(recorder, &counters, events::Phase::Forward);
      QCOMPARE(recorder.phase(), events::Phase::Forward);
      QCOMPARE(recorder.lane().openSpans().depth(), 1u);
    }
    QCOMPARE(recorder.phase(), events::Phase::None);
    Drained drained;
    drained.drain(recorder);
    QCOMPARE(drained.phases.size(), std::size_t{1});
    QCOMPARE(drained.phases[0].step(), 7u);
    QCOMPARE(drained.memory.size(), std::size_t{2});
    QCOMPARE(drained.memory[0].origin(), events::SampleOrigin::PhaseBoundary);
    QVERIFY(drained.memory[0].time_ns() <= drained.phases[0].begin_ns());
    QVERIFY(drained.memory[1].time_ns() >=
            drained.phases[0].begin_ns() + drained.phases[0].duration_ns());
  }

  void aPeakThatHasRisenIsASampleBeforeTheReading() {
    Recorder recorder(RunClock::startingNow());
    FixedCounters counters;
    FakePeaks peaks;
    RisenPeak risen(peaks);
    const auto sample = [&](std::optional<std::uint64_t> peakBytes, std::uint64_t currentBytes) {
      peaks.peakBytes = peakBytes;
      counters.value = DeviceCounters{currentBytes, 500, 1000};
      recordMemorySample(recorder, counters, events::SampleOrigin::PhaseBoundary, &risen);
    };
    sample(std::nullopt, 0);  // nothing is allocated yet
    sample(90, 40);           // of what came before
    sample(90, 50);           // as high as before
    sample(120, 50);
    sample(30, 30);  // the script has reset it
    sample(60, 30);
    sample(70, 70);            // a reading says so too
    sample(std::nullopt, 30);  // from here on it is not read
    sample(80, 30);
    Drained drained;
    drained.drain(recorder);
    std::vector<std::uint64_t> bytes;
    for (const auto& each : drained.memory) bytes.push_back(each.current_bytes());
    QCOMPARE(bytes, (std::vector<std::uint64_t>{0, 40, 50, 120, 50, 30, 60, 30, 70, 30, 30}));
    QCOMPARE(peaks.reads, 8);
    QCOMPARE(recorder.seenPeakCurrent(), std::uint64_t{120});
  }

  void systemReadingsArePlausible() {
    const auto reader = makeSystemReader();
    const SystemReadings before = reader->read();
    const auto physical = static_cast<std::int64_t>(physicalMemoryBytes());
    QVERIFY(physical > (std::int64_t{64} << 20));
    QVERIFY(before.footprintBytes > (1 << 20) && before.footprintBytes < physical);
    QVERIFY(before.availableBytes > 0 && before.availableBytes <= physical);
    QVERIFY(before.swapUsedBytes >= 0);
#ifdef __linux__
    QVERIFY(before.swappedInBytes >= 0 && before.swappedOutBytes >= 0);
    QCOMPARE(before.power.thermal, events::ThermalState::Unknown);
    QCOMPARE(before.gpuBytes, std::int64_t{-1});
    QVERIFY(!gpuWiredLimitBytes());
#endif
    // Memory that this process touches is counted.
    constexpr std::size_t kBytes = std::size_t{64} << 20;
    std::vector<char> touched(kBytes, 1);
    const SystemReadings after = reader->read();
    QVERIFY(touched[kBytes / 2] == 1);
    QVERIFY(after.footprintBytes - before.footprintBytes > static_cast<std::int64_t>(kBytes / 2));
  }
};

HIGHWATER_TEST(TestSampler, QCoreApplication)
#include "tst_sampler.moc"
