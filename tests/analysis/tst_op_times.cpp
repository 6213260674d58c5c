#include "analysis/op_times.h"
#include "step_events.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::analysis;

namespace {

events::OpSpan op(NameId name, std::int64_t beginNs, std::int64_t durationNs, std::uint16_t depth,
                  std::uint32_t step = 1, ThreadId thread = 1, ModuleId module = test::kLayer1,
                  std::uint64_t grownBytes = 0, events::Phase phase = events::Phase::Forward) {
  return {beginNs, durationNs, -1, grownBytes, step, name, module, kNoId, thread, depth, phase, 0};
}

const OpTime* find(const std::vector<OpTime>& times, const std::string& name) {
  for (const OpTime& time : times) {
    if ((time.op.empty() ? time.module : time.op) == name) return &time;
  }
  return nullptr;
}

}  // namespace

class TestOpTimes : public QObject {
  Q_OBJECT

 private slots:
  void selfTimeIsLessWhatLiesWithin() {
    LiveStore store;
    test::defineNames(store);
    test::OwnedBatch batch;
    // Two nested calls, one of which contains a third; another thread does not count.
    batch.ops = {op(test::kMm, 120, 10, 2), op(test::kMm, 110, 30, 1), op(test::kMm, 150, 20, 1),
                 op(test::kMm, 110, 90, 1, 1, 2), op(test::kLinear, 100, 100, 0)};
    store.apply(batch.view());
    const OpColumns& ops = store.ops();
    QCOMPARE(ops.selfNs(*ops.at(4)), std::int64_t{50});
    QCOMPARE(ops.selfNs(*ops.at(1)), std::int64_t{20});
    QCOMPARE(ops.selfNs(*ops.at(0)), std::int64_t{10});
  }

  void anEvaluationsOpsAreOfNoStep() {
    LiveStore store;
    test::defineNames(store);
    test::OwnedBatch batch;
    for (const std::uint32_t step : {1U, 2U}) {
      batch.ops.push_back(op(test::kMm, step * 1000, 10, 0, step));
    }
    for (int i = 0; i < 5; ++i) {  // it has the number of the step before it
      batch.ops.push_back(
          op(test::kMm, 3000 + i * 100, 10, 0, 2, 1, test::kLayer1, 0, events::Phase::None));
    }
    store.apply(batch.view());
    const OpTimes times = RunningOpTimes(&store).update();
    QCOMPARE(times.byOp[0].count, std::uint64_t{7});
    QCOMPARE(times.byOp[0].inSteps, std::uint64_t{2});
    QCOMPARE(times.byModule[0].inSteps, std::uint64_t{2});
    // A program without phases: only the step number is known.
    QCOMPARE(opTimesIn(store, {3000, 4000}).byOp[0].inSteps, std::uint64_t{5});
  }

  void totalsByOpAndByModule() {
    LiveStore store;
    test::defineNames(store);
    test::OwnedBatch batch;
    batch.ops = {op(test::kMm, 110, 30, 1, 1, 1, test::kLayer1, 64),
                 op(test::kLinear, 100, 100, 0, 1, 1, test::kEncoder, 32),
                 op(test::kMm, 310, 50, 0, 2, 1, kNoId, 128)};
    store.apply(batch.view());
    RunningOpTimes running(&store);
    const OpTimes times = running.update();
    QCOMPARE(times.steps, std::uint64_t{2});
    QCOMPARE(times.selfNs, std::int64_t{150});
    const OpTime* mm = find(times.byOp, "aten::mm");
    QVERIFY(mm);
    QCOMPARE(mm->count, std::uint64_t{2});
    QCOMPARE(mm->totalNs, std::int64_t{80});
    QCOMPARE(mm->selfNs, std::int64_t{80});
    QCOMPARE(mm->mostGrownBytes, std::uint64_t{128});
    QCOMPARE(mm->module, std::string());  // where 50 of its 80 fell
    QCOMPARE(times.byOp.front().op, std::string("aten::mm"));
    const OpTime* encoder = find(times.byModule, "encoder");
    QVERIFY(encoder);
    QCOMPARE(encoder->selfNs, std::int64_t{70});
    QCOMPARE(encoder->count, std::uint64_t{1});
    const OpTimes part = opTimesIn(store, {300, 400});
    QCOMPARE(part.byOp.size(), std::size_t{1});
    QCOMPARE(part.steps, std::uint64_t{1});
  }

