// Tests the meter with events that behave like real MPS's: elapsed() waits for the whole stream and
// consumes a notification that comes once per recording, and an event keeps its old time until it
// is released.
#include <stdexcept>

#include "probe/readings/device_span_meter.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::probe;

namespace {

/// A device in virtual time. `hung` and `stalledMs` tell what real MPS would have done to the host.
class FakeMps : public EventSource {
 public:
  double hostMs = 0;    ///< the host's clock
  double deviceMs = 0;  ///< when the device finishes what is queued
  bool hung = false;
  double stalledMs = 0;
  int failing = 0;         ///< number of calls that will throw
  int failingElapsed = 0;  ///< number of calls of elapsedMs() that will throw
  std::string failure;     ///< text with which elapsedMs() throws from now on
  int timesAsked = 0;      ///< calls of elapsedMs()
  bool neverCompletes = false;
  bool startIsLate = false;  ///< callbacks of start events come last

  void queueWork(double ms) { deviceMs = std::max(deviceMs, hostMs) + ms; }
  void wait() { hostMs = std::max(hostMs, deviceMs); }

  Id acquire() override {
    maybeFail();
    const Id id = pool_.empty() ? ++last_ : *pool_.begin();
    pool_.erase(id);
    events_[id] = {};
    inUse_.insert(id);
    return id;
  }
  void release(Id id) override {
    check(id);
    inUse_.erase(id);
    pool_.insert(id);
  }
  void record(Id id) override {
    maybeFail();
    check(id);
    Event& event = events_[id];
    event.passedAtMs = std::max(deviceMs, hostMs);
    event.recorded = true;
    event.noticeTaken = false;
  }
  bool passed(Id id) override {
    maybeFail();
    check(id);
    return !neverCompletes && events_[id].recorded && events_[id].passedAtMs <= hostMs;
  }
  double elapsedMs(Id start, Id end) override {
    if (deviceMs > hostMs) stalledMs += deviceMs - hostMs;
    wait();
    ++timesAsked;
    if (!failure.empty()) throw std::runtime_error(failure);
    if (failingElapsed-- > 0) throw std::runtime_error("MPS");
    check(start);
    check(end);
    Event& to = events_[end];
    if (neverCompletes || !to.recorded || to.noticeTaken) hung = true;
    to.noticeTaken = true;
    if (startIsLate) throw std::runtime_error("Events were not created with enable_timing");
    const double ms = to.passedAtMs - events_[start].passedAtMs;
    if (ms <= 0) throw std::runtime_error("End event was not recorded after start event");
    return ms;
  }
  [[nodiscard]] std::size_t inUse() const { return inUse_.size(); }
  [[nodiscard]] std::size_t made() const { return last_; }

 private:
  struct Event {
    double passedAtMs = 0;
    bool recorded = false;
    bool noticeTaken = false;
  };
  void maybeFail() {
    if (failing == 0) return;
    --failing;
    throw std::runtime_error("MPS");
  }
  void check(Id id) const {
    if (!inUse_.contains(id)) throw std::logic_error("Invalid Event ID");
  }

  Id last_ = 0;
  std::map<Id, Event> events_;
  std::set<Id> pool_, inUse_;
};

struct Spans {
  std::vector<events::DeviceSpan> all;
  void operator()(const events::DeviceSpan& e) { all.push_back(e); }
  template <typename T>
  void operator()(const T&) {}
};

/// A training loop: each step moves its batch, which waits for the device, then queues its work.
struct Loop {
  Recorder recorder{RunClock::startingNow()};
  FakeMps mps;
  DeviceSpanMeter meter{recorder, mps};
  std::uint32_t step = 0;
  double stepMs = 40;

  void run(bool moveWaits = true) {
    if (moveWaits) mps.wait();
    meter.readWhereIdle();
    meter.beginStep(++step);
    mps.hostMs += 1;  // the first op is queued a moment later
    mps.queueWork(stepMs);
    mps.hostMs += 2;
    meter.endStep();
  }
  std::map<std::uint32_t, double> spans() {
    Spans found;
    for (const auto& lane : recorder.lanes()) {
      lane->drain([&found](const EventRecord& record) { record.visit(found); });
    }
    for (const auto& e : found.all) seen_[e.step()] = static_cast<double>(e.device_ns()) / 1e6;
    return seen_;
  }

 private:
  std::map<std::uint32_t, double> seen_;
};

}  // namespace

