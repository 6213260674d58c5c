#include <unistd.h>

#include <QTemporaryFile>

#include "core/frame_header.h"
#include "fake_counters.h"
#include "probe/readings/sampler.h"
#include "probe/stream/sender.h"
#include "stream_host.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::probe;
using highwater::probe::test::FakeCounters;
using highwater::probe::test::hello;
using highwater::probe::test::Host;

namespace {

void recordStep(Recorder& recorder, std::uint32_t number) {
  recorder.record([number](std::int64_t nowNs) {
    return events::StepRecord(nowNs, 0, 0, 0, -1, number, 1, 1, 1, 0, 0, 0);
  });
}

void recordSample(Recorder& recorder) {
  FakeCounters counters;
  recordMemorySample(recorder, counters, events::SampleOrigin::Timer);
}

}  // namespace

class TestSender : public QObject {
  Q_OBJECT
 private slots:
  void sendsAValidStreamFromManyThreads() {
    Host host;
    host.start();
    Recorder recorder(RunClock::startingNow());
    FrameWriter writer(host.theirs);
    QVERIFY(writer.send(hello(recorder.clock())).ok());
    Sender sender(recorder, writer, {std::chrono::milliseconds(1), std::chrono::milliseconds(5)});
    sender.start();
    constexpr int kSamples = 3'000;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&recorder, t] {
        for (int i = 0; i < kSamples; ++i) {
          recordSample(recorder);
          if (i % 100 == 0) {
            recorder.mark(events::MarkerKind::Note, 1, 0, 0,
                          "note " + std::to_string(t * kSamples + i));
            std::this_thread::yield();
          }
        }
      });
    }
    for (std::uint32_t i = 1; i <= 500; ++i) recordStep(recorder, i);
    for (auto& thread : threads) thread.join();
    sender.stop();
    host.finish();
    QCOMPARE(host.complaint, std::string());
    QCOMPARE(host.steps.size(), std::size_t{500});
    const std::uint64_t lost = host.drops[events::EventKind::MemorySample];
    QCOMPARE(host.samples.size() + lost, std::size_t{3 * kSamples});
    QCOMPARE(host.names.size(), std::size_t{90});
    for (std::size_t i = 1; i < host.samples.size(); ++i) {
      QVERIFY(host.samples[i].time_ns() >= host.samples[i - 1].time_ns());
    }
  }

  void splitsDefinitionsToo() {
    Host host;
    host.start();
    Recorder recorder(RunClock::startingNow());
    FrameWriter writer(host.theirs);
    QVERIFY(writer.send(hello(recorder.clock())).ok());
    // As many names as a run may have, 6 MB of them: more than a frame holds.
    for (std::uint32_t i = 0; i < kMaxNames; ++i) {
      (void)recorder.names().intern(std::to_string(i) + std::string(100, 'n'));
    }
    recorder.mark(events::MarkerKind::Note, 1, 0, 0, "7" + std::string(100, 'n'));
    Sender sender(recorder, writer);
    sender.start();
    sender.stop();
    host.finish();
    QCOMPARE(host.complaint, std::string());
    QCOMPARE(host.names.size(), std::size_t{kMaxNames - kOtherId - 1});
    QVERIFY(host.largestFrame < kMaxFrameBytes);
  }

  void reportsDropsOfASlowHost() {
    Host host;
    Recorder recorder(RunClock::startingNow());
    FrameWriter writer(host.theirs);
    constexpr int kSamples = 20'000;  // more than a lane's ring holds
    for (int i = 0; i < kSamples; ++i) recordSample(recorder);
    recordStep(recorder, 1);
    host.start();
    QVERIFY(writer.send(hello(recorder.clock())).ok());
    Sender sender(recorder, writer);
    sender.start();
    sender.stop();
    host.finish();
    QCOMPARE(host.complaint, std::string());
    QVERIFY(host.drops[events::EventKind::MemorySample] > 0);
    QCOMPARE(host.samples.size() + host.drops[events::EventKind::MemorySample],
             static_cast<std::uint64_t>(kSamples));
    QCOMPARE(host.steps.size(), std::size_t{1});
  }

  /// The sender blocks in write(); the training thread and the end of the run must not wait for it
  /// any longer than the host lives.
  void recordsOnWhileTheHostDoesNotRead() {
    Host host;
    std::atomic<int> told{0};
    Recorder recorder(RunClock::startingNow());
    FrameWriter writer(host.theirs, [&told](const std::string&) { ++told; });
    Sender sender(recorder, writer, {std::chrono::milliseconds(1), std::chrono::milliseconds(2)});
    constexpr std::uint32_t kSteps = 100'000;  // far more than a socket holds
    for (std::uint32_t i = 1; i <= kSteps; ++i) recordStep(recorder, i);
    sender.start();
    QTRY_VERIFY(writer.bytesWritten() > 0 || host.unreadBytes() > 0);
    for (std::uint32_t i = 1; i <= kSteps; ++i) recordStep(recorder, kSteps + i);
    QCOMPARE(told.load(), 0);
    host.hangUp();
    sender.stop();
    QCOMPARE(told.load(), 1);
  }

  void publishesSpansThatStayOpen() {
    Host host;
    host.start();
    Recorder recorder(RunClock::startingNow());
    FrameWriter writer(host.theirs);
    QVERIFY(writer.send(hello(recorder.clock())).ok());
    Sender sender(recorder, writer, {std::chrono::milliseconds(2), std::chrono::milliseconds(10)});
    sender.start();
    const NameId name = recorder.names().intern("aten::hangs").id;
    recorder.setStep(3);
    recorder.lane().openSpans().push(recorder.now(), name);
    QTRY_VERIFY(host.openSeen >= 2);
    QVERIFY(host.heartbeats >= 2);
    sender.stop();
    host.finish();
    QCOMPARE(host.complaint, std::string());
    const auto& open = host.openSpans.front();
    QCOMPARE(host.names[open.name()], std::string("aten::hangs"));
    QCOMPARE(open.step(), 3u);
    QVERIFY(open.seen_ns() - open.begin_ns() >= 100'000'000);
  }

  void noticesThatTheHostIsGone() {
    Host host;
    std::atomic<int> told{0};
    Recorder recorder(RunClock::startingNow());
    FrameWriter writer(host.theirs, [&told](const std::string&) { ++told; });
    Sender sender(recorder, writer, {std::chrono::milliseconds(1), std::chrono::milliseconds(2)});
    host.hangUp();
    sender.start();
    QTRY_COMPARE(told.load(), 1);
    QVERIFY(writer.hostGone());
    QVERIFY(!writer.send(Goodbye{}).ok());
    sender.stop();
    QCOMPARE(told.load(), 1);
  }

  /// A program that closes all descriptors gets the probe's number for its own file.
  void writesNothingIntoAnotherFile_data() {
    QTest::addColumn<bool>("isSocket");
    QTest::newRow("file") << false;
    QTest::newRow("socket") << true;
  }
  void writesNothingIntoAnotherFile() {
    QFETCH(bool, isSocket);
    Host host, theirs;
    QTemporaryFile file;
    QVERIFY(file.open());
    std::atomic<int> told{0};
    Recorder recorder(RunClock::startingNow());
    FrameWriter writer(host.theirs, [&told](const std::string&) { ++told; });
    QVERIFY(writer.send(hello(recorder.clock())).ok());
    QVERIFY(::dup2(isSocket ? theirs.theirs : file.handle(), host.theirs) >= 0);
    QVERIFY(!writer.send(Goodbye{}).ok());
    QCOMPARE(told.load(), 1);
    QCOMPARE(file.size(), 0);
    QCOMPARE(theirs.unreadBytes(), 0);
  }

  void waitsForNoReaderBeyondTheDeadline() {
    Host host;
    std::atomic<int> told{0};
    FrameWriter writer(host.theirs, [&told](const std::string&) { ++told; });
    // Nobody reads: the socket is full at some time.
    std::thread sending([&writer] {
      const std::string text(std::size_t{1} << 20, 'x');
      while (writer.send(Failure{Failure::Kind::kFailed, text}).ok()) {
      }
    });
    const bool isFull =
        QTest::qWaitFor([&] { return writer.bytesWritten() > 0 || host.unreadBytes() > 0; },
                        highwater::test::kWaitMs);
    writer.giveUpAt(std::chrono::steady_clock::now());
    sending.join();
    QVERIFY(isFull);
    QCOMPARE(told.load(), 1);
  }
};

HIGHWATER_TEST(TestSender, QCoreApplication)
#include "tst_sender.moc"
