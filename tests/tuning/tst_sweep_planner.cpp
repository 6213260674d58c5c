#include <map>

#include "core/mps_heaps.h"
#include "core/units.h"
#include "support/test_program.h"
#include "support/text.h"
#include "tuning/device_limits.h"
#include "tuning/sweep_planner.h"

using namespace highwater;
using namespace highwater::tuning;
using namespace highwater::test;

namespace {

/// A device by formulas: memory grows with the tokens, throughput flattens.
struct Device {
  double fixed = 300.0 * kMiB, perToken = 500'000, perScore = 800, noise = 0.005;
  double fastest = 50'000, halfAt = 2000;  ///< tokens at which throughput is half of the fastest
  std::uint64_t refuses = ~std::uint64_t{0};
  std::mt19937_64 random = std::mt19937_64(1);

  double bytes(Setting s) const {
    const auto tokens = static_cast<double>(s.tokens());
    return fixed + perToken * tokens + perScore * tokens * s.length;
  }
  SweptSetting measure(Setting s) {
    std::uniform_real_distribution<double> within(-1, 1);
    const double current = bytes(s) * (1 + noise * within(random));
    SweptSetting measured{{.setting = s,
                           .peakCurrent = static_cast<std::uint64_t>(current),
                           .exact = true,
                           .peakDriver = static_cast<std::uint64_t>(current) + 30 * kMiB,
                           .leftAllocated = static_cast<std::uint64_t>(fixed),
                           .steps = 10}};
    measured.outOfMemory = measured.peakDriver > refuses;
    const auto tokens = static_cast<double>(s.tokens());
    std::vector<double> rates;
    for (int i = 0; i < 9; ++i) {
      rates.push_back(fastest * tokens / (tokens + halfAt) * (1 + 0.01 * within(random)));
    }
    measured.setThroughput(std::move(rates));
    return measured;
  }
};

SweepPlanner planner(SweepOptions options, const MemoryLimits& limits) {
  auto made = SweepPlanner::make(std::move(options), limits);
  if (!made) qFatal("%s", made.error().message.c_str());
  return *made;
}

/// Runs a sweep to its end; counts the settings above the limit.
int sweep(SweepPlanner& planner, Device& device, std::vector<Setting>* tried = nullptr) {
  int above = 0;
  while (const auto step = planner.next()) {
    const SweptSetting measured = device.measure(step->setting);
    if (planner.limitBytes() > 0 && measured.peakDriver > planner.limitBytes()) ++above;
    if (tried) tried->push_back(step->setting);
    planner.record(measured);
  }
  return above;
}

/// The recommended setting as it was measured; nullptr: none.
const SweptSetting* bestOf(const Sweep& result) {
  for (const SweptSetting& each : result.settings) {
    if (each.setting == result.best) return &each;
  }
  return nullptr;
}

/// The largest batch that was measured and is safe; 0: none.
std::uint32_t largestSafe(const Sweep& result) {
  std::uint32_t largest = 0;
  for (const SweptSetting& point : result.settings) {
    if (point.safe) largest = std::max(largest, point.setting.batch);
  }
  return largest;
}

}  // namespace

class TestSweepPlanner : public QObject {
  Q_OBJECT

 private slots:
  void refusesBoundsWithoutASetting() {
    const auto none = SweepPlanner::make({.smallestBatch = 8, .largestBatch = 4}, limitsOf(kGiB));
    QVERIFY(!none);
    QVERIFY(none.error().code == ErrorCode::kUsage);
    QVERIFY(contains(none.error().message, "from 8 to 4"));
    QVERIFY(
        contains(SweepPlanner::make({.smallestBatch = 9, .largestBatch = 15, .batchMultiple = 8},
                                    limitsOf(kGiB))
                     .error()
                     .message,
                 "multiple of 8"));
    QVERIFY(!SweepPlanner::make({.largestBatch = 4, .lengths = {0}}, limitsOf(kGiB)));
    QVERIFY(!SweepPlanner::make({.largestBatch = 4, .reserve = 1}, limitsOf(kGiB)));
    QVERIFY(!SweepPlanner::make({.largestBatch = 4, .reserve = NAN}, limitsOf(kGiB)));
  }

  void saysWhatTheModelNeeds() {
    const auto none =
        SweepPlanner::make({.largestBatch = 64, .knownFixed = 2 * kGiB}, limitsOf(kGiB));
    QVERIFY(!none);
    QVERIFY(contains(none.error().message, "weights, gradients and optimizer state take 2.00 GiB"));
    QVERIFY(contains(none.error().message, "921.6 MiB") || contains(none.error().message, "922"));
  }

