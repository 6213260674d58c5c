#include "core/names.h"
#include "counted_calls.h"
#include "fake_counters.h"
#include "probe/observer/op_stack.h"
#include "probe/readings/phase_scope.h"
#include "support/test_program.h"

// Cost of an event on the measured thread: counts allocations and, on systems where a program can
// replace pthread_mutex_lock(), locks.

using namespace highwater;
using namespace highwater::probe;
using highwater::probe::test::FakeCounters;

namespace {

/// Records one step as the worker and its observer do: phases, samples, ops, waits, a fallback.
void recordStep(Recorder& recorder, OpStack& ops, CounterSource& counters, std::uint32_t step) {
  const auto op = [&ops](const char* name, OpWait wait = {}) {
    ops.begin(ops.name(name), OpLayer::kDispatch, wait, true);
    ops.end();
  };
  recorder.setStep(step);
  for (const events::Phase phase : kPhases) {
    const PhaseScope scope(recorder, &counters, phase);
    op("aten::mm");
    op("aten::_local_scalar_dense", {events::SyncKind::ScalarRead, 4});
  }
  ops.begin(ops.name("aten::linalg_svd"), OpLayer::kDispatch, {}, true);
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
  void countsAtAll() {
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

  void recordsWithoutAllocationsOrLocks() {
    Recorder recorder(RunClock::startingNow());
    FakeCounters counters;
    OpStack ops(recorder, recorder.lane());
    int events = 0;
    for (std::uint32_t step = 1; events < 10'000; step += 50) {
      // The first steps fill the caches of names and call sites.
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
};

HIGHWATER_TEST(TestHotPath, QCoreApplication)
#include "tst_hot_path.moc"
