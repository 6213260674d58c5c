#include <numeric>

#include "analysis/comparison.h"
#include "core/names.h"
#include "core/units.h"
#include "support/sample_run.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::analysis;

namespace {

std::vector<double> normal(std::size_t count, double mean, double deviation, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> values(mean, deviation);
  std::vector<double> series(count);
  for (double& value : series) value = values(random);
  return series;
}

bool isNear(double value, double wanted, double share) {
  return std::abs(value - wanted) <= share * std::abs(wanted);
}

}  // namespace

class TestComparison : public QObject {
  Q_OBJECT

 private slots:
  void noiseIsThatOfTheory_data() {
    QTest::addColumn<int>("count");
    QTest::newRow("40 steps") << 40;
    QTest::newRow("400 steps") << 400;
    QTest::newRow("12000 steps, more than are resampled") << 12'000;
  }

  /// Of independent normal values with deviation s, the difference of two means has the standard
  /// error s * sqrt(2 / n), that of two medians sqrt(pi / 2) times as much; 95 % lie within 1.96.
  void noiseIsThatOfTheory() {
    QFETCH(int, count);
    double meanNoise = 0, medianNoise = 0;
    constexpr int kRepeats = 12;
    for (unsigned i = 0; i < kRepeats; ++i) {
      const auto a = normal(static_cast<std::size_t>(count), 200, 4, 10 + i);
      const auto b = normal(static_cast<std::size_t>(count), 230, 4, 90 + i);
      meanNoise += compareSeries(a, b, Statistic::kMean).noise / kRepeats;
      medianNoise += compareSeries(a, b, Statistic::kMedian).noise / kRepeats;
    }
    const double error = 1.96 * 4 * std::sqrt(2.0 / count);
    QVERIFY2(isNear(meanNoise, error, 0.2), qPrintable(QString::number(meanNoise / error)));
    const double medianError = error * std::sqrt(std::acos(-1.0) / 2);
    QVERIFY2(isNear(medianNoise, medianError, 0.25),
             qPrintable(QString::number(medianNoise / medianError)));
  }

  /// An honest interval: of ranges that do not differ, few seem to.
  void chanceSeldomSeemsAChange() {
    int beyond = 0;
    for (unsigned i = 0; i < 100; ++i) {
      const auto value = compareSeries(normal(60, 100, 3, 2 * i), normal(60, 100, 3, 2 * i + 1),
                                       Statistic::kMedian);
      beyond += value.beyondNoise();
    }
    QVERIFY2(beyond <= 14, qPrintable(QString::number(beyond)));
    QVERIFY(compareSeries(normal(60, 100, 3, 1), normal(60, 110, 3, 2), Statistic::kMedian)
                .beyondNoise());
  }

  /// Neighbouring steps vary together, which makes the noise larger than of independent ones.
  void blocksKeepWhatVariesTogether() {
    const auto steps = normal(40, 100, 5, 3);
    std::vector<double> slow;
    for (const double value : steps) slow.insert(slow.end(), 10, value);
    auto mixed = slow;
    std::shuffle(mixed.begin(), mixed.end(), std::mt19937(1));
    const double together = compareSeries(slow, slow, Statistic::kMean).noise;
    const double apart = compareSeries(mixed, mixed, Statistic::kMean).noise;
    QVERIFY2(together > 1.7 * apart, qPrintable(QString::number(together / apart)));
  }

  void fewOrEqualSteps() {
    QVERIFY(std::isnan(compareSeries({1, 2, 3, 4}, {1, 2, 3, 4, 5}, Statistic::kMean).noise));
    QVERIFY(!compareSeries({1, 2}, {100, 200}, Statistic::kMean).beyondNoise());
    const auto same =
        compareSeries(std::vector<double>(9, 7), std::vector<double>(20, 8), Statistic::kMedian);
    QCOMPARE(same.noise, 0.0);
    QCOMPARE(same.change(), 1.0);
    QVERIFY(same.beyondNoise());
    LiveStore store;
    QVERIFY(!compareRanges(store, {0, 100}, {200, 300}));
  }