  /// The smallest batch does not fit, which only measuring shows.
  void saysThatNothingFits() {
    Device device{.fixed = 2.0 * kGiB};
    SweepPlanner tried = planner({.largestBatch = 64, .lengths = {128}}, limitsOf(kGiB));
    sweep(tried, device);
    const Sweep result = tried.result();
    QVERIFY(!result.best);
    QVERIFY(contains(result.reason, "no setting stayed under the limit"));
    QVERIFY(contains(result.reason, "weights and optimizer take about"));
  }

  /// For devices and limits of all kinds: never above the limit, few settings, and the largest
  /// batch is the true one as closely as the bounds of driver memory allow.
  void findsTheLargestBatchSafely() {
    std::mt19937_64 random(17);
    int above = 0;
    for (int run = 0; run < 100; ++run) {
      Device device{.fixed = 50.0 * kMiB * (1 + random() % 20),
                    .perToken = 1e4 * (1 + random() % 100),
                    .perScore = 100.0 * (random() % 30)};
      device.random.seed(random());
      const std::uint64_t recommended = (8 + random() % 56) * kGiB;
      SweepPlanner tried = planner({.largestBatch = 4096,
                                    .lengths = {128},
                                    .start = Setting{8, 128},
                                    .mostSettings = 12,
                                    .onlyLargest = true},
                                   limitsOf(recommended));
      std::vector<Setting> settings;
      above += sweep(tried, device, &settings);
      QVERIFY2(settings.size() <= 8, qPrintable(QString::number(settings.size())));
      const auto limit = static_cast<double>(tried.limitBytes());
      const std::uint32_t found = largestSafe(tried.result());
      QVERIFY(found > 0);
      // It is what was asked for, however fast a smaller one is.
      QCOMPARE(*tried.result().best, (Setting{found, 128}));
      // A heap and the reuse of blocks are uncertain; the rest must be used.
      const double used = device.bytes({found, 128});
      QVERIFY(used <= limit);
      if (found < 4096) {
        const std::string text = std::to_string(used / limit) + " of the limit";
        QVERIFY2(limit - used < 0.06 * limit + 1.2 * kGiB, text.c_str());
      }
    }
    QVERIFY2(above <= 5, qPrintable(QString::number(above)));
  }

  void triesASettingAgainOnlyInTurns() {
    Device device;
    std::vector<Setting> tried;
    SweepPlanner all = planner(
        {.largestBatch = 512, .batchMultiple = 4, .lengths = {64, 128, 256}, .mostSettings = 40},
        limitsOf(16 * kGiB));
    QCOMPARE(sweep(all, device, &tried), 0);
    std::map<std::pair<std::uint32_t, std::uint32_t>, int> times;
    for (const Setting& s : tried) {
      ++times[{s.batch, s.length}];
      QCOMPARE(s.batch % 4, 0u);
      QVERIFY(s.batch >= 4 && s.batch <= 512);
    }
    const Sweep result = all.result();
    QCOMPARE(result.settings.size(), times.size());
    std::size_t again = 0;
    for (const SweptSetting& each : result.settings) {
      const int count = times[{each.setting.batch, each.setting.length}];
      QCOMPARE(each.times, static_cast<std::uint32_t>(count));
      QVERIFY(count == 1 || count == 3);
      again += count == 3 ? 1 : 0;
    }
    QVERIFY(again >= 2 && again <= 3);
    QVERIFY(result.complete);
  }

  /// What is recommended is nearly as fast as the fastest by the device's own formula, on a machine
  /// that is slow or fast while the first setting is measured, or changes its speed all the time.
  void comparesInTurns_data() {
    QTest::addColumn<double>("first");
    QTest::addColumn<double>("perTurn");
    QTest::newRow("steady") << 1.0 << 1.0;
    QTest::newRow("slow at first") << 0.7 << 1.0;
    QTest::newRow("fast at first") << 1.4 << 1.0;
    QTest::newRow("slower and slower") << 1.0 << 0.97;
    QTest::newRow("faster and faster") << 1.0 << 1.03;
  }
  void comparesInTurns() {
    QFETCH(double, first);
    QFETCH(double, perTurn);
    Device device{.halfAt = 1500};
    const auto rate = [&device](std::uint32_t batch) {
      const double tokens = 64.0 * batch;
      return device.fastest * tokens / (tokens + device.halfAt);
    };
    SweepPlanner tried = planner({.largestBatch = 512, .lengths = {64}, .start = Setting{64, 64}},
                                 limitsOf(64 * kGiB));
    double speed = first;
    while (const auto step = tried.next()) {
      SweptSetting measured = device.measure(step->setting);
      for (double& each : measured.rates) each *= speed;
      measured.setThroughput(measured.rates);
      tried.record(measured);
      speed = (tried.result().settings.size() == 1 ? 1 : speed) * perTurn;
    }
    const Sweep result = tried.result();
    QVERIFY(result.best);
    const double share = rate(result.best->batch) / rate(512);
    QVERIFY2(share > 0.92, result.reason.c_str());
    if (first == 1 && perTurn == 1) QVERIFY2(result.best->batch < 512, result.reason.c_str());
  }