  void growsAsCountedAtOnce() {
    LiveStore store;
    RunningOpTimes running(&store);
    test::forEachMessage(test::makeSampleRun({.steps = 30, .opsFromStep = 5}),
                         [&](const Message& message) {
                           store.apply(message);
                           (void)running.update();
                         });
    const OpTimes grown = running.update();
    const OpTimes whole = opTimesIn(store, {0, store.completeUpToNs() + 1});
    QCOMPARE(grown.steps, std::uint64_t{26});
    QCOMPARE(grown.selfNs, whole.selfNs);
    QCOMPARE(grown.byOp.size(), whole.byOp.size());
    for (std::size_t i = 0; i < whole.byOp.size(); ++i) {
      QCOMPARE(grown.byOp[i].op, whole.byOp[i].op);
      QCOMPARE(grown.byOp[i].count, whole.byOp[i].count);
      QCOMPARE(grown.byOp[i].selfNs, whole.byOp[i].selfNs);
    }
    running.reset();
    store.clear();
    QVERIFY(running.update().byOp.empty());
  }

  /// On two threads, so that ops do not arrive in order of time, and more than a few leaves of
  /// them.
  void aRangeIsAsAWalkOverItsOps() {
    LiveStore store;
    test::defineNames(store);
    RunningOpTimes running(&store);
    std::mt19937 random(9);
    const std::array<NameId, 3> names = {test::kMm, test::kLinear, test::kCopy};
    const std::array<ModuleId, 3> modules = {test::kLayer1, test::kEncoder, kNoId};
    constexpr int kSteps = 200, kOpsAStep = 100;
    for (std::uint32_t step = 1; step <= kSteps; ++step) {
      test::OwnedBatch batch;
      for (int i = 0; i < kOpsAStep; ++i) {
        const auto thread = static_cast<ThreadId>(1 + i % 2);
        // The second thread lags, and is in no phase now and then.
        const std::int64_t beginNs = step * 1000 + i * 10 - (thread == 2 ? 400 : 0);
        const auto phase = random() % 5 == 0 ? events::Phase::None : events::Phase::Backward;
        const std::uint32_t number = step % 50 == 0 ? 0 : step;
        batch.ops.push_back(op(names[random() % 3], beginNs, 1 + random() % 15, i % 4 == 0, number,
                               thread, modules[random() % 3], random() % 100, phase));
      }
      store.apply(batch.view());
      if (step % 7 == 0) (void)running.update();
      if (step % 20 != 0) continue;
      for (int i = 0; i < 20; ++i) {
        std::uniform_int_distribution<std::int64_t> anywhere(0, step * 1000 + 2000);
        TimeRange range{anywhere(random), anywhere(random)};
        if (range.beginNs > range.endNs) std::swap(range.beginNs, range.endNs);
        const OpTimes walked = opTimesIn(store, range), found = running.in(range);
        QCOMPARE(found.steps, walked.steps);
        QCOMPARE(found.selfNs, walked.selfNs);
        QCOMPARE(found.partial, walked.partial);
        for (const auto of : {&OpTimes::byOp, &OpTimes::byModule}) {
          QCOMPARE((found.*of).size(), (walked.*of).size());
          for (std::size_t k = 0; k < (walked.*of).size(); ++k) {
            const OpTime &a = (found.*of)[k], &b = (walked.*of)[k];
            QVERIFY(a.op == b.op && a.module == b.module && a.count == b.count);
            QVERIFY(a.inSteps == b.inSteps && a.totalNs == b.totalNs && a.selfNs == b.selfNs);
            QCOMPARE(a.mostGrownBytes, b.mostGrownBytes);
          }
        }
      }
    }
  }

