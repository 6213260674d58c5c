// Statistics of a benchmark of the CPU against MPS.

#include "support/test_program.h"
#include "tuning/benchmark.h"

using namespace highwater::tuning;

namespace {

BenchmarkSide side(std::vector<double> submitted, std::vector<double> done) {
  BenchmarkSide made;
  made.submittedMs = std::move(submitted);
  made.doneMs = std::move(done);
  return made;
}

/// One half-width of the binomial distribution with p = 1/2, by counting all outcomes.
double coverageByCounting(int values, int below) {
  int inside = 0;
  for (int outcome = 0; outcome < (1 << values); ++outcome) {
    const int belowMedian = __builtin_popcount(static_cast<unsigned>(outcome));
    if (belowMedian > below && belowMedian < values - below) ++inside;
  }
  return static_cast<double>(inside) / (1 << values);
}

}  // namespace

class TestBenchmark : public QObject {
  Q_OBJECT

 private slots:
  void spreadIsOfACall() {
    const BenchmarkSide measured = side({1, 2, 3, 4}, {400, 100, 300, 200});
    const Spread honest = honestMs(measured, 100);
    QCOMPARE(honest.median, 2.5);
    QCOMPARE(honest.lower, 1.0);
    QCOMPARE(honest.upper, 3.0);
    QCOMPARE(honest.least, 1.0);
    QCOMPARE(honest.most, 4.0);
    QCOMPARE(honest.count, std::size_t{4});
    QCOMPARE(naiveMs(measured, 100).median, 0.025);
    QCOMPARE(spreadOf({}).count, std::size_t{0});
  }

  void missedShareIsWhatWasStillQueued() {
    QCOMPARE(missedShare(side({1, 1, 1}, {100, 100, 100})), 0.99);
    QCOMPARE(missedShare(side({100, 50}, {100, 50})), 0.0);
    QCOMPARE(missedShare(side({}, {})), 0.0);
  }

  void ratioIsOfRounds() {
    BenchmarkTiming timing;
    // Twice as slow on the CPU in each round, while the machine becomes ten times as slow.
    timing.cpu = side({}, {2, 4, 20, 40, 11, 9});
    timing.mps = side({}, {1, 2, 10, 20, 5, 5});
    const Interval ratio = cpuOverMps(timing);
    QCOMPARE(ratio.median, 2.0);
    QCOMPARE(ratio.low, 2.0);
    QCOMPARE(ratio.high, 2.0);
    QCOMPARE(ratio.coverage, 0.75);
    QCOMPARE(fasterOf(ratio), Faster::kMps);
    std::swap(timing.cpu, timing.mps);
    QCOMPARE(fasterOf(cpuOverMps(timing)), Faster::kCpu);
    timing.mps.doneMs.pop_back();  // the last round is not complete
    timing.cpu.doneMs[0] = 100;
    QCOMPARE(fasterOf(cpuOverMps(timing)), Faster::kUnclear);
    // Of one round nothing is known but its ratio.
    timing.cpu = side({}, {20, 20});
    timing.mps = side({}, {1, 1});
    QCOMPARE(cpuOverMps(timing).median, 20.0);
    QCOMPARE(cpuOverMps(timing).coverage, 0.0);
    QCOMPARE(fasterOf(cpuOverMps(timing)), Faster::kUnclear);
    QCOMPARE(cpuOverMps(BenchmarkTiming()).median, 0.0);
    QCOMPARE(fasterOf(cpuOverMps(BenchmarkTiming())), Faster::kUnclear);
  }

  /// The interval is that of the sign test: its coverage by counting, and no narrower one has 95 %.
  void intervalCoversTheMedian() {
    std::mt19937 random(7);
    std::lognormal_distribution<double> draw(0, 1);
    for (int count = 1; count <= 18; ++count) {
      std::vector<double> values;
      for (int i = 0; i < count; ++i) values.push_back(draw(random));
      const Interval interval = medianInterval(values);
      std::sort(values.begin(), values.end());
      int below = 0;
      while (values[static_cast<std::size_t>(below)] != interval.low) ++below;
      QCOMPARE(interval.high, values[static_cast<std::size_t>(count - 1 - below)]);
      QVERIFY(std::abs(interval.coverage - coverageByCounting(count, below)) < 1e-12);
      if (count < 6) {
        QCOMPARE(below, 0);
        continue;
      }
      QVERIFY(interval.coverage >= 0.95);
      QVERIFY(coverageByCounting(count, below + 1) < 0.95);
    }
  }

  /// Of many samples about as many intervals as promised contain the true median, which is 1.
  void intervalKeepsItsPromise() {
    std::mt19937 random(11);
    std::lognormal_distribution<double> draw(0, 2);
    int inside = 0;
    constexpr int kSamples = 4000;
    double promised = 0;
    for (int sample = 0; sample < kSamples; ++sample) {
      std::vector<double> values;
      for (int i = 0; i < 9; ++i) values.push_back(draw(random));
      const Interval interval = medianInterval(values);
      promised = interval.coverage;
      if (interval.low <= 1 && 1 <= interval.high) ++inside;
    }
    QVERIFY(std::abs(static_cast<double>(inside) / kSamples - promised) < 0.02);
  }
};

HIGHWATER_TEST(TestBenchmark, QCoreApplication)
#include "tst_benchmark.moc"