  /// A batch that took more than was foreseen, as where a heap of its own was opened: those just
  /// below it are not tried next, and what is left out says so.
  void staysAwayFromWhatTookTooMuch() {
    SweepPlanner tried = planner({.largestBatch = 4096, .lengths = {1}, .start = Setting{100, 1}},
                                 limitsOf(32 * kGiB));
    std::uint32_t tooLarge = 0;
    while (const auto step = tried.next()) {
      const std::uint32_t batch = step->setting.batch;
      // Up to 500 each sample takes 32 MiB, and in larger ones half as much again.
      const double bytes = (3200 + batch * (batch <= 500 ? 32.0 : 48.0)) * kMiB;
      if (tooLarge > 0) QVERIFY2(batch <= 0.95 * tooLarge, std::to_string(batch).c_str());
      const auto whole = static_cast<std::uint64_t>(bytes);
      SweptSetting measured{{.setting = step->setting,
                             .peakCurrent = whole,
                             .exact = true,
                             .peakDriver = whole,
                             .steps = 5}};
      measured.setThroughput({1000.0 * batch});
      if (tooLarge == 0 && whole > tried.limitBytes()) tooLarge = batch;
      tried.record(std::move(measured));
    }
    QVERIFY(tooLarge > 0);
    QVERIFY(largestSafe(tried.result()) >= 500);
  }

  /// A sweep that is stopped between the turns compares what was measured before them.
  void aStopBetweenTheTurnsComparesTheFirstTimes() {
    Device device{.halfAt = 300};
    SweepPlanner tried = planner({.largestBatch = 256, .lengths = {128}, .start = Setting{32, 128}},
                                 limitsOf(64 * kGiB));
    std::optional<SweptSetting> step;
    while ((step = tried.next()) && !step->reason.starts_with("again")) {
      tried.record(device.measure(step->setting));
    }
    QVERIFY(step);
    const Sweep before = tried.result();
    SweptSetting slow = device.measure(step->setting);
    for (double& each : slow.rates) each *= 0.5;
    slow.setThroughput(slow.rates);
    const Sweep ended = tried.endedWith(slow);
    tried.record(slow);
    for (const Sweep& after : {ended, tried.result()}) {
      QCOMPARE(after.settings.size(), before.settings.size());
      QCOMPARE(*after.best, *before.best);
      for (std::size_t i = 0; i < after.settings.size(); ++i) {
        QCOMPARE(after.settings[i].tokensPerS, before.settings[i].tokensPerS);
      }
    }
  }

  /// A setting that does not fit when it is measured again ends the turns, and others are compared.
  void aTurnThatDoesNotFitIsNoneOfTheCompared() {
    Device device{.halfAt = 300};
    SweepPlanner tried = planner({.largestBatch = 256, .lengths = {128}, .start = Setting{32, 128}},
                                 limitsOf(64 * kGiB));
    std::optional<Setting> refused;
    int steps = 0;
    while (const auto step = tried.next()) {
      SweptSetting measured = device.measure(step->setting);
      if (step->reason.starts_with("again") && (!refused || refused == step->setting)) {
        refused = step->setting;
        measured = SweptSetting{};
        measured.setting = step->setting;
        measured.outOfMemory = true;
      }
      tried.record(std::move(measured));
      QVERIFY(++steps < 40);
    }
    const Sweep result = tried.result();
    QVERIFY(refused && result.best && result.best != refused);
    QVERIFY2(bestOf(result)->safe, result.reason.c_str());
  }

