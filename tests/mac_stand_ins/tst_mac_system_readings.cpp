// What Highwater reads of a Mac, with scripted answers of the system.

#include "mac_stand_ins/mac.h"
#include "probe/readings/system_readings.h"
#include "probe/stream/tick_source.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::probe;
using highwater::test::mac;
using highwater::test::Mac;
using highwater::test::OtherType;
using highwater::test::Statistic;

namespace {

constexpr std::int64_t kPage = 16384;

std::map<std::string, Statistic> gpu(Statistic percent, Statistic bytes) {
  return {{"Device Utilization %", percent},
          {"In use system memory", bytes},
          {"Alloc system memory", std::int64_t{9'000'000}}};
}

/// A healthy machine.
Mac machine() {
  Mac made;
  made.footprintBytes = 123'456'789;
  made.pages.free_count = 1000;
  made.pages.speculative_count = 300;
  made.pages.active_count = 5000;
  made.pages.inactive_count = 4000;
  made.pages.external_page_count = 2000;
  made.pages.internal_page_count = 7000;
  made.pages.purgeable_count = 50;
  made.pages.compressor_page_count = 640;
  made.pages.total_uncompressed_pages_in_compressor = 2000;
  made.pages.swapins = 70'000;
  made.pages.swapouts = 90'000;
  made.setSysctl("vm.swapusage", xsw_usage{1 << 30, 1 << 20, 777'000, 16384, 1});
  made.setSysctl("kern.memorystatus_vm_pressure_level", std::int32_t{2});
  made.setSysctl("hw.memsize", std::uint64_t{17'179'869'184});
  made.setSysctl("iogpu.wired_limit_mb", std::int32_t{12'288});
  made.accelerators = {gpu(std::int64_t{43}, std::int64_t{3'000'000'000})};
  made.thermalState = 2;
  made.lowPower = true;
  return made;
}

SystemReadings readOnce() {
  return makeSystemReader()->read();
}

}  // namespace

class TestMacSystemReadings : public QObject {
  Q_OBJECT

 private slots:
  void init() { mac() = machine(); }
  /// Whatever was answered, nothing is leaked, and each message has a pool.
  void cleanup() {
    QCOMPARE(mac().cfObjects, 0);
    QCOMPARE(mac().ioObjects, 0);
    QCOMPARE(mac().openPools, 0);
    QCOMPARE(mac().messagesOutsideOfPools, 0);
  }

  void readsAHealthyMac() {
    const SystemReadings readings = readOnce();
    QCOMPARE(readings.footprintBytes, std::int64_t{123'456'789});
    QCOMPARE(readings.swapUsedBytes, std::int64_t{777'000});
    QCOMPARE(readings.gpuPercent, 43.0F);
    QCOMPARE(readings.gpuBytes, std::int64_t{3'000'000'000});
    QCOMPARE(readings.pressure, events::Pressure::Warning);
    QCOMPARE(readings.compressorBytes, 640 * kPage);
    QCOMPARE(readings.swappedInBytes, 70'000 * kPage);
    QCOMPARE(readings.swappedOutBytes, 90'000 * kPage);
    QCOMPARE(readings.power.thermal, events::ThermalState::Serious);
    QCOMPARE(readings.power.mode, events::PowerMode::Low);
    QCOMPARE(physicalMemoryBytes(), std::uint64_t{17'179'869'184});
    QCOMPARE(gpuWiredLimitBytes().value(), std::uint64_t{12'288} << 20);
    QVERIFY(ticksAreSteady());
  }

  /// Activity Monitor's "memory used" is what is wired, compressed, or anonymous and not purgeable;
  /// all else is available. A made-up kernel counts as xnu does.
  void availableIsWhatActivityMonitorDoesNotCountAsUsed() {
    std::mt19937 random(5);
    std::uniform_int_distribution<std::uint32_t> pages(0, 1'000'000);
    for (int i = 0; i < 200; ++i) {
      const std::uint32_t unused = pages(random), speculative = pages(random);
      const std::uint32_t mappedFiles = pages(random), app = pages(random),
                          purgeable = pages(random), wired = pages(random),
                          compressor = pages(random);
      vm_statistics64_data_t& counts = mac().pages;
      counts = {};
      counts.free_count = unused + speculative;
      counts.speculative_count = speculative;
      counts.external_page_count = mappedFiles + speculative;
      counts.internal_page_count = app + purgeable;
      counts.purgeable_count = purgeable;
      counts.wire_count = wired;
      counts.compressor_page_count = compressor;
      counts.inactive_count = (app + mappedFiles) / 2;  // anonymous and file-backed pages alike
      counts.active_count = app + mappedFiles - counts.inactive_count + purgeable;
      const std::int64_t all =
          std::int64_t{unused} + speculative + mappedFiles + app + purgeable + wired + compressor;
      const std::int64_t used = std::int64_t{wired} + compressor + app;
      QCOMPARE(readOnce().availableBytes, (all - used) * kPage);
    }
  }

  void aKernelWithFewerFieldsLeavesThemUnknown() {
    mac().filled = 20;
    const SystemReadings readings = readOnce();
    QCOMPARE(readings.availableBytes, std::int64_t{-1});
    QCOMPARE(readings.compressorBytes, std::int64_t{-1});
    QCOMPARE(readings.swappedInBytes, std::int64_t{-1});
    QCOMPARE(readings.footprintBytes, std::int64_t{123'456'789});
  }

  void failedCallsLeaveTheirReadingsUnknown() {
    mac().taskInfo = KERN_FAILURE;
    mac().hostStatistics = KERN_FAILURE;
    mac().matching = KERN_FAILURE;
    mac().sysctls.clear();
    mac().hasFoundation = false;
    const SystemReadings readings = readOnce();
    QCOMPARE(readings.footprintBytes, std::int64_t{-1});
    QCOMPARE(readings.availableBytes, std::int64_t{-1});
    QCOMPARE(readings.compressorBytes, std::int64_t{-1});
    QCOMPARE(readings.swappedInBytes, std::int64_t{-1});
    QCOMPARE(readings.swappedOutBytes, std::int64_t{-1});
    QCOMPARE(readings.swapUsedBytes, std::int64_t{-1});
    QCOMPARE(readings.gpuPercent, -1.0F);
    QCOMPARE(readings.gpuBytes, std::int64_t{-1});
    QCOMPARE(readings.pressure, events::Pressure::Unknown);
    QCOMPARE(readings.power.thermal, events::ThermalState::Unknown);
    QCOMPARE(readings.power.mode, events::PowerMode::Unknown);
    QCOMPARE(physicalMemoryBytes(), std::uint64_t{0});
    QVERIFY(!gpuWiredLimitBytes());
  }

  void aCounterTooLargeForBytesIsUnknown() {
    mac().pages.swapins = std::numeric_limits<std::uint64_t>::max();
    mac().pages.speculative_count = 2000;  // more than is free
    const SystemReadings readings = readOnce();
    QCOMPARE(readings.swappedInBytes, std::int64_t{-1});
    QCOMPARE(readings.swappedOutBytes, 90'000 * kPage);
    QCOMPARE(readings.availableBytes, 2050 * kPage);
  }

  void sysctlsMayHaveAnotherSize_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<bool>("known");
    const auto bytesOf = [](auto value) {
      return QByteArray(reinterpret_cast<const char*>(&value), sizeof value);
    };
    QTest::newRow("4 bytes") << bytesOf(std::int32_t{4}) << true;
    QTest::newRow("8 bytes") << bytesOf(std::int64_t{4}) << true;
    QTest::newRow("2 bytes") << bytesOf(std::int16_t{4}) << false;
    QTest::newRow("nothing") << QByteArray() << false;
    QTest::newRow("a text") << QByteArray("a text that is longer") << false;
  }
  void sysctlsMayHaveAnotherSize() {
    QFETCH(QByteArray, bytes);
    QFETCH(bool, known);
    for (const char* name : {"kern.memorystatus_vm_pressure_level", "iogpu.wired_limit_mb",
                             "hw.memsize", "vm.swapusage"}) {
      mac().sysctls[name] = bytes.toStdString();
    }
    QCOMPARE(readOnce().pressure, known ? events::Pressure::Critical : events::Pressure::Unknown);
    QCOMPARE(gpuWiredLimitBytes(),
             known ? std::optional(std::uint64_t{4} << 20) : std::optional<std::uint64_t>());
    QCOMPARE(physicalMemoryBytes(), std::uint64_t{known ? 4u : 0u});
    QCOMPARE(readOnce().swapUsedBytes, std::int64_t{-1});
  }

  /// 0 is the system's default; a negative number is none.
  void theWiredLimitMayBeTheDefault() {
    mac().setSysctl("iogpu.wired_limit_mb", std::int32_t{0});
    QCOMPARE(gpuWiredLimitBytes().value(), std::uint64_t{0});
    mac().setSysctl("iogpu.wired_limit_mb", std::int32_t{-5});
    QVERIFY(!gpuWiredLimitBytes());
    mac().setSysctl("iogpu.wired_limit_mb", std::numeric_limits<std::int64_t>::max());
    QVERIFY(!gpuWiredLimitBytes());
  }

  void pressureLevels() {
    using events::Pressure;
    const std::map<std::int64_t, Pressure> levels = {
        {0, Pressure::Unknown},
        {1, Pressure::Normal},
        {2, Pressure::Warning},
        {3, Pressure::Unknown},
        {4, Pressure::Critical},
        {-1, Pressure::Unknown},
        {(std::int64_t{1} << 32) + 1, Pressure::Unknown}};
    for (const auto& [level, pressure] : levels) {
      mac().setSysctl("kern.memorystatus_vm_pressure_level", level);
      QCOMPARE(readOnce().pressure, pressure);
    }
  }

  void acceleratorsThatTellNothing_data() {
    QTest::addColumn<int>("which");
    const char* names[] = {
        "no accelerator",      "no statistics",        "statistics of another type", "no keys",
        "keys of other types", "numbers out of range", "a fraction of bytes"};
    for (int i = 0; i < 7; ++i) QTest::newRow(names[i]) << i;
  }
  void acceleratorsThatTellNothing() {
    QFETCH(int, which);
    using Values = std::map<std::string, Statistic>;
    const std::vector<std::vector<test::Statistics>> made = {
        {},
        {std::monostate{}},
        {OtherType{}},
        {Values{{"Renderer Utilization %", std::int64_t{3}}}},
        {gpu(OtherType{}, OtherType{})},
        {gpu(std::int64_t{101}, std::int64_t{-4096})},
        {gpu(-0.5, 12.25)}};
    mac().accelerators = made.at(static_cast<std::size_t>(which));
    const SystemReadings readings = readOnce();
    QCOMPARE(readings.gpuPercent, -1.0F);
    QCOMPARE(readings.gpuBytes, std::int64_t{-1});
    QCOMPARE(readings.footprintBytes, std::int64_t{123'456'789});
  }

  void oneUnknownKeyDoesNotHideTheOther() {
    mac().accelerators = {gpu(OtherType{}, std::int64_t{4096})};
    QCOMPARE(readOnce().gpuPercent, -1.0F);
    QCOMPARE(readOnce().gpuBytes, std::int64_t{4096});
    mac().accelerators = {gpu(12.5, OtherType{})};
    QCOMPARE(readOnce().gpuPercent, 12.5F);
    QCOMPARE(readOnce().gpuBytes, std::int64_t{-1});
    // A real number without a fraction is as good as an integer.
    mac().accelerators = {gpu(std::int64_t{0}, 8192.0)};
    QCOMPARE(readOnce().gpuPercent, 0.0F);
    QCOMPARE(readOnce().gpuBytes, std::int64_t{8192});
  }

  /// As on a Mac with a second accelerator that is no GPU.
  void takesTheFirstAcceleratorThatTellsSomething() {
    mac().accelerators = {std::monostate{}, OtherType{}, gpu(std::int64_t{7}, std::int64_t{4096}),
                          gpu(std::int64_t{99}, std::int64_t{1})};
    QCOMPARE(readOnce().gpuPercent, 7.0F);
    QCOMPARE(readOnce().gpuBytes, std::int64_t{4096});
  }

  /// mach_host_self() gives the process one more send right at each call.
  void readingOftenTakesOneHostPort() {
    const auto reader = makeSystemReader();
    const int ports = mac().hostPorts;
    for (int i = 0; i < 20; ++i) (void)reader->read();
    QCOMPARE(mac().hostPorts, ports);
    mac().pages.swapouts += 5;
    QCOMPARE(reader->read().swappedOutBytes, 90'005 * kPage);
  }

  void thermalStates() {
    using events::ThermalState;
    const std::map<long, ThermalState> states = {
        {-1, ThermalState::Unknown}, {0, ThermalState::Nominal},  {1, ThermalState::Fair},
        {2, ThermalState::Serious},  {3, ThermalState::Critical}, {4, ThermalState::Unknown}};
    for (const auto& [number, state] : states) {
      mac().thermalState = number;
      QCOMPARE(readOnce().power.thermal, state);
    }
    mac().lowPower = false;
    QCOMPARE(readOnce().power.mode, events::PowerMode::Normal);
  }

  /// macOS 11 has no Low Power Mode, and a message without a method ends the program.
  void asksOnlyForMethodsThatAreThere() {
    mac().lackedMethods = {"isLowPowerModeEnabled"};
    QCOMPARE(readOnce().power.mode, events::PowerMode::Unknown);
    QCOMPARE(readOnce().power.thermal, events::ThermalState::Serious);
    mac().lackedMethods = {"thermalState"};
    QCOMPARE(readOnce().power.mode, events::PowerMode::Low);
    QCOMPARE(readOnce().power.thermal, events::ThermalState::Unknown);
  }
};

HIGHWATER_TEST(TestMacSystemReadings, QCoreApplication)
#include "tst_mac_system_readings.moc"
