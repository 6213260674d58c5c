#include <QTest>

#include "core/names.h"
#include "counted_calls.h"
#include "probe/op_stack.h"
#include "probe/phase_scope.h"

// What the measured thread pays for an event: this program counts its allocations and, where the
// system lets a program stand in for pthread_mutex_lock(), its locks.

using namespace highwater;
using namespace highwater::probe;

namespace {

class FakeCounters : public CounterSource {
 public:
  std::optional<DeviceCounters> read() override { return DeviceCounters{1, 2, 3}; }
};

/// One step as the worker and its op observer record it: phases, samples, ops, waits, a fallback.
void recordStep(Recorder& recorder, OpStack& ops, CounterSource& counters, std::uint32_t step) {
  const auto op = [&ops](const char* name, OpWait wait = {}) {
    ops.begin(ops.name(name), wait);
    ops.end();
  };
  recorder.setStep(step);
  for (const events::Phase phase : kPhases) {
    const PhaseScope scope(recorder, &counters, phase);
    op("aten::mm");
    op("aten::_local_scalar_dense", {events::SyncKind::ScalarRead, 4});
  }
  ops.begin(ops.name("aten::linalg_svd"), {});
  op("aten::_to_cpu", {events::SyncKind::Fallback, 96});
  ops.end();
  recorder.record([step](std::int64_t nowNs) {
    return events::StepRecord(nowNs, 0, 0, 0, -1, step, 1, 1, 1, 0, 0, 0);
  });
}

}  // namespace

class TestHotPath : public QObject {
  Q_OBJECT
 private slots:
  void countsAtAll();
  void recordsWithoutAllocationsOrLocks();
};

void TestHotPath::countsAtAll() {
  counting = true;
  NameTable table;
  const NameId id = table.intern("a name").id;
  counting = false;
  QVERIFY(id != kNoId);
  QVERIFY(allocations > 0);
#ifdef COUNTS_LOCKS
  QVERIFY(locks > 0);
#endif
}

void TestHotPath::recordsWithoutAllocationsOrLocks() {
  Recorder recorder(RunClock::startingNow());
  FakeCounters counters;
  OpStack ops(recorder, recorder.lane());
  int events = 0;
  for (std::uint32_t step = 1; events < 10'000; step += 50) {
    // The first steps' names meet their ids, and the places that they are recorded from theirs.
    counting = step > 1;
    for (std::uint32_t i = 0; i < 50; ++i) recordStep(recorder, ops, counters, step + i);
    counting = false;
    if (step == 1) allocations = locks = 0;
    recorder.lane().drain([&events](const EventRecord&) { ++events; });
  }
  QCOMPARE(recorder.lane().takeDrops(events::EventKind::MemorySample), std::uint64_t{0});
  QCOMPARE(allocations, 0);
  QCOMPARE(locks, 0);
}

QTEST_GUILESS_MAIN(TestHotPath)
#include "tst_hot_path.moc"