  /// Whether a setting is safe is what a process takes that comes to the end of an epoch, although
  /// no measured step did.
  void countsTheEndOfAnEpoch() {
    constexpr std::uint32_t kSamples = 1000;
    const MemoryLimits limits = limitsOf(kGiB);
    const auto driverOf = [&limits](std::initializer_list<std::uint64_t> batches) {
      MpsHeaps heaps(limits);
      for (const std::uint64_t batch : batches) heaps.free(heaps.allocate(batch * kMiB));
      return heaps.counters().driverPeakBytes;
    };
    SweepPlanner tried = planner(
        {.largestBatch = 4000, .lengths = {1}, .start = Setting{520, 1}, .epochSamples = kSamples},
        limits);
    while (const auto step = tried.next()) {
      const std::uint64_t batch = step->setting.batch, bytes = batch * kMiB;
      SweptSetting measured{{.setting = step->setting,
                             .peakCurrent = bytes,
                             .exact = true,
                             .peakDriver = driverOf({batch, batch}),
                             .steps = 3}};
      measured.setThroughput({1000.0 + static_cast<double>(batch)});
      StepTrace trace{step->setting, true, 0, {}};
      for (std::uint64_t i = 0; i < 4; ++i) {
        trace.steps.push_back({{1, bytes, bytes, i == 0 ? 0 : bytes}});
      }
      tried.record(std::move(measured), std::move(trace));
    }
    const Sweep result = tried.result();
    std::size_t onlyByTheEnd = 0;
    for (const SweptSetting& each : result.settings) {
      const std::uint64_t batch = each.setting.batch;
      const std::uint64_t shorter = batch < kSamples ? kSamples % batch : 0;
      const std::uint64_t truth =
          shorter > 0 ? driverOf({batch, batch, shorter, batch}) : driverOf({batch});
      QCOMPARE(each.safe, truth <= tried.limitBytes());
      onlyByTheEnd += !each.safe && each.peakDriver <= tried.limitBytes() ? 1 : 0;
      if (each.safe || each.peakDriver > tried.limitBytes()) continue;
      const std::string named =
          "the batch of " + std::to_string(shorter) + " with which an epoch ends";
      QVERIFY2(contains(each.reason, named.c_str()), each.reason.c_str());
    }
    QVERIFY(onlyByTheEnd > 0);
    QVERIFY2(result.best && bestOf(result)->safe, result.reason.c_str());
  }

