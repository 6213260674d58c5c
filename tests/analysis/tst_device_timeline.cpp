#include "analysis/device/device_timeline.h"

#include "analysis/device/idle_estimate.h"
#include "queue_model.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;
using namespace highwater::analysis;
using events::Phase;

namespace {

double idleMs(const DeviceTimeline& device, std::int64_t beginNs, std::int64_t endNs) {
  const auto busy = device.busyShare(beginNs, endNs);
  return busy ? (1 - *busy) * static_cast<double>(endNs - beginNs) / kMs : -1;
}

std::vector<std::tuple<std::int64_t, std::int64_t, std::uint32_t, int>> spansOf(
    const SpanIndex& lane) {
  std::vector<std::tuple<std::int64_t, std::int64_t, std::uint32_t, int>> spans;
  for (std::size_t i = 0; i < lane.size(); ++i) {
    spans.emplace_back(lane[i].beginNs, lane[i].endNs, lane[i].payload, lane[i].category);
  }
  return spans;
}

/// The events of a batch that are known when `steps` steps have ended; device spans come later.
OwnedBatch partOf(const OwnedBatch& all, std::size_t from, std::size_t to, std::size_t late) {
  const auto edge = [&all](std::size_t step) {
    return step < all.steps.size() ? all.steps[step].begin_ns() : endOf(all);
  };
  OwnedBatch part;
  const auto take = [&](const auto& events, auto& into) {
    for (const auto& each : events) {
      if (each.begin_ns() >= edge(from) && each.begin_ns() < edge(to)) into.push_back(each);
    }
  };
  take(all.steps, part.steps);
  take(all.phases, part.phases);
  take(all.syncPoints, part.syncPoints);
  take(all.fallbacks, part.fallbacks);
  for (const auto& span : all.deviceSpans) {
    if (span.step() + late > from && span.step() + late <= to) part.deviceSpans.push_back(span);
  }
  part.completeUpToNs = edge(to);
  return part;
}

}  // namespace

class TestDeviceTimeline : public QObject {
  Q_OBJECT

 private slots:
  void spansOfAYearStayWithinTheRun() {
    constexpr std::int64_t kYearNs = std::int64_t{366} * 24 * 3600 * 1'000'000'000;
    OwnedBatch batch;
    for (std::uint32_t i = 0; i < 1000; ++i) {
      batch.steps.emplace_back(i * 10 * kMs, 10 * kMs, 1, 1, kYearNs, i + 1, 16, 64, 1024, 0, 0, 0);
    }
    const LiveStore store = storeOf(batch);
    const SpanIndex& spans = store.deviceTimeline().stepSpans();
    QCOMPARE(spans.size(), 1000u);
    for (std::size_t i = 0; i < spans.size(); ++i) {
      QVERIFY(spans[i].beginNs >= 0 && spans[i].beginNs <= store.completeUpToNs());
      QCOMPARE(spans[i].endNs - spans[i].beginNs, kYearNs);
    }
  }

  /// The lane's idle time of each step is the probable idle time of the estimate.
  void agreesWithTheEstimate_data() {
    QTest::addColumn<bool>("spans");
    QTest::newRow("with device spans") << true;
    QTest::newRow("some without") << false;
  }

  void agreesWithTheEstimate() {
    QFETCH(bool, spans);
    std::mt19937 random(3);
    for (int round = 0; round < 200; ++round) {
      const QueueModel model = randomRun(random, 10, spans);
      const LiveStore store = storeOf(model.batch());
      const IdleSummary idle = estimateIdle(store);
      const auto& records = store.steps().records;
      const DeviceTimeline& device = store.deviceTimeline();
      int compared = 0;
      for (std::size_t i = 0; i < idle.steps.size(); ++i) {
        const std::int64_t from = records[i + 1].begin_ns(), to = records[i + 2].begin_ns();
        if (from < device.beginNs() || to > device.endNs() || from == to) continue;
        const double found = idleMs(device, from, to), wanted = idle.steps[i].total.probable;
        QVERIFY2(std::abs(found - wanted) < 1e-3,
                 qPrintable(QString("round %1, step %2: %3, not %4")
                                .arg(round)
                                .arg(idle.steps[i].step)
                                .arg(found)
                                .arg(wanted)));
        ++compared;
      }
      QVERIFY(compared >= 6);
    }
  }