class TestDeviceSpanMeter : public QObject {
  Q_OBJECT
 private slots:
  void measuresEachStepInTheNextOne() {
    Loop loop;
    for (int i = 0; i < 5; ++i) {
      loop.stepMs = 40 + i;
      loop.run();
    }
    const auto spans = loop.spans();
    QCOMPARE(spans.size(), std::size_t{4});  // the fifth is still in the queue
    for (std::uint32_t step = 1; step <= 4; ++step) {
      // From the start event, which the idle queue passes at once, to the end of the work.
      QCOMPARE(spans.at(step), 1 + 40 + (step - 1.0));
    }
    loop.mps.wait();
    loop.meter.readWhereIdle();
    QCOMPARE(loop.spans().at(5), 45.0);
  }

  void neverWaits() {
    // Batches are moved without waiting, so the device falls behind more and more.
    Loop loop;
    for (int i = 0; i < 20; ++i) loop.run(false);
    QVERIFY(loop.spans().empty());
    QCOMPARE(loop.mps.stalledMs, 0.0);
    // Once the loop waits for its batches, its steps are measured.
    for (int i = 0; i < 5; ++i) loop.run();
    QCOMPARE(loop.mps.stalledMs, 0.0);
    QVERIFY(!loop.mps.hung);
    QCOMPARE(loop.spans().rbegin()->first, 24u);
    QCOMPARE(loop.spans().rbegin()->second, 41.0);
  }

  void aThrowIsUnknownForThatStepOnly() {
    Loop loop;
    loop.run();
    loop.mps.wait();
    loop.mps.failingElapsed = 1;
    loop.run();  // reading step 1 throws
    loop.run();
    loop.run();
    const auto spans = loop.spans();
    QVERIFY(!spans.contains(1));
    QVERIFY(spans.contains(2) && spans.contains(3));
    QVERIFY(!loop.mps.hung);
  }

  void lateCallbacksAreUnknown() {
    Loop loop;
    loop.run();
    loop.mps.startIsLate = true;
    loop.run();
    loop.mps.startIsLate = false;
    loop.run();
    QVERIFY(!loop.spans().contains(1));
    QVERIFY(loop.spans().contains(2));
    QVERIFY(!loop.mps.hung);  // a pair whose reading failed is not read again
  }

  void aQueueThatHangsStaysPending() {
    Loop loop;
    loop.mps.neverCompletes = true;
    for (int i = 0; i < 10; ++i) loop.run();
    QVERIFY(loop.spans().empty());
    QVERIFY(!loop.mps.hung);
    QCOMPARE(loop.mps.made(), std::size_t{8});  // four pairs, not one per step
  }

  void aStepWithoutEndIsUnknown() {
    Loop loop;
    loop.meter.beginStep(1);
    loop.meter.beginStep(2);
    loop.mps.queueWork(10);
    loop.meter.endStep();
    loop.meter.endStep();
    loop.mps.wait();
    loop.meter.readWhereIdle();
    QCOMPARE(loop.spans().size(), std::size_t{1});
    QCOMPARE(loop.spans().at(2), 10.0);
  }

  void failuresToRecordAreUnknown() {
    Loop loop;
    loop.mps.failing = 1;
    loop.meter.beginStep(1);  // acquiring an event fails
    loop.meter.endStep();
    loop.meter.beginStep(2);
    loop.mps.queueWork(10);
    loop.mps.failing = 1;
    loop.meter.endStep();  // recording the end event fails
    loop.mps.wait();
    loop.meter.readWhereIdle();
    loop.run();
    loop.run();
    const auto spans = loop.spans();
    QCOMPARE(spans.size(), std::size_t{1});
    QVERIFY(!loop.mps.hung);
  }

  void noTimeIsReadAfterFailedWork() {
    for (const char* text :
         {"MPS event timing failed because the GPU work for an event did not complete",
          "MPS command buffer execution failed: Insufficient Memory (00000008). This error may "
          "have "
          "been asynchronously reported"}) {
      Loop loop;
      loop.run();
      loop.run();
      loop.mps.failure = text;
      for (int i = 0; i < 5; ++i) loop.run();
      const int asked = loop.mps.timesAsked;
      QVERIFY(asked <= 2);
      loop.mps.failure.clear();
      for (int i = 0; i < 5; ++i) loop.run();
      QCOMPARE(loop.mps.timesAsked, asked);  // no work after that one tells a time
    }
  }

  void eventsAreReleased() {
    FakeMps mps;
    Recorder recorder(RunClock::startingNow());
    {
      DeviceSpanMeter meter(recorder, mps);
      for (std::uint32_t step = 1; step <= 100; ++step) {
        mps.wait();
        meter.readWhereIdle();
        meter.beginStep(step);
        mps.queueWork(5);
        meter.endStep();
      }
      QVERIFY(mps.inUse() <= 8);
    }
    QCOMPARE(mps.inUse(), std::size_t{0});
    QVERIFY(mps.made() <= 8);
  }
};

HIGHWATER_TEST(TestDeviceSpanMeter, QCoreApplication)
#include "tst_device_span_meter.moc"
