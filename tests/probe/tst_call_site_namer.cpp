#include <chrono>
#include <condition_variable>
#include <mutex>

#include "probe/stream/sender.h"
#include "stream_host.h"
#include "support/test_program.h"

// Symbolization runs beside the sender and delays only the events that need its results.

using namespace highwater;
using namespace highwater::probe;
using highwater::probe::test::hello;
using highwater::probe::test::Host;
using namespace std::chrono_literals;

namespace {

// Addresses that stand for return addresses.
const std::array<char, 64> code = {1};

CallSiteId siteAt(Recorder& recorder, std::size_t place) {
  const std::array<const void*, 1> stack = {&code[place]};
  return recorder.callSites().intern(stack, &code[place]);
}

std::vector<SourcePlace> placeNamed(const void* address) {
  return {{"place " + std::to_string(static_cast<const char*>(address) - code.data()), {}, 0}};
}

void recordSync(Recorder& recorder, CallSiteId site) {
  recorder.record([site](std::int64_t nowNs) {
    return events::SyncPoint(nowNs, 0, 4, 1, kNoId, kNoId, site, 0, events::SyncKind::ScalarRead,
                             events::Phase::None, 0);
  });
}

/// Blocks pass() until it is opened.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

/// Opens the gate at the end of the test, since the sender waits for symbolization.
struct OpensAtEnd {
  Gate& gate;
  ~OpensAtEnd() { gate.open(); }
};

constexpr Sender::Options kQuick = {1ms, 5ms, 100ms, 60s};

}  // namespace

/// Records five waits, whose places take `eachTakes` to symbolize, stops a sender with `options`
/// and returns the name of the last place.
static std::string lastPlaceOfFive(std::chrono::milliseconds eachTakes,
                                   const Sender::Options& options) {
  Host host;
  host.start();
  Recorder recorder(RunClock::startingNow());
  recorder.callSites().lookUpWith([eachTakes](const void* address) {
    std::this_thread::sleep_for(eachTakes);
    return placeNamed(address);
  });
  FrameWriter writer(host.theirs);
  if (!writer.send(hello(recorder.clock())).ok()) return "not sent";
  Sender sender(recorder, writer, options);
  for (std::size_t i = 1; i <= 5; ++i) recordSync(recorder, siteAt(recorder, i));
  sender.start();
  sender.stop();
  host.finish();
  if (!host.complaint.empty()) return host.complaint;
  if (host.syncPoints.size() != 5) return "events are missing";
  return host.definitions.callSite(host.syncPoints[4].call_site());
}

class TestCallSiteNamer : public QObject {
  Q_OBJECT
 private slots:
  void sendsWhileSymbolizing() {
    Host host;
    host.start();
    Recorder recorder(RunClock::startingNow());
    Gate gate;
    recorder.callSites().lookUpWith([&gate](const void* address) {
      gate.pass();
      return placeNamed(address);
    });
    FrameWriter writer(host.theirs);
    QVERIFY(writer.send(hello(recorder.clock())).ok());
    Sender sender(recorder, writer, kQuick);
    const OpensAtEnd opens{gate};
    sender.start();
    recordSync(recorder, kNoId);
    QTRY_COMPARE(host.syncsSeen.load(), 1);
    recordSync(recorder, siteAt(recorder, 2));
    recordSync(recorder, kNoId);  // stays behind it
    const int before = host.heartbeats;
    QTRY_VERIFY(host.heartbeats >= before + 3);
    QCOMPARE(host.syncsSeen.load(), 1);
    gate.open();
    QTRY_COMPARE(host.syncsSeen.load(), 3);
    sender.stop();
    host.finish();
    QCOMPARE(host.complaint, std::string());
    QCOMPARE(host.definitions.callSite(host.syncPoints[1].call_site()), std::string("place 2"));
  }

  void symbolizesAllBeforeTheEnd() {
    QCOMPARE(lastPlaceOfFive(20ms, kQuick), std::string("place 5"));
  }

  void givesUpAfterTheTimeLimit() {
    QCOMPARE(lastPlaceOfFive(500ms, {1ms, 5ms, 100ms, 50ms}), std::string("unknown function"));
  }

  void placesAfterFinishAreUnknown() {
    Recorder recorder(RunClock::startingNow());
    recorder.callSites().lookUpWith(&placeNamed);
    CallSiteNamer namer(recorder.callSites());
    const CallSiteId first = siteAt(recorder, 1);
    namer.lookUpNew();
    QTRY_VERIFY(!namer.isBusy());
    namer.finish();
    const CallSiteId second = siteAt(recorder, 2);
    namer.lookUpNew();
    Definitions definitions;
    QVERIFY(namer.takeReady(definitions, 1));
    QVERIFY(!namer.takeReady(definitions, 1'000'000));
    DefinitionTable table;
    table.add(definitions);
    QCOMPARE(table.callSite(first), std::string("place 1"));
    QCOMPARE(table.callSite(second), std::string("unknown function"));
  }
};

HIGHWATER_TEST(TestCallSiteNamer, QCoreApplication)
#include "tst_call_site_namer.moc"
