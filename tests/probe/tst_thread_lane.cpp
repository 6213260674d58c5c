#include "probe/stream/thread_lane.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::probe;

namespace {

EventRecord step(std::uint32_t number) {
  return EventRecord(events::StepRecord(0, 1, 0, 0, -1, number, 1, 1, 1, 0, 0, 0));
}
EventRecord sample(std::int64_t timeNs) {
  return EventRecord(events::MemorySample(timeNs, 1, 2, 3, events::SampleOrigin::Timer));
}

}  // namespace

class TestThreadLane : public QObject {
  Q_OBJECT
 private slots:
  void countsDrops() {
    ThreadLane lane(1, {4, 4});
    for (int i = 0; i < 10; ++i) lane.push(sample(i));
    int seen = 0;
    lane.drain([&](const EventRecord&) { ++seen; });
    QCOMPARE(seen, 4);
    QCOMPARE(lane.takeDrops(events::EventKind::MemorySample), std::uint64_t{6});
    QCOMPARE(lane.takeDrops(events::EventKind::MemorySample), std::uint64_t{0});
    QCOMPARE(lane.takeDrops(events::EventKind::SyncPoint), std::uint64_t{0});
  }

  void dropsOpsBeforeSamples() {
    ThreadLane lane(1, {.kept = 4, .droppable = 4, .ops = 4});
    for (std::uint32_t i = 0; i < 10; ++i) {
      lane.pushOp(i, 1, -1, 0u, 1u, kNoId, kNoId, kNoId, ThreadId{1}, std::uint16_t{0},
                  events::Phase::None, std::uint8_t{0});
    }
    for (int i = 0; i < 4; ++i) lane.push(sample(i));
    int ops = 0, samples = 0;
    lane.drain([&](const EventRecord& record) {
      ops += record.kind() == events::EventKind::OpSpan ? 1 : 0;
      samples += record.kind() == events::EventKind::MemorySample ? 1 : 0;
    });
    QCOMPARE(ops, 4);
    QCOMPARE(samples, 4);
    QCOMPARE(lane.takeDrops(events::EventKind::OpSpan), std::uint64_t{6});
    QCOMPARE(lane.takeDrops(events::EventKind::MemorySample), std::uint64_t{0});
  }

  void neverDropsNorReordersVitalEvents() {
    ThreadLane lane(1, {4, 4});
    constexpr std::uint32_t kSteps = 100'000;
    std::atomic<bool> done{false};
    std::thread owner([&] {
      for (std::uint32_t i = 1; i <= kSteps; ++i) lane.push(step(i));
      done = true;
    });
    std::uint32_t last = 0;
    bool inOrder = true;
    const auto take = [&](const EventRecord& record) {
      record.visit([&](const auto& event) {
        if constexpr (std::is_same_v<std::decay_t<decltype(event)>, events::StepRecord>) {
          inOrder = inOrder && event.step() == last + 1;
          last = event.step();
        }
      });
    };
    while (!done) lane.drain(take);
    owner.join();
    lane.drain(take);
    QVERIFY(inOrder);
    QCOMPARE(last, kSteps);
  }

  void reportsItsCompleteTime() {
    ThreadLane lane(1);
    QCOMPARE(lane.completeUpTo(100), std::int64_t{100});
    lane.beginWrite(90);
    QCOMPARE(lane.completeUpTo(100), std::int64_t{90});
    lane.endWrite();
    QCOMPARE(lane.completeUpTo(110), std::int64_t{110});
  }
};

HIGHWATER_TEST(TestThreadLane, QCoreApplication)
#include "tst_thread_lane.moc"