  void rangesAreThoseOfBruteForce() {
    LiveStore store;
    test::feed(test::makeSampleRun({.steps = 60, .unplannedSyncEvery = 3}), store);
    const auto& steps = store.steps().records;
    const auto endOf = [](const events::StepRecord& step) {
      return step.begin_ns() + step.duration_ns();
    };
    // Both ranges cut a step at each end.
    const TimeRange a{steps[3].begin_ns() + 1, endOf(steps[25]) - 1};
    const TimeRange b{steps[31].begin_ns() + 1, endOf(steps[58]) - 1};
    const auto compared = compareRanges(store, a, b);
    QVERIFY(compared);
    QCOMPARE(compared->a.steps, std::uint64_t{21});
    QCOMPARE(compared->b.steps, std::uint64_t{26});

    const auto check = [&](std::size_t first, std::size_t last, bool isB) {
      std::vector<double> durations;
      double seconds = 0, tokens = 0, fallbacks = 0, unplanned = 0, planned = 0;
      std::array<double, 7> phases{};
      std::map<std::tuple<std::string, events::SyncKind, std::string>, double> ops;
      for (std::size_t i = first; i <= last; ++i) {
        durations.push_back(toMs(steps[i].duration_ns()));
        seconds += durations.back() / 1000;
        tokens += steps[i].tokens();
        const auto within = [&](const auto& event) {
          return event.begin_ns() >= steps[i].begin_ns() && event.begin_ns() < endOf(steps[i]);
        };
        for (const auto& each : store.phases()) {
          if (within(each)) phases[std::size_t(each.phase())] += toMs(each.duration_ns());
        }
        for (const auto& each : store.fallbacks()) {
          if (!within(each)) continue;
          fallbacks += toMs(each.duration_ns());
          ops[{store.name(each.op()), events::SyncKind::None,
               store.placeText(each.phase(), each.module_id(), each.call_site())}] +=
              toMs(each.duration_ns());
        }
        for (const auto& each : store.syncPoints()) {
          if (!within(each) || each.kind() == events::SyncKind::Fallback) continue;
          (each.deliberate() ? planned : unplanned) += toMs(each.duration_ns());
          ops[{store.name(each.op()), each.kind(),
               store.placeText(each.phase(), each.module_id(), each.call_site())}] +=
              toMs(each.duration_ns());
        }
      }
      const auto count = static_cast<double>(durations.size());
      std::sort(durations.begin(), durations.end());
      const auto rank = [&](double share) {
        return durations[static_cast<std::size_t>(std::ceil(share * count)) - 1];
      };
      const auto of = [isB](const ComparedValue& value) { return isB ? value.b : value.a; };
      const auto same = [](double value, double wanted) {
        return std::abs(value - wanted) <= 1e-9 * std::max(1.0, std::abs(wanted));
      };
      const auto fact = [&](std::string_view key) { return of(compared->of(key)); };
      QVERIFY(same(fact("step_ms.p50"), rank(0.5)));
      QVERIFY(same(fact("step_ms.p95"), rank(0.95)));
      QVERIFY(same(fact("tokens_per_s"), tokens / seconds));
      QVERIFY(same(fact("per_step.fallback_ms"), fallbacks / count));
      QVERIFY(same(fact("per_step.unplanned_sync_ms"), unplanned / count));
      QVERIFY(same(fact("per_step.planned_sync_ms"), planned / count));
      // The parts of a step add up to it.
      double parts = fact("per_step.outside_ms");
      for (const events::Phase phase : kPhases) {
        const double ms = fact("per_step.phases." + std::string(phaseKey(phase)));
        QVERIFY(same(ms, phases[static_cast<std::size_t>(phase)] / count));
        parts += ms;
      }
      QVERIFY(same(parts, std::accumulate(durations.begin(), durations.end(), 0.0) / count));
      double inOps = 0;
      for (const ComparedOp& op : compared->ops) {
        QVERIFY(same(of(op.ms), ops[{op.op, op.kind, op.where}] / count));
        inOps += of(op.ms);
      }
      QVERIFY(same(inOps, (fallbacks + unplanned + planned) / count));
    };
    check(4, 24, false);
    check(32, 57, true);
    std::uint64_t inA = 0, inB = 0;
    for (std::size_t i = 0; i < StepHistogram::kBins; ++i) {
      inA += compared->histogramA.counts[i];
      inB += compared->histogramB.counts[i];
    }
    QCOMPARE(inA, compared->a.steps);
    QCOMPARE(inB, compared->b.steps);
    QCOMPARE(compared->histogramA.lowMs, compared->histogramB.lowMs);
    QCOMPARE(compared->histogramA.highMs, compared->b.histogram.highMs);
    // The batch doubles at step 30.
    const ComparedValue p50 = compared->of("step_ms.p50");
    QVERIFY(p50.change() > 0 && p50.beyondNoise());
    QVERIFY(!compared->sameTokens);
    QVERIFY2(compared->sizesA != compared->sizesB, compared->sizesA.c_str());
    for (std::size_t i = 1; i < compared->ops.size(); ++i) {
      QVERIFY(std::abs(compared->ops[i].ms.change()) <= std::abs(compared->ops[i - 1].ms.change()));
    }
    const auto again = compareRanges(store, a, b);
    QCOMPARE(again->of("step_ms.p50").noise, p50.noise);
    const auto swapped = compareRanges(store, b, a);
    QCOMPARE(swapped->of("step_ms.p50").change(), -p50.change());
  }

  /// Every number of two runs is that of their own summaries, and those of steps have a noise.
  void runsHaveTheNumbersOfTheirSummaries() {
    LiveStore a, b;
    test::feed(test::makeSampleRun({.steps = 40, .doubleBatchAtStep = 0}), a);
    test::feed(test::makeSampleRun({.seed = 2, .steps = 60, .doubleBatchAtStep = 0}), b);
    const auto compared = compareRuns(a, b);
    QVERIFY(compared);
    QVERIFY(compared->sameTokens);
    const RunSummary inA = summarize(a), inB = summarize(b);
    std::size_t known = 0;
    for (const Fact& fact : facts()) {
      const auto wantedA = fact.value(a, inA), wantedB = fact.value(b, inB);
      if (!wantedA && !wantedB) continue;
      ++known;
      const ComparedValue value = compared->of(fact.key);
      QCOMPARE(value.a, *wantedA);
      QCOMPARE(value.b, *wantedB);
      QCOMPARE(std::isnan(value.noise), fact.ofStep == nullptr);
    }
    QCOMPARE(compared->facts.size(), known);
    QVERIFY(compared->rate() && compared->rate()->fact->key == "tokens_per_s");
    // A run differs from itself in nothing, and from none it cannot be told apart.
    const auto itself = compareRuns(a, a);
    for (const ComparedFact& each : itself->facts) {
      QCOMPARE(each.value.change(), 0.0);
      QVERIFY2(!each.differs(), each.fact->key.data());
    }
    QVERIFY(!compareRuns(a, LiveStore()));
    QVERIFY(std::isnan(compared->of("no.such_key").a));
  }
};

HIGHWATER_TEST(TestComparison, QCoreApplication)
#include "tst_comparison.moc"
