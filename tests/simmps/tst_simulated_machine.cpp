#include "simmps/policy/heap_allocator.h"
#include "simmps/policy/simulated_machine.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::simmps;

namespace {

constexpr std::uint64_t kSystem = 16 * kGiB;
constexpr std::uint64_t kSecond = 1'000'000'000;

/// A machine whose process readings and clock the test sets.
struct MachineSources {
  std::uint64_t resident = 0, arena = 0, driver = 0, nowNs = 7 * kSecond;

  SimulatedMachine make(OtherMemory others = {}, std::uint64_t hiddenGrowth = 0,
                        ThermalStates thermal = {}, bool lowPower = false) {
    return SimulatedMachine(
        {kSystem, hiddenGrowth, std::move(others), std::move(thermal), lowPower},
        {[this] { return resident; }, [this] { return arena; }, [this] { return driver; },
         [this] { return nowNs; }});
  }
};

MemoryState settle(double wiredGiB, double otherGiB) {
  return settleMemory({kSystem, static_cast<std::uint64_t>(wiredGiB * kGiB),
                       static_cast<std::uint64_t>(otherGiB * kGiB)});
}

OtherMemory others(const std::string& text) {
  auto parsed = parseOtherMemory("OTHERS", text);
  if (const auto* error = std::get_if<std::string>(&parsed)) qFatal("%s", error->c_str());
  return std::get<OtherMemory>(parsed);
}

}  // namespace

class TestSimulatedMachine : public QObject {
  Q_OBJECT
 private slots:
  void footprintIsHostDriverAndHidden() {
    MachineSources machine;
    machine.resident = 900 * kMiB;
    machine.arena = 300 * kMiB;  // resident part of driver's heaps
    machine.driver = 2 * kGiB;
    SimulatedMachine simulated = machine.make({}, 5 * kMiB);
    QCOMPARE(simulated.read().footprintBytes, 600 * kMiB + 2 * kGiB);
    for (int step = 0; step < 10; ++step) simulated.endStep();
    QCOMPARE(simulated.read().footprintBytes, 650 * kMiB + 2 * kGiB);
    QCOMPARE(simulated.read().systemBytes, kSystem);
    QCOMPARE(simulated.read().memory.availableBytes, kSystem - 650 * kMiB - 2 * kGiB);
    machine.arena = kGiB;  // grew between the two readings
    QCOMPARE(simulated.read().footprintBytes, 50 * kMiB + 2 * kGiB);
  }

  void whatFitsIsNotCompressed() {
    const MemoryState state = settle(6, 10);
    QVERIFY(state.pressure == PressureLevel::Normal);
    QCOMPARE(state.swapUsedBytes, std::uint64_t{0});
    QCOMPARE(state.availableBytes, std::uint64_t{0});
    QCOMPARE(settle(6, 9).availableBytes, kGiB);
  }

  void levelsAndSwapAtTheirThresholds_data() {
    QTest::addColumn<double>("demand");  // pageable memory, as a multiple of the machine's 10 GiB
    QTest::addColumn<int>("level");
    QTest::addColumn<double>("swap");  // likewise
    // n = 2 A - D down to 0.4 A. From there D grows by 3 for each that n shrinks and swap grows,
    // until n = 12/35 A at D = 1.7714 A; then swap takes half of any further demand.
    QTest::newRow("fits") << 1.0 << 1 << 0.0;
    QTest::newRow("compressed") << 1.49 << 1 << 0.0;
    QTest::newRow("half is compressed") << 1.51 << 2 << 0.0;
    QTest::newRow("before swap") << 1.59 << 2 << 0.0;
    QTest::newRow("swap begins") << 1.63 << 2 << 0.01;
    QTest::newRow("just before critical") << 1.76 << 2 << 0.16 / 3;
    QTest::newRow("critical") << 1.78 << 4 << 0.0571428 + 0.0085714 / 2;
    QTest::newRow("far beyond") << 4.0 << 4 << 0.0571428 + 2.2285714 / 2;
  }