  void lostTimeKeepsItsLook_data() {
    QTest::addColumn<bool>("lostTimeFirst");
    QTest::newRow("the wait comes first") << true;
    QTest::newRow("the op comes first") << false;
  }
  void lostTimeKeepsItsLook() {
    QFETCH(bool, lostTimeFirst);
    LiveStore store;
    test::defineNames(store);
    test::OwnedBatch lost, ops;
    lost.fallbacks.emplace_back(100, 50, 0, 1, 1, 1, test::kRenorm, kNoId, kNoId, 1,
                                events::Phase::Forward);
    lost.syncPoints.emplace_back(200, 50, 4, 1, test::kNonzero, kNoId, kNoId, 1,
                                 events::SyncKind::Nonzero, events::Phase::Forward, 0);
    lost.syncPoints.emplace_back(300, 50, 4, 1, test::kCopy, kNoId, kNoId, 1,
                                 events::SyncKind::CopyToDevice, events::Phase::Forward, 1);
    ops.ops = {op(test::kRenorm, 100, 50, 1), op(test::kNonzero, 200, 50, 1),
               op(test::kCopy, 300, 50, 1), op(test::kMm, 100, 50, 0, 1, 2)};
    store.apply((lostTimeFirst ? lost : ops).view());
    store.apply((lostTimeFirst ? ops : lost).view());
    const auto look = [&](ThreadId thread, std::uint16_t depth, std::size_t i) {
      return int(store.ops().lanes.at({thread, depth})[i].category & ~OpLook::kPhaseMask);
    };
    QCOMPARE(look(1, 1, 0), int(OpLook::kFallback));
    QCOMPARE(look(1, 1, 1), int(OpLook::kUnplannedWait));
    QCOMPARE(look(1, 1, 2), int(OpLook::kPlannedWait));
    QCOMPARE(look(2, 0, 0), 0);  // began at the same time, on another thread
  }

  void forgetsTheOldest() {
    OpColumns ops;
    for (int i = 0; i < 100; ++i) {
      ops.add(op(test::kMm, 100 * i + 10, 20, 1), 0);
      ops.add(op(test::kLinear, 100 * i, 50, 0), 0);
    }
    ops.forgetDownTo(50);
    QCOMPARE(ops.records.size(), std::size_t{50});
    QCOMPARE(ops.firstRow, std::size_t{150});
    QCOMPARE(ops.forgottenUpToNs, std::int64_t{7450});
    QVERIFY(!ops.at(149) && ops.at(150) && ops.at(199) && !ops.at(200));
    QCOMPARE(ops.at(199)->begin_ns(), std::int64_t{9900});
    for (const auto& [key, lane] : ops.lanes) {
      QCOMPARE(lane.size(), std::size_t{25});
      for (std::size_t i = 0; i < lane.size(); ++i) {
        QVERIFY(ops.at(lane[i].payload));
        QCOMPARE(ops.at(lane[i].payload)->begin_ns(), lane[i].beginNs);
      }
    }
    QCOMPARE(ops.selfNs(*ops.at(199)), std::int64_t{30});
    ops.add(op(test::kLinear, 99'000, 50, 0), 0);
    QCOMPARE(ops.at(200)->begin_ns(), std::int64_t{99'000});
  }

  void threadsHaveNames() {
    LiveStore store;
    test::defineNames(store);
    QCOMPARE(store.threadName(test::kBackwardThread), std::string("backward"));
    QCOMPARE(store.threadName(9), std::string("thread 9"));
  }
};

HIGHWATER_TEST(TestOpTimes, QCoreApplication)
#include "tst_op_times.moc"