  /// Batches that nobody would type are rounded where it costs next to nothing.
  void choosesRoundBatches() {
    Device device{.halfAt = 5000};
    std::vector<Setting> tried;
    SweepPlanner all = planner({.largestBatch = 10'000, .lengths = {1}, .start = Setting{8, 1}},
                               limitsOf(8 * kGiB));
    sweep(all, device, &tried);
    for (const Setting& s : tried)
      QVERIFY2(s.batch < 64 || s.batch % 8 == 0, std::to_string(s.batch).c_str());
  }

  void recommendsTheKnee() {
    Device device{.halfAt = 300};
    SweepPlanner tried =
        planner({.largestBatch = 512, .lengths = {128}, .mostSettings = 12}, limitsOf(64 * kGiB));
    sweep(tried, device);
    const Sweep result = tried.result();
    QVERIFY(result.best);
    QVERIFY(result.best->batch < 256);
    QVERIFY(bestOf(result)->tokensPerS > 0.9 * device.fastest);
    QVERIFY2(contains(result.reason, "of the best throughput"), result.reason.c_str());
    QVERIFY(contains(result.reason, "less memory"));
    QVERIFY(bestOf(result)->onFront);
    for (const SweptSetting& point : result.settings) {
      QVERIFY(point.lowerQuartile <= point.tokensPerS && point.tokensPerS <= point.upperQuartile);
    }
  }

  void recommendsTheLargestWhileThroughputGrows() {
    Device device{.halfAt = 1e7};
    SweepPlanner tried =
        planner({.largestBatch = 64, .lengths = {128}, .mostSettings = 6}, limitsOf(64 * kGiB));
    sweep(tried, device);
    QCOMPARE(tried.result().best->batch, 64u);
    QVERIFY(contains(tried.result().reason, "the fastest"));
  }

  void theFrontIsWhatNothingBeats() {
    Device device;
    SweepPlanner tried = planner({.largestBatch = 256, .lengths = {64, 128}, .mostSettings = 20},
                                 limitsOf(32 * kGiB));
    sweep(tried, device);
    const auto points = tried.result().settings;
    for (const SweptSetting& a : points) {
      bool beaten = false;
      for (const SweptSetting& b : points) {
        beaten = beaten || (b.safe && b.setting.length == a.setting.length &&
                            b.tokensPerS > a.tokensPerS && b.bytes() < a.bytes());
      }
      QVERIFY(a.onFront != beaten || a.bytes() == 0);
    }
  }

  void outOfMemoryIsNotTriedAgain() {
    Device device{.refuses = 2 * kGiB};
    SweepPlanner tried = planner({.largestBatch = 4096,
                                  .lengths = {128},
                                  .start = Setting{8, 128},
                                  .mostSettings = 30,
                                  .onlyLargest = true},
                                 limitsOf(16 * kGiB));
    std::uint32_t refused = ~std::uint32_t{0};
    while (const auto step = tried.next()) {
      QVERIFY(step->setting.batch < refused);
      const SweptSetting measured = device.measure(step->setting);
      if (measured.outOfMemory) refused = step->setting.batch;
      tried.record(measured);
    }
    QVERIFY(refused != ~std::uint32_t{0});
    const Sweep result = tried.result();
    QVERIFY(result.best && !bestOf(result)->outOfMemory);
    QVERIFY(largestSafe(result) < refused);
  }

  /// However large the first setting is: until one fits, each next one is half of it.
  void goesDownUntilOneFits_data() {
    QTest::addColumn<std::uint64_t>("recommended");
    QTest::addColumn<std::uint64_t>("refuses");
    QTest::newRow("out of memory") << 16 * kGiB << 2 * kGiB;
    QTest::newRow("without a limit") << std::uint64_t{0} << 2 * kGiB;
    QTest::newRow("above the limit") << 2 * kGiB << 1000 * kGiB;
  }
  void goesDownUntilOneFits() {
    QFETCH(std::uint64_t, recommended);
    QFETCH(std::uint64_t, refuses);
    Device device{.refuses = refuses};
    SweepPlanner tried = planner(
        {.largestBatch = 2048, .lengths = {128}, .start = Setting{1024, 128}, .mostSettings = 4},
        limitsOf(recommended));
    std::vector<Setting> settings;
    sweep(tried, device, &settings);
    // What was measured above the limit tells how far down to go; what was refused tells nothing.
    const std::uint32_t halvings = refuses > 100 * kGiB ? 1 : 6;
    QVERIFY(settings.size() > halvings);
    for (std::uint32_t i = 0; i < halvings; ++i) QCOMPARE(settings[i].batch, 1024U >> i);
    const Sweep result = tried.result();
    QVERIFY(result.best && bestOf(result)->safe);
    QVERIFY(result.best->batch >= 8);
    QVERIFY(std::count_if(result.settings.begin(), result.settings.end(),
                          [](const SweptSetting& point) { return point.safe; }) <= 4);
  }

  /// One request has opened a heap of 1 GiB, which the likely peaks of all smaller batches count as
  /// well: that is no reason to measure none of them.
  void goesDownPastALargeHeap_data() {
    QTest::addColumn<bool>("known");
    QTest::newRow("measured by the sweep") << false;
    QTest::newRow("known before it") << true;
  }
  void goesDownPastALargeHeap() {
    QFETCH(bool, known);
    const auto measured = [](Setting setting) {
      SweptSetting each{{.setting = setting,
                         .peakCurrent = (24 + setting.batch) * kMiB,
                         .exact = true,
                         .peakDriver = (setting.batch < 96 ? 80 + setting.batch : 1104) * kMiB,
                         .steps = 8}};
      each.setThroughput({1000.0 * setting.batch});
      return each;
    };
    const std::vector<Observation> before{measured({96, 64})};
    auto made =
        SweepPlanner::make({.largestBatch = 256, .lengths = {64}, .start = Setting{96, 64}},
                           limitsOf(1000 * kMiB), known ? before : std::vector<Observation>());
    QVERIFY(made);
    std::vector<Setting> settings;
    while (const auto step = made->next()) {
      settings.push_back(step->setting);
      made->record(measured(step->setting));
    }
    const Sweep result = made->result();
    QVERIFY2(result.best && bestOf(result)->safe, result.reason.c_str());
    QVERIFY(largestSafe(result) >= 48 && largestSafe(result) < 96);
    // The first smaller one has half the tokens, and fits.
    QCOMPARE(settings[known ? 0 : 1].batch, 48U);
  }

  /// Where weights and optimizer alone are above the limit, no smaller batch is tried.
  void givesUpWhereNothingCanFit() {
    Device device{.fixed = 4.0 * kGiB, .perToken = 1000};
    auto made = SweepPlanner::make({.largestBatch = 64, .lengths = {64}, .start = Setting{64, 64}},
                                   limitsOf(2 * kGiB));
    QVERIFY(made);
    made->record(device.measure({64, 64}));
    const auto next = made->next();
    QVERIFY(!next);
    QVERIFY(contains(made->result().reason, "no setting stayed under the limit"));
  }

  /// Only the shorter length fits, and only its smallest batches.
  void goesDownToShorterLengths() {
    Device device{.refuses = 400 * kMiB};
    SweepPlanner tried = planner(
        {.largestBatch = 64, .lengths = {64, 512}, .start = Setting{8, 512}}, limitsOf(16 * kGiB));
    sweep(tried, device);
    const Sweep result = tried.result();
    QVERIFY(result.best);
    QCOMPARE(result.best->length, 64U);
    QVERIFY(result.complete);
    Device full{.refuses = 1};
    SweepPlanner none = planner(
        {.largestBatch = 64, .lengths = {64, 512}, .start = Setting{8, 512}}, limitsOf(16 * kGiB));
    std::vector<Setting> settings;
    sweep(none, full, &settings);
    QVERIFY(!none.result().best);
    QVERIFY((settings.back() == Setting{1, 64}));
  }

  /// Once a setting fits, no bound of a proposed one is above the limit, and no batch is spent
  /// within a few percent of another one.
  void proposesOnlyWhatStaysUnderTheLimit() {
    std::mt19937_64 random(29);
    for (int run = 0; run < 40; ++run) {
      Device device{.fixed = 50.0 * kMiB * (1 + random() % 20),
                    .perToken = 1e4 * (1 + random() % 100),
                    .perScore = 100.0 * (random() % 30),
                    .halfAt = 100.0 * (1 + random() % 100)};
      device.random.seed(random());
      SweepPlanner tried = planner({.largestBatch = 1024,
                                    .lengths = {32, 128},
                                    .start = Setting{16, 128},
                                    .mostSettings = 16},
                                   limitsOf((2 + random() % 30) * kGiB));
      bool fits = false;
      std::vector<Setting> settings;
      while (const auto step = tried.next()) {
        if (fits) {
          QVERIFY(step->predicted.upper <= tried.limitBytes());
          for (const Setting& each : settings) {
            const double ratio = static_cast<double>(step->setting.batch) / each.batch;
            if (step->reason.starts_with("again")) continue;
            if (each.length != step->setting.length || each.batch < 32) continue;
            QVERIFY2(ratio > 1.05 || ratio < 1 / 1.05, qPrintable(QString::number(ratio)));
          }
        }
        SweptSetting measured = device.measure(step->setting);
        fits = fits || measured.peakDriver <= tried.limitBytes();
        settings.push_back(step->setting);
        tried.record(std::move(measured));
      }
    }
  }

  /// However large the bounds are, no setting is far from what was measured before it.
  void growsByBoundedSteps() {
    std::mt19937_64 random(5);
    for (int run = 0; run < 40; ++run) {
      Device device{.fixed = 50.0 * kMiB * (1 + random() % 20),
                    .perToken = 1e4 * (1 + random() % 100),
                    .perScore = 100.0 * (random() % 30),
                    .halfAt = 100.0 * (1 + random() % 1000)};
      device.random.seed(random());
      const std::uint32_t first = 1 + random() % 32;
      const bool isLimited = random() % 4 > 0;
      SweepPlanner tried = planner({.largestBatch = 4096,
                                    .lengths = {32, 128},
                                    .start = Setting{first, 128},
                                    .mostSettings = 20,
                                    .onlyLargest = random() % 2 == 0},
                                   limitsOf(isLimited ? (4 + random() % 60) * kGiB : 0));
      std::uint64_t tokens = 0;
      while (const auto step = tried.next()) {
        QVERIFY2(tokens == 0 || step->setting.tokens() <= 4 * tokens,
                 settingText(step->setting).c_str());
        tokens = std::max(tokens, step->setting.tokens());
        tried.record(device.measure(step->setting));
      }
      QVERIFY(tokens > 16 * first);
    }
  }

  /// Requests below 512 MiB open heaps of 1 GiB, which are above the limit, and larger ones have
  /// heaps of their own: those are safe again, but far from what was measured.
  void leavesOutWhatIsTooFar() {
    SweepPlanner tried = planner({.largestBatch = 800,
                                  .lengths = {1},
                                  .start = Setting{2, 1},
                                  .mostSettings = 20,
                                  .onlyLargest = true},
                                 limitsOf(1000 * kMiB));
    std::uint64_t largest = 0;
    while (const auto step = tried.next()) {
      const std::uint32_t batch = step->setting.batch;
      QVERIFY2(largest == 0 || batch <= 16 * largest, qPrintable(QString::number(batch)));
      largest = std::max<std::uint64_t>(largest, batch);
      const std::uint64_t bytes = batch * kMiB;
      const std::uint64_t heap = batch < 2 ? 8 * kMiB : batch < 10 ? 32 * kMiB : kGiB;
      SweptSetting measured{{.setting = step->setting,
                             .peakCurrent = bytes,
                             .exact = true,
                             .peakDriver = heap,
                             .steps = 3}};
      measured.setThroughput({1000});
      StepTrace trace{step->setting, true, 0, {}};
      for (std::uint64_t i = 0; i < 4; ++i) {
        trace.steps.push_back({{1, bytes, bytes, i == 0 ? 0 : bytes}});
      }
      tried.record(std::move(measured), std::move(trace));
    }
    QVERIFY(tried.model() && tried.model()->confidence().fromRequests);
    QVERIFY(largest >= 8 && largest < 10);
    const Sweep result = tried.result();
    QCOMPARE(result.leftOut.size(), 1U);
    QVERIFY2(contains(result.leftOut.front().reason, "it may take up to "),
             result.leftOut.front().reason.c_str());
  }

  /// The smallest batch of a length is tried even if it is far from what was measured.
  void triesTheSmallestBatchOfALength() {
    Device device{.perToken = 5000, .perScore = 1};
    SweepPlanner tried = planner({.smallestBatch = 8,
                                  .largestBatch = 64,
                                  .lengths = {16, 1024},
                                  .start = Setting{8, 16},
                                  .mostSettings = 20,
                                  .onlyLargest = true},
                                 limitsOf(64 * kGiB));
    std::vector<Setting> settings;
    QCOMPARE(sweep(tried, device, &settings), 0);
    const auto first = std::find_if(settings.begin(), settings.end(),
                                    [](Setting each) { return each.length == 1024; });
    QVERIFY(first != settings.end());
    QCOMPARE(first->batch, 8U);
    QCOMPARE(largestSafe(tried.result()), 64U);
  }

  /// A setting that would take too long is left out, and the sweep says so; with more time, or
  /// where the step times are unknown, it is measured.
  void leavesOutWhatTakesTooLong() {
    const auto largestOf = [](double seconds, bool knowsTimes, Sweep& result) {
      Device device{.halfAt = 1e7};
      SweepPlanner tried = planner({.largestBatch = 512,
                                    .lengths = {64},
                                    .start = Setting{8, 64},
                                    .mostSettings = 20,
                                    .longestSettingS = seconds,
                                    .stepsPerSetting = 10},
                                   limitsOf(64 * kGiB));
      std::uint32_t largest = 0;
      while (const auto step = tried.next()) {
        SweptSetting measured = device.measure(step->setting);
        if (knowsTimes) measured.stepMs = 10.0 * step->setting.batch;
        largest = std::max(largest, step->setting.batch);
        tried.record(std::move(measured));
      }
      result = tried.result();
      return largest;
    };
    Sweep result;
    // 10 steps of batch 100 take 10 s.
    QCOMPARE(largestOf(10, true, result), 100U);
    QCOMPARE(result.leftOut.size(), 1U);
    QVERIFY((result.leftOut.front().setting == Setting{200, 64}));
    const std::string& reason = result.leftOut.front().reason;
    QVERIFY2(contains(reason, "its 10 steps would take about 20 s, and a setting may take 10 s"),
             reason.c_str());
    QCOMPARE(largestOf(1000, true, result), 512U);
    QVERIFY(result.leftOut.empty());
    QCOMPARE(largestOf(10, false, result), 512U);
    QCOMPARE(largestOf(0, true, result), 512U);
  }

  /// What was left out for its memory, and for the number of settings, has its reason in words.
  void saysWhatItLeavesOut() {
    Device device;
    SweepPlanner tried = planner(
        {.largestBatch = 4096, .lengths = {128}, .start = Setting{8, 128}, .mostSettings = 20},
        limitsOf(8 * kGiB));
    sweep(tried, device);
    const Sweep limited = tried.result();
    QCOMPARE(limited.leftOut.size(), 1U);
    const SweptSetting& left = limited.leftOut.front();
    QVERIFY(left.predicted.upper > tried.limitBytes());
    QVERIFY2(contains(left.reason, "it may take up to ") &&
                 contains(left.reason, "nothing may exceed 7.20 GiB"),
             left.reason.c_str());
    SweepPlanner brief = planner(
        {.largestBatch = 4096, .lengths = {128}, .start = Setting{8, 128}, .mostSettings = 2},
        limitsOf(64 * kGiB));
    sweep(brief, device);
    QCOMPARE(brief.result().leftOut.size(), 1U);
    QVERIFY(contains(brief.result().leftOut.front().reason, "number of settings, 2, was used up"));
    // As long as there is something to measure, nothing is left out yet.
    SweepPlanner begun = planner({.largestBatch = 4096, .lengths = {128}}, limitsOf(64 * kGiB));
    begun.record(device.measure(begun.next()->setting));
    QVERIFY(begun.result().leftOut.empty());
  }

  /// One that ends counts its last measurement, without computing what would follow.
  void endsWithItsLastMeasurement() {
    Device device;
    SweepPlanner tried =
        planner({.largestBatch = 64, .lengths = {128}, .start = Setting{8, 128}}, limitsOf(kGiB));
    const Sweep none = tried.endedWith(std::nullopt);
    QVERIFY(!none.complete && !none.best && none.reason == "nothing was measured");
    const Sweep one = tried.endedWith(device.measure({8, 128}));
    QVERIFY(!one.complete && one.settings.size() == 1 && one.settings.front().safe);
    QVERIFY(one.best && one.best->batch == 8);
    QVERIFY(tried.result().settings.empty());
  }

  /// Another length is another task, however fast it is.
  void comparesOneLength() {
    for (const std::uint32_t length : {32U, 256U}) {
      Device device;
      SweepPlanner tried = planner({.largestBatch = 64,
                                    .lengths = {32, 256},
                                    .start = Setting{8, length},
                                    .mostSettings = 10},
                                   limitsOf(64 * kGiB));
      sweep(tried, device);
      const Sweep result = tried.result();
      QVERIFY(result.best);
      QCOMPARE(result.best->length, length);
      const std::string says = "only settings of length " + std::to_string(length);
      QVERIFY2(contains(result.reason, says.c_str()), result.reason.c_str());
      QVERIFY2(contains(result.reason, "tokens/s (middle half"), result.reason.c_str());
    }
  }

  void saysWhatIsWithinTheNoise() {
    SweepPlanner tried = planner({.largestBatch = 16, .lengths = {64}, .start = Setting{8, 64}},
                                 limitsOf(64 * kGiB));
    const auto measured = [](std::uint32_t batch, double rate) {
      SweptSetting each{{.setting = {batch, 64},
                         .peakCurrent = batch * kMiB,
                         .peakDriver = 2 * batch * kMiB,
                         .steps = 5}};
      each.setThroughput({0.9 * rate, rate, 1.1 * rate});
      return each;
    };
    tried.record(measured(8, 1000));
    tried.record(measured(16, 1020));
    const std::string close = tried.result().reason;
    QVERIFY2(contains(close, "the difference to 16 \u00d7 64 is within the noise"), close.c_str());
    tried.record(measured(12, 5000));
    const std::string clear = tried.result().reason;
    QVERIFY2(contains(clear, "batch 12") && !contains(clear, "noise"), clear.c_str());
  }

  void theCpuHasOnlyThroughput() {
    Device device;
    SweepPlanner tried =
        planner({.largestBatch = 64, .lengths = {128}, .mostSettings = 6, .hasMemory = false}, {});
    while (const auto step = tried.next()) {
      SweptSetting measured = device.measure(step->setting);
      measured.peakCurrent = measured.peakDriver = 0;
      measured.leftAllocated = 0;
      tried.record(measured);
    }
    const Sweep result = tried.result();
    QVERIFY(result.settings.size() >= 3);
    QVERIFY(result.best);
    QVERIFY(contains(result.reason, "the CPU has no device memory"));
  }

  void anInterruptedSweepKeepsWhatItHas() {
    Device device;
    SweepPlanner tried = planner({.largestBatch = 256, .lengths = {128}}, limitsOf(16 * kGiB));
    QCOMPARE(tried.result().reason, std::string("nothing was measured"));
    QVERIFY(!tried.result().complete);
    const auto first = tried.next();
    QVERIFY(first);
    tried.record(device.measure(first->setting));
    const Sweep result = tried.result();
    QVERIFY(!result.complete);
    QCOMPARE(result.settings.size(), 1u);
    QVERIFY(result.best && *result.best == first->setting);
  }

  void whatIsKnownSavesSettings() {
    Device device;
    std::vector<Observation> known;
    for (const std::uint32_t batch : {32U, 64U, 128U}) {
      known.push_back(device.measure({batch, 128}));
    }
    auto made = SweepPlanner::make({.largestBatch = 4096, .lengths = {128}, .onlyLargest = true},
                                   limitsOf(16 * kGiB), known);
    QVERIFY(made);
    const auto first = made->next();
    QVERIFY(first);
    QVERIFY(first->setting.batch > 128);
    QVERIFY(first->predicted.upper <= made->limitBytes());
  }
};

HIGHWATER_TEST(TestSweepPlanner, QCoreApplication)
#include "tst_sweep_planner.moc"
