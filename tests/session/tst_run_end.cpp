#include <signal.h>

#include "core/exit_codes.h"
#include "session/run_end.h"
#include "session/session.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::session;
using Reason = RunEnd::Reason;

Q_DECLARE_METATYPE(highwater::session::RunFacts)

namespace {

/// A launched worker that has said Hello and is in step 5.
RunFacts running() {
  RunFacts facts;
  facts.program = QStringLiteral("highwater-worker");
  facts.greeted = true;
  facts.lastLines = QStringList{"first", "last words"};
  const events::Heartbeat beat(1, 5, 0);
  EventBatch batch;
  batch.heartbeats = {&beat, 1};
  facts.position.take(batch);
  return facts;
}

RunFacts withExit(RunFacts facts, int code, int signal = 0) {
  facts.exit = ProcessExit{code, signal};
  return facts;
}

}  // namespace

class TestRunEnd : public QObject {
  Q_OBJECT

 private slots:
  void followsFromTheFacts_data() {
    QTest::addColumn<RunFacts>("facts");
    QTest::addColumn<int>("reason");
    QTest::addColumn<int>("exitCode");
    const auto row = [](const char* name, const RunFacts& facts, Reason reason, int exitCode) {
      QTest::newRow(name) << facts << int(reason) << exitCode;
    };
    RunFacts facts;
    facts.notStarted = failure("no program");
    row("not started", facts, Reason::kFailed, kExitFailed);
    facts.notStarted = usageError("a bad timeout");
    row("wrong usage", facts, Reason::kFailed, kExitUsage);

    // How the program on another machine goes on is not known here.
    facts = running();
    facts.lostHost = QStringLiteral("studio");
    facts.goodbye = Goodbye{60, false};
    row("lost connection", facts, Reason::kAborted, kExitEndedEarly);
    facts.toldEnd = RunEnd{Reason::kExited, 7, 0, "train.py ended with exit code 7", {}, {}};
    row("told by another host", facts, Reason::kExited, kExitEndedEarly);

    facts = withExit(running(), 0);
    facts.goodbye = Goodbye{60, false};
    row("finished", facts, Reason::kFinished, kExitDone);
    facts.goodbye = Goodbye{7, true};
    row("stopped", facts, Reason::kStopped, kExitEndedEarly);
    facts.violation = QStringLiteral("undefined id: 999");
    row("violation after a goodbye", facts, Reason::kProtocolViolation, kExitFailed);

    facts = withExit(running(), 2);
    facts.failure = Failure{Failure::Kind::kUsage, "no such file"};
    row("failure, usage", facts, Reason::kFailed, kExitUsage);
    facts.failure = Failure{Failure::Kind::kOutOfMemory, "out of memory"};
    row("failure, memory", facts, Reason::kFailed, kExitEndedEarly);
    facts = withExit(running(), 0, SIGKILL);
    facts.refusedKnobs = QStringLiteral("refused");
    row("scheduled knobs refused", facts, Reason::kFailed, kExitUsage);

    facts = withExit(running(), 0, SIGKILL);
    row("killed by somebody else", facts, Reason::kCrashed, kExitEndedEarly);
    facts.silentFor = std::chrono::milliseconds(10'000);
    row("hung", facts, Reason::kHung, kExitEndedEarly);
    facts.silentFor.reset();
    facts.stopRequested = true;
    row("killed after a stop", facts, Reason::kStopped, kExitEndedEarly);
    facts.aborted = true;
    row("aborted", facts, Reason::kAborted, kExitEndedEarly);

    row("exited", withExit(running(), 7), Reason::kExited, kExitEndedEarly);
    row("attached process disconnected", running(), Reason::kExited, kExitEndedEarly);
    facts = withExit(running(), 1);
    facts.greeted = false;
    row("exited before Hello", facts, Reason::kFailed, kExitFailed);
    row("wrong usage before Hello", withExit(facts, kExitUsage), Reason::kFailed, kExitUsage);
    facts.stopRequested = true;
    row("stopped before Hello", facts, Reason::kStopped, kExitEndedEarly);
  }
  void followsFromTheFacts() {
    QFETCH(RunFacts, facts);
    QFETCH(int, reason);
    QFETCH(int, exitCode);
    const RunEnd end = runEndFrom(facts);
    QCOMPARE(int(end.reason), reason);
    QCOMPARE(exitCodeFor(end), exitCode);
    QVERIFY(!end.message.empty());
    // Lines explain an end that the worker did not announce.
    QCOMPARE(end.lastLines.empty(), facts.lastLines.isEmpty() || facts.goodbye.has_value());
  }

  void saysWhereTheTrainingWas() {
    const RunEnd end = runEndFrom(withExit(running(), 0, SIGKILL));
    QCOMPARE(end.message,
             std::string("highwater-worker was killed by signal 9 (SIGKILL) in step 5"));
    QCOMPARE(end.signal, SIGKILL);
  }

  void takesTheWorkersOwnMessageWithoutItsName() {
    RunFacts facts = withExit(running(), kExitUsage);
    facts.greeted = false;
    facts.lastLines = QStringList{"highwater-worker: --steps is \"x\""};
    QCOMPARE(runEndFrom(facts).message, std::string("--steps is \"x\""));
    // Also of what is wrong with a file, but not of what a library printed.
    facts.exit = ProcessExit{kExitFailed, 0};
    facts.lastLines = QStringList{"highwater-worker: the data \"a.csv\" does not exist"};
    QCOMPARE(runEndFrom(facts).message, std::string("the data \"a.csv\" does not exist"));
    facts.lastLines = QStringList{"ld.so: no libtorch.so"};
    QCOMPARE(runEndFrom(facts).message,
             std::string("highwater-worker ended with exit code 1 before it said hello; its last "
                         "line: ld.so: no libtorch.so"));
  }

  void removesControlCharacters() {
    RunFacts facts = withExit(running(), 1);
    facts.failure = Failure{Failure::Kind::kFailed, "bad\x1b[31m file"};
    QVERIFY(runEndFrom(facts).message.find('\x1b') == std::string::npos);
  }

  /// The interpreter of a script says goodbye however the script ends.
  void aScriptEndsAsItsProcess() {
    const auto endOf = [](int exitCode, int signal, bool stopped = false) {
      RunFacts facts = withExit(running(), exitCode, signal);
      facts.program = QStringLiteral("train.py");
      facts.isScript = true;
      facts.goodbye = Goodbye{12, stopped};
      return runEndFrom(facts);
    };
    QVERIFY(endOf(0, 0).reason == Reason::kFinished);
    const RunEnd exited = endOf(7, 0);
    QVERIFY(exited.reason == Reason::kExited);
    QCOMPARE(exited.exitCode, 7);
    QCOMPARE(exited.message, std::string("train.py ended with exit code 7 after 12 steps"));
    QCOMPARE(exited.lastLines, std::string("first\nlast words"));
    const RunEnd killed = endOf(0, SIGSEGV);
    QVERIFY(killed.reason == Reason::kCrashed && killed.signal == SIGSEGV);
    QCOMPARE(killed.message,
             std::string("train.py was killed by signal 11 (SIGSEGV) after 12 steps"));
  }

  void aScriptIsStoppedOrInterrupted() {
    RunFacts facts = withExit(running(), 0, SIGINT);
    facts.isScript = true;
    facts.goodbye = Goodbye{12, true};
    const RunEnd interrupted = runEndFrom(facts);
    QVERIFY(interrupted.reason == Reason::kStopped);
    QCOMPARE(interrupted.signal, 0);
    QCOMPARE(interrupted.message, std::string("interrupted, as by Ctrl+C, after 12 steps"));
    facts.exit = ProcessExit{130, 0};
    QCOMPARE(runEndFrom(facts).exitCode, 130);
    facts.exit.reset();  // attached
    QCOMPARE(runEndFrom(facts).message, interrupted.message);
    facts.exit = ProcessExit{0, SIGINT};
    facts.stopRequested = true;
    const RunEnd stopped = runEndFrom(facts);
    QVERIFY(stopped.reason == Reason::kStopped);
    QCOMPARE(stopped.signal, 0);
    QCOMPARE(stopped.message, std::string("stopped on request after 12 steps"));
  }

  void aScriptWithoutAGoodbyeNamesItsExit() {
    RunFacts facts = withExit(running(), 4);
    facts.program = QStringLiteral("train.py");
    facts.isScript = true;
    QCOMPARE(runEndFrom(facts).message, std::string("train.py ended with exit code 4 in step 5"));
    facts.exit = ProcessExit{0, SIGKILL};
    QCOMPARE(runEndFrom(facts).message,
             std::string("train.py was killed by signal 9 (SIGKILL) in step 5"));
  }

  void aScriptMayLeaveAndRunOn() {
    RunFacts facts = withExit(running(), 0);
    facts.program = QStringLiteral("train.py");
    facts.isScript = true;
    QCOMPARE(runEndFrom(facts).message,
             std::string("train.py ended with exit code 0 without saying why in step 5"));
    // Below a launcher that goes on.
    facts.trainerRanOn = false;
    RunEnd end = runEndFrom(facts);
    QCOMPARE(end.message,
             std::string("the process that trained ended without saying why in step 5"));
    QVERIFY(end.reason == Reason::kCrashed);
    facts.trainerRanOn = true;
    end = runEndFrom(facts);
    QCOMPARE(end.message, std::string("train.py closed its connection to Highwater in step 5; what "
                                      "it did after that is not recorded"));
    QVERIFY(end.reason == Reason::kExited);
    // What it says of itself tells more, also after a goodbye.
    facts.disconnectReason = "replaced itself by another program (exec)";
    facts.goodbye = Goodbye{5, false};
    end = runEndFrom(facts);
    QCOMPARE(end.message, std::string("train.py replaced itself by another program (exec) in step "
                                      "5; what it did after that is not recorded"));
    QVERIFY(end.reason == Reason::kExited);
  }

  void tellsOfACrashAfterTheGoodbye() {
    RunFacts facts = withExit(running(), 0, SIGSEGV);
    facts.goodbye = Goodbye{60, false};
    const RunEnd end = runEndFrom(facts);
    QVERIFY(end.reason == Reason::kFinished);
    QVERIFY2(end.message.find("SIGSEGV") != std::string::npos, end.message.c_str());
  }
};

HIGHWATER_TEST(TestRunEnd, QCoreApplication)
#include "tst_run_end.moc"
