#include <sys/socket.h>
#include <unistd.h>

#include <memory>

#include "process/command_reader.h"
#include "support/test_program.h"
#include "support/wait_limit.h"
#include "wire/codec.h"
#include "wire/limits.h"

using namespace highwater;
using namespace highwater::process;

namespace {

class Target final : public CommandTarget {
 public:
  void welcome() override { welcomed = true; }
  CommandResult obey(const Command& command) override {
    obeyed = command.id;
    return {command.id, true, {}, 0};
  }
  std::atomic<bool> welcomed{false};
  std::atomic<std::uint32_t> obeyed{0};
};

/// A reader and what it calls. Never destroyed: a reader lives as long as its process.
struct Reading {
  Target target;
  std::atomic<int> answers{0}, gone{0}, violations{0};
  std::array<int, 2> ends{-1, -1};
  std::unique_ptr<CommandReader> reader;

  static Reading& begin() {
    auto& made = *new Reading;
    (void)::socketpair(AF_UNIX, SOCK_STREAM, 0, made.ends.data());
    CommandReader::Callbacks callbacks;
    callbacks.answer = [&made](const CommandResult&) { ++made.answers; };
    callbacks.hostGone = [&made] { ++made.gone; };
    callbacks.protocolViolation = [&made](const std::string&) { ++made.violations; };
    made.reader =
        std::make_unique<CommandReader>(made.ends[0], made.target, false, std::move(callbacks));
    made.reader->start();
    return made;
  }
  void send(const Message& message) const {
    const auto frame = wire::encode(message);
    QCOMPARE(::write(ends[1], frame.data(), frame.size()), static_cast<ssize_t>(frame.size()));
  }
};

}  // namespace

class TestCommandReader : public QObject {
  Q_OBJECT

 private slots:
  void passesCommandsAfterWelcome() {
    Reading& reading = Reading::begin();
    reading.send(Command{1, PauseTraining{}});
    QTRY_COMPARE_WITH_TIMEOUT(reading.answers.load(), 1, test::kWaitMs);
    QCOMPARE(reading.target.obeyed.load(), 0U);
    reading.send(Welcome{wire::kProtocolVersion});
    reading.send(Command{2, PauseTraining{}});
    QTRY_COMPARE_WITH_TIMEOUT(reading.target.obeyed.load(), 2U, test::kWaitMs);
    QVERIFY(reading.target.welcomed);
    ::close(reading.ends[1]);
    QTRY_COMPARE_WITH_TIMEOUT(reading.gone.load(), 1, test::kWaitMs);
    QCOMPARE(reading.violations.load(), 0);
  }

  /// The program around has closed the descriptor and opened a socket of its own.
  void readsNothingOfAnotherSocket() {
    Reading& reading = Reading::begin();
    std::array<int, 2> theirs{-1, -1};
    QCOMPARE(::socketpair(AF_UNIX, SOCK_STREAM, 0, theirs.data()), 0);
    QCOMPARE(::dup2(theirs[0], reading.ends[0]), reading.ends[0]);
    QCOMPARE(::write(theirs[1], "theirs", 6), ssize_t{6});
    QTRY_COMPARE_WITH_TIMEOUT(reading.gone.load(), 1, test::kWaitMs);
    std::array<char, 16> got{};
    QCOMPARE(::recv(theirs[0], got.data(), got.size(), MSG_DONTWAIT), ssize_t{6});
    QCOMPARE(reading.violations.load(), 0);
  }
};

HIGHWATER_TEST(TestCommandReader, QCoreApplication)
#include "tst_command_reader.moc"
