#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <QSignalSpy>
#include <thread>

#include "session/frame_channel.h"
#include "session/stdio_host.h"
#include "support/sample_run.h"
#include "support/test_program.h"
#include "wire/codec.h"
#include "wire/frame_reader.h"
#include "wire/validator.h"

using namespace highwater;
using namespace highwater::session;
using highwater::test::kWaitMs;

class TestStdioHost : public QObject {
  Q_OBJECT

 private:
  UniqueFd other_;  ///< the other machine's end
  std::unique_ptr<StdioHost> host_;

  [[nodiscard]] std::vector<std::uint8_t> readToEnd() const {
    std::vector<std::uint8_t> read(1 << 20);
    std::size_t size = 0;
    for (;;) {
      if (size == read.size()) read.resize(size * 2);
      const ssize_t n = ::read(other_.get(), read.data() + size, read.size() - size);
      if (n <= 0) break;
      size += static_cast<std::size_t>(n);
    }
    read.resize(size);
    return read;
  }
  void write(const Message& message) const {
    const auto frame = wire::encode(message);
    QCOMPARE(::write(other_.get(), frame.data(), frame.size()), ssize_t(frame.size()));
  }

 private slots:
  void init() {
    auto pair = socketPair();
    QVERIFY(pair);
    other_ = std::move(pair->second);
    UniqueFd in(::fcntl(pair->first.get(), F_DUPFD_CLOEXEC, 0));
    host_ = std::make_unique<StdioHost>(std::move(in), std::move(pair->first));
  }

  /// Nobody reads while a long run of ops is taken: all but ops arrives, and these are counted.
  void whatIsTooMuchForTheConnectionIsCounted() {
    host_->sayStarted(QStringLiteral("/a run"));
    const auto run = test::makeSampleRun({.steps = 14'000, .opsFromStep = 1});
    std::uint64_t ops = 0, steps = 0, waits = 0;
    test::forEachMessage(run, [&](const Message& message) {
      host_->take(wire::encode(message), message);
      const auto* batch = std::get_if<EventBatch>(&message);
      if (!batch) return;
      ops += batch->ops.size();
      steps += batch->steps.size();
      waits += batch->syncPoints.size();
    });
    std::vector<std::uint8_t> read;
    std::thread reader([&] { read = readToEnd(); });
    host_->flush();
    host_.reset();
    reader.join();
    const std::string line = "recording %2Fa%20run\n";
    QCOMPARE(std::string(read.begin(), read.begin() + std::ptrdiff_t(line.size())), line);
    wire::FrameReader frames;
    frames.append(std::span(read).subspan(line.size()));
    wire::Validator validator(wire::StreamSource::kRecording);
    bool ended = false;
    std::uint64_t lost = 0;
    for (;;) {
      auto frame = frames.next();
      QVERIFY(frame);
      if (!frame->has_value()) break;
      const auto message = wire::decode(**frame);
      QVERIFY(message);
      const auto valid = validator.check(*message);
      QVERIFY2(valid, valid ? "" : valid.error().message.c_str());
      ended = std::holds_alternative<RunEnd>(*message);
      const auto* batch = std::get_if<EventBatch>(&*message);
      if (!batch) continue;
      ops -= batch->ops.size();
      steps -= batch->steps.size();
      waits -= batch->syncPoints.size();
      for (const events::DropRecord& each : batch->drops) {
        QCOMPARE(each.kind(), events::EventKind::OpSpan);
        lost += each.count();
      }
    }
    QVERIFY(ended);
    QVERIFY(lost > 0);
    QCOMPARE(ops, lost);
    QCOMPARE(steps, 0U);
    QCOMPARE(waits, 0U);
  }

  void aConnectionThatTakesNothingIsGivenUp() {
    host_->sayStarted({});
    host_->take({}, Message(Hello{}));
    const std::vector<std::uint8_t> frame(std::size_t{4} << 20);
    for (std::size_t sent = 0; sent <= StdioHost::kMostQueued; sent += frame.size()) {
      host_->take(frame, Message(Failure{}));
    }
    host_->take(frame, Message(Failure{}));
    QVERIFY(readToEnd().size() < StdioHost::kMostQueued);  // and comes to an end
  }

  /// The end of a program that never trained is told as well.
  void anEndWithoutHelloIsTold() {
    host_->sayStarted({});
    const auto end = wire::encode(RunEnd{});
    host_->take(end, Message(RunEnd{}));
    host_.reset();
    QCOMPARE(readToEnd().size(), std::string("recording \n").size() + end.size());
  }

  void commandsKeepTheirIds() {
    QSignalSpy commanded(host_.get(), &StdioHost::commanded);
    std::uint32_t id = 0;
    connect(host_.get(), &StdioHost::commanded, this,
            [&id](const Command& command) { id = command.id; });
    host_->sayStarted({});
    write(Command{1'000'007, SignalProgram{2}});
    QTRY_COMPARE_WITH_TIMEOUT(commanded.size(), 1, kWaitMs);
    QCOMPARE(id, 1'000'007U);
    // What is no command ends the connection, and not the run.
    write(Goodbye{});
    write(Command{1'000'008, StopTraining{}});
    char line[32];
    QVERIFY(::read(other_.get(), line, sizeof line) > 0);
    QTRY_COMPARE_WITH_TIMEOUT(::recv(other_.get(), line, 1, MSG_DONTWAIT), ssize_t{0}, kWaitMs);
    QCOMPARE(commanded.size(), 1);
    host_->take(wire::encode(Hello{}), Message(Hello{}));
  }
};

HIGHWATER_TEST(TestStdioHost, QCoreApplication)
#include "tst_stdio_host.moc"