  void levelsAndSwapAtTheirThresholds() {
    QFETCH(double, demand);
    QFETCH(int, level);
    QFETCH(double, swap);
    const MemoryState state = settle(6, 10 * demand);
    QCOMPARE(static_cast<int>(state.pressure), level);
    const double swapped = static_cast<double>(state.swapUsedBytes) / (10.0 * kGiB);
    QVERIFY2(std::abs(swapped - swap) < 1e-5, qPrintable(QString::number(swapped)));
  }

  void demandOnlyEverMakesItWorse() {
    MemoryState before = settle(6, 0);
    for (double demand = 0.1; demand < 60; demand += 0.1) {
      const MemoryState state = settle(6, demand);
      QVERIFY(state.pressure >= before.pressure);
      QVERIFY(state.swapUsedBytes >= before.swapUsedBytes);
      QVERIFY(state.availableBytes <= before.availableBytes);
      before = state;
    }
    QVERIFY(before.pressure == PressureLevel::Critical);
  }

  void wiredMemoryTakesRoom() {
    // The same 18 GiB on 16: memory of the GPU cannot be compressed, so the rest must be.
    QVERIFY(settle(0, 18).pressure == PressureLevel::Normal);
    QVERIFY(settle(13, 5).pressure == PressureLevel::Warning);
    QVERIFY(settle(15, 3).pressure == PressureLevel::Critical);
    QVERIFY(settle(16, 0).pressure == PressureLevel::Normal);  // full, but nothing is compressed
    QVERIFY(settle(20, 0).pressure == PressureLevel::Critical);
    QVERIFY(settle(20, 0).swapUsedBytes == 2 * kGiB);
  }