  /// Where waits and device spans show all, the busy time is where the device was busy.
  void aBusyDeviceIsBusyWhereItWas() {
    ModelStep step = evenStep(1000);
    step.assemblyNs = 25 * kMs;
    const QueueModel model = runOf(step, 20);
    const LiveStore store = storeOf(model.batch());
    const DeviceTimeline& device = store.deviceTimeline();
    QVERIFY(device.knowsActivity());
    for (std::int64_t at = device.beginNs(); at + 7 * kMs <= device.endNs(); at += 7 * kMs) {
      const double truth = static_cast<double>(model.idleNs(at, at + 7 * kMs)) / kMs;
      QVERIFY(std::abs(idleMs(device, at, at + 7 * kMs) - truth) < 0.2);
    }
  }

  void deviceSpansAreWhereTheyWere() {
    const QueueModel model = runOf(evenStep(1000), 20);
    const LiveStore store = storeOf(model.batch());
    const SpanIndex& lane = store.deviceTimeline().stepSpans();
    QCOMPARE(lane.size(), std::size_t{20});
    for (std::size_t i = 0; i < lane.size(); ++i) {
      const auto& span = model.batch().deviceSpans[i];
      QCOMPARE(lane[i].endNs, span.time_ns());
      QCOMPARE(lane[i].endNs - lane[i].beginNs, span.device_ns());
      QCOMPARE(lane[i].payload, static_cast<std::uint32_t>(i));
      QCOMPARE(int(lane[i].category), int(DeviceTimeline::kPlaced));
    }
  }

  /// Without a wait in the move only the length is known: spans stand one behind the other.
  void aSpanWithoutAPlaceIsMarkedAsSuch() {
    OwnedBatch batch = runOf(evenStep(1000), 20).batch();
    batch.syncPoints.clear();
    const LiveStore store = storeOf(batch);
    const DeviceTimeline& device = store.deviceTimeline();
    QVERIFY(!device.knowsActivity());
    QVERIFY(!device.busyShare(0, endOf(batch)));
    QCOMPARE(device.stepSpans().size(), std::size_t{20});
    for (std::size_t i = 0; i < 20; ++i) {
      const Span& span = device.stepSpans()[i];
      QCOMPARE(int(span.category), int(DeviceTimeline::kPlaceEstimated));
      QCOMPARE(span.endNs - span.beginNs, batch.deviceSpans[i].device_ns());
      QVERIFY(i == 0 || span.beginNs >= device.stepSpans()[i - 1].endNs);
    }
  }

  /// Built while the run grows, with device spans that arrive late, it is the same in the end.
  void growsToTheSame_data() {
    QTest::addColumn<unsigned>("seed");
    QTest::addColumn<int>("late");
    for (unsigned seed = 0; seed < 8; ++seed) {
      QTest::addRow("seed %u", seed) << seed << static_cast<int>(seed % 6);
    }
  }

  void growsToTheSame() {
    QFETCH(unsigned, seed);
    QFETCH(int, late);
    std::mt19937 random(seed);
    // The device is slower than the host, so that no end must be guessed from the median span.
    QueueModel model;
    const int steps = 300;
    for (int i = 0; i < steps; ++i) {
      ModelStep step = evenStep(700 + static_cast<std::int64_t>(random() % 600));
      step.assemblyNs = static_cast<std::int64_t>(random() % 40) * kMs;
      step.fallbackNs = random() % 3 == 0 ? 5 * kMs : 0;
      step.readsLoss = random() % 2 == 0;
      model.run(step);
    }
    const LiveStore whole = storeOf(model.batch());
    LiveStore grown;
    for (std::size_t from = 0; from < steps;) {
      const std::size_t to = std::min<std::size_t>(from + 1 + random() % 20, steps);
      grown.apply(partOf(model.batch(), from, to, std::size_t(late)).view());
      QVERIFY(grown.deviceTimeline().stepSpans().size() <= to);
      from = to;
    }
    for (const auto& span : model.batch().deviceSpans) {
      OwnedBatch rest;
      rest.deviceSpans = {span};
      rest.completeUpToNs = endOf(model.batch());
      if (span.step() + std::uint32_t(late) > steps) grown.apply(rest.view());
    }
    QVERIFY(spansOf(grown.deviceTimeline().stepSpans()) ==
            spansOf(whole.deviceTimeline().stepSpans()));
    QVERIFY(spansOf(grown.deviceTimeline().activity()) ==
            spansOf(whole.deviceTimeline().activity()));
    QCOMPARE(grown.deviceTimeline().beginNs(), whole.deviceTimeline().beginNs());
    QCOMPARE(grown.deviceTimeline().endNs(), whole.deviceTimeline().endNs());
  }

