#include "probe/stream/batch_collector.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::probe;

namespace {

constexpr CallSiteId kSite = 7;

events::MemorySample sampleAt(std::int64_t ns) {
  return {ns, 1, 2, 3, events::SampleOrigin::Timer};
}
events::SyncPoint syncAt(std::int64_t beginNs, CallSiteId site) {
  return {
      beginNs, 5, 1, 1, kNoId, kNoId, site, 1, events::SyncKind::ScalarRead, events::Phase::None,
      0};
}

struct Sent {
  std::int64_t completeUpToNs = 0;
  std::vector<std::int64_t> sampleTimes;
  std::size_t syncs = 0, steps = 0, ops = 0, hostSamples = 0, opWork = 0;
};

std::vector<Sent> flush(BatchCollector& collector, std::int64_t completeUpToNs,
                        bool siteIsDefined = true) {
  std::vector<Sent> sent;
  collector.flush(
      completeUpToNs, [=](CallSiteId id) { return id != kSite || siteIsDefined; },
      [&sent](const EventBatch& batch) {
        Sent& each = sent.emplace_back();
        each.completeUpToNs = batch.completeUpToNs;
        for (const auto& sample : batch.memorySamples) each.sampleTimes.push_back(sample.time_ns());
        each.syncs = batch.syncPoints.size();
        each.steps = batch.steps.size();
        each.ops = batch.ops.size();
        each.hostSamples = batch.hostSamples.size();
        each.opWork = batch.opWork.size();
      });
  return sent;
}

}  // namespace

class TestBatchCollector : public QObject {
  Q_OBJECT

 private slots:
  void sendsNothingWithoutEvents() {
    BatchCollector collector;
    QVERIFY(flush(collector, 100).empty());
  }

  void hostSamplesAndWorkWaitForTheirCallSites() {
    BatchCollector collector;
    for (const CallSiteId site : {CallSiteId{3}, kSite, CallSiteId{3}}) {
      collector.add(events::HostSample(50, 1, site, 1, events::Phase::None));
      collector.add(
          events::OpWork(50, 1, 1, 1, 1, kNoId, kNoId, site, kNoId, events::Phase::None, 0));
    }
    const auto first = flush(collector, 100, false);
    QCOMPARE(first.size(), std::size_t{1});
    QCOMPARE(first[0].hostSamples, std::size_t{1});
    QCOMPARE(first[0].completeUpToNs, std::int64_t{100});
    const auto second = flush(collector, 200);
    QCOMPARE(second.size(), std::size_t{1});
    QCOMPARE(second[0].hostSamples, std::size_t{2});
    QCOMPARE(first[0].opWork, std::size_t{1});
    QCOMPARE(second[0].opWork, std::size_t{2});
  }

  void sortsSamplesAndHoldsBackLaterOnes() {
    BatchCollector collector;
    for (const std::int64_t ns : {30, 10, 120, 20}) collector.add(EventRecord(sampleAt(ns)));
    const auto first = flush(collector, 100);
    QCOMPARE(first.size(), std::size_t{1});
    QCOMPARE(first[0].sampleTimes, (std::vector<std::int64_t>{10, 20, 30}));
    const auto second = flush(collector, 200);
    QCOMPARE(second.size(), std::size_t{1});
    QCOMPARE(second[0].sampleTimes, std::vector<std::int64_t>{120});
  }

  void sortsStepsOfSeveralThreads() {
    BatchCollector collector;
    for (const std::uint32_t step : {3, 1, 2}) {
      collector.add(events::StepRecord(step, 0, 0, 0, -1, step, 1, 1, 1, 0, 0, 0));
    }
    std::vector<std::uint32_t> steps;
    collector.flush(
        100, [](CallSiteId) { return true; },
        [&steps](const EventBatch& batch) {
          for (const auto& step : batch.steps) steps.push_back(step.step());
        });
    QCOMPARE(steps, (std::vector<std::uint32_t>{1, 2, 3}));
  }

  void isCompleteOnlyUpToAWaitingCallSite() {
    BatchCollector collector;
    for (const auto& sync : {syncAt(10, kNoId), syncAt(20, kSite), syncAt(30, kNoId)}) {
      collector.add(sync);
    }
    const auto first = flush(collector, 100, false);
    QCOMPARE(first.size(), std::size_t{1});
    QCOMPARE(first[0].syncs, std::size_t{1});
    QCOMPARE(first[0].completeUpToNs, 25);
    const auto second = flush(collector, 110, true);
    QCOMPARE(second.size(), std::size_t{1});
    QCOMPARE(second[0].syncs, std::size_t{2});
    QCOMPARE(second[0].completeUpToNs, 110);
  }

  void splitsWhatDoesNotFitIntoAFrame() {
    BatchCollector collector;
    constexpr std::size_t kOps = 50'000;
    for (std::size_t i = 0; i < kOps; ++i) collector.add(events::OpSpan());
    collector.add(events::StepRecord());
    const auto sent = flush(collector, 100);
    QVERIFY(sent.size() > 1);
    QCOMPARE(sent.front().steps, std::size_t{1});  // ops come last
    std::size_t ops = 0;
    for (const Sent& batch : sent) {
      ops += batch.ops;
      QCOMPARE(batch.completeUpToNs, &batch == &sent.back() ? 100 : 0);
    }
    QCOMPARE(ops, kOps);
  }
};

HIGHWATER_TEST(TestBatchCollector, QCoreApplication)
#include "tst_batch_collector.moc"
