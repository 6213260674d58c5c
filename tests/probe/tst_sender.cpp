#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <QTest>
#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "probe/sampler.h"
#include "probe/sender.h"
#include "wire/codec.h"
#include "wire/frame_reader.h"
#include "wire/limits.h"
#include "wire/validator.h"

using namespace highwater;
using namespace highwater::probe;

namespace {

/// The host's end of a socket pair: reads, decodes and validates all that arrives on a thread.
class Host {
 public:
  Host() {
    int fds[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0) qFatal("no socket pair");
    ours_ = fds[0];
    theirs = fds[1];
  }
  ~Host() {
    hangUp();
    ::close(theirs);
  }
  void start() {
    thread_ = std::thread([this] { read(); });
  }
  /// Ends the worker's side and waits until everything was read.
  void finish() {
    ::shutdown(theirs, SHUT_WR);
    if (thread_.joinable()) thread_.join();
  }
  void hangUp() {
    if (ours_ >= 0) ::shutdown(ours_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    if (ours_ >= 0) ::close(ours_);
    ours_ = -1;
  }

  /// What lies in the socket, while nobody reads.
  [[nodiscard]] int unreadBytes() const {
    int bytes = 0;
    return ::ioctl(ours_, FIONREAD, &bytes) == 0 ? bytes : -1;
  }

  int theirs = -1;
  std::string complaint;
  std::map<NameId, std::string> names;
  std::vector<events::StepRecord> steps;
  std::vector<events::MemorySample> samples;
  std::vector<events::OpenSpan> openSpans;
  std::vector<std::int64_t> completeUpTo;
  std::map<events::EventKind, std::uint64_t> drops;
  std::atomic<int> heartbeats{0};
  std::atomic<int> openSeen{0};
  std::size_t largestFrame = 0;

 private:
  void read() {
    std::vector<std::uint8_t> buffer(1 << 16);
    while (true) {
      const ssize_t n = ::read(ours_, buffer.data(), buffer.size());
      if (n <= 0) return;
      frames_.append({buffer.data(), static_cast<std::size_t>(n)});
      while (complaint.empty() && takeFrame()) {
      }
    }
  }
  bool takeFrame() {
    const auto frame = frames_.next();
    if (!frame) return complain(frame.error());
    if (!frame->has_value()) return false;
    largestFrame = std::max(largestFrame, (*frame)->size());
    const auto message = wire::decode(**frame);
    if (!message) return complain(message.error());
    if (const auto fine = validator_.check(*message); !fine) return complain(fine.error());
    if (const auto* d = std::get_if<Definitions>(&*message)) {
      for (const auto& name : d->names) names[name.id] = name.text;
    }
    if (const auto* b = std::get_if<EventBatch>(&*message)) takeBatch(*b);
    return true;
  }
  void takeBatch(const EventBatch& batch) {
    // What comes after a batch must not be older than what the batch called complete.
    for (const auto& sample : batch.memorySamples) {
      if (!completeUpTo.empty() && sample.time_ns() < completeUpTo.back()) {
        complaint = "a sample came late";
      }
    }
    steps.insert(steps.end(), batch.steps.begin(), batch.steps.end());
    samples.insert(samples.end(), batch.memorySamples.begin(), batch.memorySamples.end());
    openSpans.insert(openSpans.end(), batch.openSpans.begin(), batch.openSpans.end());
    completeUpTo.push_back(batch.completeUpToNs);
    for (const auto& drop : batch.drops) drops[drop.kind()] += drop.count();
    heartbeats += static_cast<int>(batch.heartbeats.size());
    openSeen += static_cast<int>(batch.openSpans.size());
  }
  bool complain(const Error& error) {
    complaint = error.message;
    return false;
  }

  int ours_ = -1;
  std::thread thread_;
  wire::FrameReader frames_;
  wire::Validator validator_{wire::StreamSource::kWorker};
};

Hello hello(const RunClock& clock) {
  Hello h;
  h.protocolVersion = wire::kProtocolVersion;
  h.clock = clock;
  h.device.selected = "cpu";
  return h;
}

void recordStep(Recorder& recorder, std::uint32_t number) {
  recorder.record([number](std::int64_t nowNs) {
    return events::StepRecord(nowNs, 0, 0, 0, -1, number, 1, 1, 1, 0, 0, 0);
  });
}
class FakeCounters : public CounterSource {
 public:
  std::optional<DeviceCounters> read() override { return DeviceCounters{1, 2, 3}; }
};

void recordSample(Recorder& recorder) {
  FakeCounters counters;
  recordMemorySample(recorder, counters, events::SampleOrigin::Timer);
}

}  // namespace

class TestSender : public QObject {
  Q_OBJECT
 private slots:
  void sendsAValidStreamFromManyThreads();
  void splitsWhatIsLargerThanAFrame();
  void splitsDefinitionsToo();
  void reportsDropsOfASlowHost();
  void recordsOnWhileTheHostDoesNotRead();
  void publishesSpansThatStayOpen();
  void noticesThatTheHostIsGone();
};

void TestSender::sendsAValidStreamFromManyThreads() {
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

void TestSender::splitsWhatIsLargerThanAFrame() {
  Host host;
  host.start();
  Recorder recorder(RunClock::startingNow());
  FrameWriter writer(host.theirs);
  QVERIFY(writer.send(hello(recorder.clock())).ok());
  constexpr std::uint32_t kSteps = 100'000;  // 6.4 MB of records
  for (std::uint32_t i = 1; i <= kSteps; ++i) recordStep(recorder, i);
  Sender sender(recorder, writer);
  sender.start();
  sender.stop();
  host.finish();
  QCOMPARE(host.complaint, std::string());
  QCOMPARE(host.steps.size(), std::size_t{kSteps});
  QVERIFY(host.largestFrame < wire::kMaxFrameBytes);
}

void TestSender::splitsDefinitionsToo() {
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
  QVERIFY(host.largestFrame < wire::kMaxFrameBytes);
}

/// The sender sits in write(): neither the training thread nor the end of the run may wait for it
/// any longer than the host lives.
void TestSender::recordsOnWhileTheHostDoesNotRead() {
  Host host;
  std::atomic<int> told{0};
  Recorder recorder(RunClock::startingNow());
  FrameWriter writer(host.theirs, [&told] { ++told; });
  Sender sender(recorder, writer, {std::chrono::milliseconds(1), std::chrono::milliseconds(2)});
  constexpr std::uint32_t kSteps = 100'000;  // far more than a socket holds
  for (std::uint32_t i = 1; i <= kSteps; ++i) recordStep(recorder, i);
  sender.start();
  QTRY_VERIFY_WITH_TIMEOUT(writer.bytesWritten() > 0 || host.unreadBytes() > 0, 10'000);
  for (std::uint32_t i = 1; i <= kSteps; ++i) recordStep(recorder, kSteps + i);
  QCOMPARE(told.load(), 0);
  host.hangUp();
  sender.stop();
  QCOMPARE(told.load(), 1);
}

void TestSender::reportsDropsOfASlowHost() {
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

void TestSender::publishesSpansThatStayOpen() {
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
  QTRY_VERIFY_WITH_TIMEOUT(host.openSeen >= 2, 10'000);
  QVERIFY(host.heartbeats >= 2);
  sender.stop();
  host.finish();
  QCOMPARE(host.complaint, std::string());
  const auto& open = host.openSpans.front();
  QCOMPARE(host.names[open.name()], std::string("aten::hangs"));
  QCOMPARE(open.step(), 3u);
  QVERIFY(open.seen_ns() - open.begin_ns() >= 100'000'000);
}

void TestSender::noticesThatTheHostIsGone() {
  Host host;
  std::atomic<int> told{0};
  Recorder recorder(RunClock::startingNow());
  FrameWriter writer(host.theirs, [&told] { ++told; });
  Sender sender(recorder, writer, {std::chrono::milliseconds(1), std::chrono::milliseconds(2)});
  host.hangUp();
  sender.start();
  QTRY_COMPARE_WITH_TIMEOUT(told.load(), 1, 10'000);
  QVERIFY(writer.hostGone());
  QVERIFY(!writer.send(Goodbye{}).ok());
  sender.stop();
  QCOMPARE(told.load(), 1);
}

QTEST_GUILESS_MAIN(TestSender)
#include "tst_sender.moc"