  /// A long run is built in parts, also where nothing waits for thousands of steps.
  void longRunsAreBuiltInParts() {
    for (const bool waits : {true, false}) {
      OwnedBatch batch = runOf(evenStep(1000), 10'000).batch();
      if (!waits) {
        std::erase_if(batch.syncPoints, [](const events::SyncPoint& sync) {
          return sync.step() > 10 && sync.step() < 9'990;
        });
      }
      const LiveStore store = storeOf(batch);
      const DeviceTimeline& device = store.deviceTimeline();
      QCOMPARE(device.stepSpans().size(), std::size_t{10'000});
      QVERIFY(device.activity().size() >= (waits ? 9'990u : 10u));
    }
  }

  void theCpuHasNone() {
    LiveStore store;
    Hello hello;
    hello.device.selected = "cpu";
    store.apply(hello);
    OwnedBatch batch = runOf(evenStep(100), 20).batch();
    batch.completeUpToNs = endOf(batch);
    store.apply(batch.view());
    QVERIFY(!store.deviceTimeline().knowsActivity());
    QVERIFY(store.deviceTimeline().stepSpans().empty());
  }

  void aClearedStoreStartsOver() {
    LiveStore store = storeOf(runOf(evenStep(1000), 20).batch());
    QVERIFY(store.deviceTimeline().knowsActivity());
    store.clear();
    QVERIFY(!store.deviceTimeline().knowsActivity());
    QVERIFY(store.deviceTimeline().activity().empty());
  }

  /// The tokens of a step are credited to its own time on the device, also where the host waits for
  /// it in the step after: no spike where the batch changes.
  void aNewBatchSizeMakesNoSpike() {
    QueueModel model;
    for (int i = 0; i < 30; ++i) {
      model.run(evenStep(i < 15 ? 1000 : 2000));  // twice the batch takes twice as long
    }
    OwnedBatch batch = model.batch();
    for (std::size_t i = 15; i < batch.steps.size(); ++i) {
      const events::StepRecord& s = batch.steps[i];
      batch.steps[i] = {s.begin_ns(), s.duration_ns(), 1, 1, -1, s.step(), 32, 64, 2048, 0, 0, 0};
    }
    const double hostRate = 2048 / (toSeconds(batch.steps[15].duration_ns()));
    const LiveStore store = storeOf(batch);
    const double usual = store.steps().tokensPerS[20];
    QVERIFY(hostRate > usual * 1.5);  // what the host's time would say of the first larger batch
    for (std::size_t row = 2; row < 30; ++row) {
      QVERIFY2(std::abs(store.steps().tokensPerS[row] / usual - 1) < 0.06,
               qPrintable(QString("%1: %2").arg(row).arg(store.steps().tokensPerS[row])));
    }
  }

  /// Of a run that is watched, the span of the newest steps has not arrived. Their rate by the
  /// host's time would be that of a host that only queues.
  void theRateOfAStepAwaitsItsDeviceSpan() {
    QueueModel model;
    for (int i = 0; i < 60; ++i) model.run(evenStep(1000));
    const OwnedBatch whole = model.batch();
    OwnedBatch begin = whole;
    begin.steps.resize(30);
    begin.deviceSpans.resize(30);
    LiveStore store = storeOf(begin);
    const auto addSteps = [&](std::ptrdiff_t first, std::ptrdiff_t last) {
      OwnedBatch more;
      more.steps.assign(whole.steps.begin() + first, whole.steps.begin() + last);
      store.apply(more.view());
    };
    const auto rate = [&store](std::size_t row) { return store.steps().tokensPerS[row]; };
    const auto hostRate = [&whole](std::size_t row) {
      return whole.steps[row].tokens() / toSeconds(whole.steps[row].duration_ns());
    };
    addSteps(30, 35);
    for (std::size_t row = 30; row < 35; ++row) QVERIFY(std::isnan(rate(row)));
    OwnedBatch later;
    later.deviceSpans.push_back(whole.deviceSpans[30]);
    store.apply(later.view());
    QVERIFY(std::abs(rate(30) / rate(20) - 1) < 0.06);
    QVERIFY(store.isRatedByDevice(20) && store.isRatedByDevice(30));
    QVERIFY(std::isnan(rate(31)));
    QVERIFY(!store.isRatedByDevice(31));
    addSteps(35, 58);  // the spans of these steps are lost
    QCOMPARE(rate(31), hostRate(31));
    QVERIFY(!store.isRatedByDevice(31));
    QCOMPARE(rate(57), hostRate(57));
    later.deviceSpans = {whole.deviceSpans[57]};
    store.apply(later.view());
    addSteps(58, 60);
    QVERIFY(std::isnan(rate(59)));
    store.apply(RunEnd{});
    QCOMPARE(rate(59), hostRate(59));
  }

 private:
  static double toSeconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }
};

HIGHWATER_TEST(TestDeviceTimeline, QCoreApplication)
#include "tst_device_timeline.moc"