  void scriptsMoveWithTheClock() {
    MachineSources machine;
    machine.driver = 4 * kGiB;
    SimulatedMachine simulated = machine.make(others("0s:2GiB, 2.5s:20 GiB,30s:40GiB"));
    const auto after = [&](std::uint64_t ms) {
      machine.nowNs = 7 * kSecond + ms * 1'000'000;
      return simulated.read();
    };
    QCOMPARE(after(0).otherBytes, 2 * kGiB);
    QVERIFY(after(2'499).memory.pressure == PressureLevel::Normal);
    QCOMPARE(after(2'500).otherBytes, 20 * kGiB);
    QVERIFY(after(2'500).memory.pressure == PressureLevel::Warning);
    QVERIFY(after(100'000).memory.pressure == PressureLevel::Critical);
    QVERIFY(after(100'000).memory.swapUsedBytes > 8 * kGiB);
  }

  void filesAreReadAgain() {
    const QTemporaryDir folder;
    const QString path = folder.filePath("others");
    const auto write = [&path](const char* text) {
      QFile file(path);
      QVERIFY(file.open(QIODevice::WriteOnly));
      file.write(text);
    };
    write("3GiB\n");
    MachineSources machine;
    SimulatedMachine simulated = machine.make(others("file:" + path.toStdString()));
    QCOMPARE(simulated.read().otherBytes, 3 * kGiB);
    write("1073741824");
    QCOMPARE(simulated.read().otherBytes, kGiB);
    write("");  // about to be written
    QCOMPARE(simulated.read().otherBytes, kGiB);
    QVERIFY(QFile::remove(path));
    QCOMPARE(simulated.read().otherBytes, kGiB);
    write("5GiB");
    const OtherMemory named = others("file:" + path.toStdString());
    QVERIFY(QFile::remove(path));
    SimulatedMachine later = machine.make(named);  // the file does not exist for it
    QCOMPARE(later.read().otherBytes, 5 * kGiB);
  }

  void swapTrafficIsWhatSwapUseChangedBy() {
    MachineSources machine;
    SimulatedMachine simulated = machine.make(others("0s:40GiB,10s:60GiB,20s:50GiB,30s:1GiB"));
    const auto at = [&](std::uint64_t seconds) {
      machine.nowNs = (7 + seconds) * kSecond;
      return simulated.read();
    };
    const auto first = at(0);
    QVERIFY(first.memory.swapUsedBytes > 0);
    // What was swapped before the device looked is not its traffic.
    QCOMPARE(first.swappedOutBytes + first.swappedInBytes, std::uint64_t{0});
    const auto more = at(10);
    QCOMPARE(more.swappedOutBytes, more.memory.swapUsedBytes - first.memory.swapUsedBytes);
    QCOMPARE(more.swappedInBytes, std::uint64_t{0});
    const auto less = at(20);
    QCOMPARE(less.swappedOutBytes, more.swappedOutBytes);
    QCOMPARE(less.swappedInBytes, more.memory.swapUsedBytes - less.memory.swapUsedBytes);
    const auto none = at(30);
    QCOMPARE(none.memory.swapUsedBytes, std::uint64_t{0});
    QCOMPARE(none.swappedInBytes, more.memory.swapUsedBytes);
  }

  void compressedMemoryTakesHalfOfItself() {
    QCOMPARE(settle(6, 10).compressorBytes, std::uint64_t{0});
    // 13 GiB in 10: 6 GiB of them are compressed to 3, beside 7 that are not.
    QCOMPARE(settle(6, 13).compressorBytes, 3 * kGiB);
    for (double demand = 0; demand < 60; demand += 0.5) {
      const MemoryState state = settle(6, demand);
      QVERIFY(state.compressorBytes <= 10 * kGiB);
      QVERIFY(state.compressorBytes == 0 || state.availableBytes == 0);
    }
  }

  void thermalStatesFollowTheirScript() {
    MachineSources machine;
    auto parsed = parseThermalStates("THERMAL", "1s:fair, 2.5s:serious,4s:nominal");
    SimulatedMachine simulated =
        machine.make({}, 0, std::move(std::get<ThermalStates>(parsed)), true);
    const auto after = [&](std::uint64_t ms) {
      machine.nowNs = 7 * kSecond + ms * 1'000'000;
      return simulated.read().thermal;
    };
    QVERIFY(after(0) == ThermalLevel::Nominal);
    QVERIFY(after(1'000) == ThermalLevel::Fair);
    QVERIFY(after(2'499) == ThermalLevel::Fair);
    QVERIFY(after(2'500) == ThermalLevel::Serious);
    QVERIFY(after(100'000) == ThermalLevel::Nominal);
    QVERIFY(simulated.read().lowPower);
    auto constant = parseThermalStates("THERMAL", "critical");
    QVERIFY(std::get<ThermalStates>(constant).stateAt(0) == ThermalLevel::Critical);
    QVERIFY(!machine.make().read().lowPower);
  }

  void scriptsAreChecked_data() {
    QTest::addColumn<bool>("thermal");
    QTest::addColumn<QByteArray>("text");
    for (const char* text : {"hot", "s:fair", "5:fair", "-5s:fair", "5s:fair,4s:serious",
                             "5s:fair,5s:serious", "5s:fair,", "fair,serious"}) {
      QTest::addRow("thermal %s", text) << true << QByteArray(text);
    }
    for (const char* text :
         {"", "much", "-1GiB", "2GB", "nan", "5000000GiB", "0s:2GiB,", "0s:2GiB,0s:3GiB",
          "5s:2GiB,3s:1GiB", "2GiB,3GiB", "0:2GiB", "-1s:2GiB",
          "0s:", "file:", "file:/nowhere/at/all", "file:/dev/zero"}) {
      QTest::addRow("memory %s", text) << false << QByteArray(text);
    }
  }
  void scriptsAreChecked() {
    QFETCH(bool, thermal);
    QFETCH(QByteArray, text);
    const std::string name = "HIGHWATER_SIM_X", value = text.toStdString();
    const auto states = parseThermalStates(name, value);
    const auto memory = parseOtherMemory(name, value);
    const auto* problem =
        thermal ? std::get_if<std::string>(&states) : std::get_if<std::string>(&memory);
    QVERIFY(problem);
    for (const char* part :
         {"HIGHWATER_SIM_X", thermal ? "serious" : "give", thermal ? "30s:serious" : "GiB"}) {
      QVERIFY2(problem->find(part) != std::string::npos, problem->c_str());
    }
  }

  void residentSizeIsThisProcess() {
    const std::uint64_t before = residentProcessBytes();
    QVERIFY(before > kMiB);
    const std::vector<char> touched(64 * kMiB, 1);
    QVERIFY(residentProcessBytes() > before + 32 * kMiB && touched[kMiB] == 1);
  }
};

HIGHWATER_TEST(TestSimulatedMachine, QCoreApplication)
#include "tst_simulated_machine.moc"
