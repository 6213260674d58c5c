#include <signal.h>
#include <sys/resource.h>

#include <QRegularExpression>

#include "core/exit_codes.h"
#include "session/session.h"
#include "session_probe.h"
#include "support/processes.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::session;
using namespace highwater::test;
using Reason = RunEnd::Reason;
using State = Session::State;

namespace {

bool processLives(qint64 id) {
  return ::kill(static_cast<pid_t>(id), 0) == 0;
}

QString text(const std::string& s) {
  return QString::fromStdString(s);
}

}  // namespace

class TestSession : public QObject {
  Q_OBJECT

 private:
  /// Runs a worker to its end; null if it does not end in time.
  static std::unique_ptr<Session> runToEnd(LaunchOptions options, CountingSink& sink) {
    auto session = std::make_unique<Session>(std::move(options));
    session->addSink(&sink);
    QSignalSpy ended(session.get(), &Session::ended);
    session->start();
    if (!session->end() && !ended.wait(kWaitMs)) return nullptr;
    return ended.count() == 1 ? std::move(session) : nullptr;
  }

 private slots:
  void init() {
    qunsetenv("HIGHWATER_HANG_TIMEOUT_MS");
    qunsetenv("HIGHWATER_START_TIMEOUT_MS");
  }

  void runsToTheEnd() {
    CountingSink sink;
    Session session(fakeWorker("sample", 60));
    session.addSink(&sink);
    QSignalSpy states(&session, &Session::stateChanged);
    QSignalSpy ended(&session, &Session::ended);
    session.start();
    QCOMPARE(session.state(), State::kStarting);
    QVERIFY(ended.wait(kWaitMs));
    QCOMPARE(text(session.end()->message), QString("60 steps done"));
    QVERIFY(session.end()->reason == Reason::kFinished);
    QCOMPARE(exitCodeFor(*session.end()), int(kExitDone));
    QList<State> seen;
    for (const auto& arguments : states) seen << arguments[0].value<State>();
    QCOMPARE(seen, (QList<State>{State::kStarting, State::kRunning, State::kEnded}));
    QCOMPARE(sink.batchSizes.size(), std::size_t(60));
    QCOMPARE(sink.mismatches, 0);
    QCOMPARE(sink.ends.size(), std::size_t(1));
    QCOMPARE(sink.afterEnd, 0);
    QVERIFY(session.hello()->device.simulated);
    QVERIFY(!processLives(session.workerProcessId()));
  }

  void saysHowAWorkerEnded_data() {
    QTest::addColumn<QByteArray>("mode");
    QTest::addColumn<int>("reason");
    QTest::addColumn<int>("exitCode");
    QTest::addColumn<QString>("message");
    const auto row = [](const char* mode, Reason reason, int code, const char* message) {
      QTest::newRow(mode) << QByteArray(mode) << int(reason) << code << QString(message);
    };
    row("kill", Reason::kCrashed, kExitEndedEarly,
        "highwater-worker was killed by signal 9 (SIGKILL) in step 5, forward, while "
        "aten::nonzero was open");
    row("abort", Reason::kCrashed, kExitEndedEarly,
        "highwater-worker was killed by signal 6 (SIGABRT) in step 5, forward, while "
        "aten::nonzero was open");
    row("exit7", Reason::kExited, kExitEndedEarly,
        "highwater-worker ended with exit code 7 without saying why in step 5");
    row("usage", Reason::kFailed, kExitUsage, "--preset is \"huge\"; give small or base");
    row("failure", Reason::kFailed, kExitUsage, "data.csv has no column \"label\"");
    row("outofmemory", Reason::kFailed, kExitEndedEarly, "MPS backend out of memory");
    row("version", Reason::kProtocolViolation, kExitFailed,
        "highwater-worker broke the protocol (protocol version: the worker speaks version 2, this "
        "program version 1; build both from the same sources)");
    row("garbage", Reason::kProtocolViolation, kExitFailed, nullptr);
    row("undefined", Reason::kProtocolViolation, kExitFailed, nullptr);
  }
  void saysHowAWorkerEnded() {
    QFETCH(QByteArray, mode);
    QFETCH(int, reason);
    QFETCH(int, exitCode);
    QFETCH(QString, message);
    CountingSink sink;
    const auto session = runToEnd(fakeWorker(mode.constData()), sink);
    QVERIFY(session);
    const RunEnd& end = *session->end();
    if (!message.isNull()) QCOMPARE(text(end.message), message);
    QCOMPARE(int(end.reason), reason);
    QCOMPARE(exitCodeFor(end), exitCode);
    QCOMPARE(sink.ends.size(), std::size_t(1));
    QCOMPARE(sink.ends[0].message, end.message);
    QVERIFY(!processLives(session->workerProcessId()));
    if (mode == "kill") QCOMPARE(end.openOp, std::string("aten::nonzero"));
    if (mode == "kill") QCOMPARE(end.signal, 9);
    if (mode == "undefined")
      QVERIFY2(text(end.message).contains("undefined id"), end.message.c_str());
    if (mode == "garbage")
      QVERIFY2(text(end.message).contains("not a stream"), end.message.c_str());
  }

  void keepsTheLastLines() {
    CountingSink sink;
    const auto session = runToEnd(fakeWorker("exit7"), sink);
    QVERIFY(session);
    const QStringList expected = {"first line", "second red line", "last words"};
    QCOMPARE(session->lastLines(), expected);
    QCOMPARE(text(session->end()->lastLines), expected.join(u'\n'));
  }

  void noticesAWorkerThatHangs() {
    qputenv("HIGHWATER_HANG_TIMEOUT_MS", "2000");
    CountingSink sink;
    const auto session = runToEnd(fakeWorker("stop"), sink);
    QVERIFY(session);
    QVERIFY(session->end()->reason == Reason::kHung);
    QCOMPARE(exitCodeFor(*session->end()), int(kExitEndedEarly));
    QCOMPARE(session->end()->openOp, std::string("aten::nonzero"));
    QVERIFY2(text(session->end()->message).contains("in step 5, forward, while aten::nonzero"),
             session->end()->message.c_str());
    QVERIFY(!processLives(session->workerProcessId()));
  }

  void noticesATrainingThatStandsStill() {
    qputenv("HIGHWATER_HANG_TIMEOUT_MS", "2000");
    CountingSink sink;
    Session session(fakeWorker("stuck"));
    session.addSink(&sink);
    QSignalSpy stalled(&session, &Session::stalled);
    QSignalSpy stallEnded(&session, &Session::stallEnded);
    session.start();
    QTRY_COMPARE(stalled.count(), 1);
    const QString said = stalled[0][0].toString();
    QVERIFY2(QRegularExpression("^step 5 has stood in loss read for [1-9][0-9]* s, in "
                                "aten::_local_scalar_dense$")
                 .match(said)
                 .hasMatch(),
             qPrintable(said));
    QCOMPARE(session.state(), State::kRunning);  // the run goes on
    session.stop();
    QTRY_COMPARE(session.state(), State::kEnded);
    QVERIFY(session.end()->reason == Reason::kStopped);
    QCOMPARE(session.end()->signal, 9);
    QCOMPARE(session.end()->openOp, std::string("aten::_local_scalar_dense"));
    QVERIFY2(text(session.end()->message).contains("in step 5, loss read, while aten::_local"),
             session.end()->message.c_str());
    QCOMPARE(stalled.count(), 1);
    QCOMPARE(stallEnded.count(), 1);
    QVERIFY(!processLives(session.workerProcessId()));
  }

  void takesBackAStallThatEnded() {
    qputenv("HIGHWATER_HANG_TIMEOUT_MS", "2000");
    CountingSink sink;
    Session session(fakeWorker("stuck", 12));
    session.addSink(&sink);
    QSignalSpy stalled(&session, &Session::stalled);
    QSignalSpy stallEnded(&session, &Session::stallEnded);
    session.start();
    QTRY_COMPARE(stalled.count(), 1);
    session.request(SetKnobs{32, {}, {}, 0});  // with which the fake worker goes on
    QTRY_COMPARE(session.state(), State::kEnded);
    QVERIFY2(session.end()->reason == Reason::kFinished, session.end()->message.c_str());
    QCOMPARE(stalled.count(), 1);
    QCOMPARE(stallEnded.count(), 1);
    QCOMPARE(sink.batchSizes.size(), std::size_t(11));
  }

  void noticesAWorkerThatNeverSaysHello() {
    qputenv("HIGHWATER_START_TIMEOUT_MS", "500");
    CountingSink sink;
    const auto session = runToEnd(fakeWorker("silent"), sink);
    QVERIFY(session);
    QVERIFY(session->end()->reason == Reason::kHung);
    QVERIFY(!session->hello());
  }

  void killsAWorkerThatDripsBytes() {
    qputenv("HIGHWATER_START_TIMEOUT_MS", "700");
    CountingSink sink;
    const auto session = runToEnd(fakeWorker("drip"), sink);
    QVERIFY(session);
    QVERIFY(session->end()->reason == Reason::kHung);
    QVERIFY(!session->hello());
    QVERIFY(!processLives(session->workerProcessId()));
  }

  void killsWhatAWorkerLeavesBehind_data() {
    QTest::addColumn<QByteArray>("mode");
    QTest::addColumn<bool>("isAborted");
    QTest::newRow("worker aborted") << QByteArray("daemon") << true;
    QTest::newRow("worker stopped") << QByteArray("daemon") << false;
    QTest::newRow("worker crashed") << QByteArray("daemonkill") << false;
  }
  void killsWhatAWorkerLeavesBehind() {
    QFETCH(QByteArray, mode);
    QFETCH(bool, isAborted);
    CountingSink sink;
    Session session(fakeWorker(mode.constData()));
    session.addSink(&sink);
    qint64 daemon = 0;
    connect(&session, &Session::linePrinted, this, [&daemon](const QString& line) {
      if (line.startsWith("daemon ")) daemon = line.section(u' ', 1).toLongLong();
    });
    session.start();
    QTRY_VERIFY(daemon != 0);
    if (mode == "daemon") {
      QTRY_COMPARE(session.state(), State::kRunning);
      QVERIFY(!test::isGone(daemon));
      isAborted ? session.abort() : session.stop();
    }
    QTRY_COMPARE(session.state(), State::kEnded);
    QTRY_VERIFY(test::isGone(daemon));
  }

  void saysThatThereAreTooFewDescriptors() {
    rlimit before{};
    QCOMPARE(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit few = before;
    few.rlim_cur = 16;
    CountingSink sink;
    Session session(fakeWorker("sample", 5));
    session.addSink(&sink);
    QCOMPARE(::setrlimit(RLIMIT_NOFILE, &few), 0);
    session.start();
    QCOMPARE(::setrlimit(RLIMIT_NOFILE, &before), 0);
    QTRY_COMPARE(session.state(), State::kEnded);
    QVERIFY(session.end()->reason == Reason::kFailed);
    QVERIFY2(text(session.end()->message).contains("may open 16; raise the limit"),
             session.end()->message.c_str());
    QCOMPARE(session.workerProcessId(), 0);
  }

  void noticesAConnectionThatIsClosedEarly() {
    CountingSink sink;
    const auto session = runToEnd(fakeWorker("close"), sink);
    QVERIFY(session);
    QVERIFY(session->end()->reason == Reason::kProtocolViolation);
    QVERIFY2(text(session->end()->message).contains("connection closed"),
             session->end()->message.c_str());
  }

  void refusesABadTimeout() {
    for (const char* value : {"soon", "10", "-1", "99999999999"}) {
      qputenv("HIGHWATER_HANG_TIMEOUT_MS", value);
      CountingSink sink;
      const auto session = runToEnd(fakeWorker("sample", 5), sink);
      QVERIFY(session);
      QCOMPARE(exitCodeFor(*session->end()), int(kExitUsage));
      QVERIFY(text(session->end()->message).contains("HIGHWATER_HANG_TIMEOUT_MS"));
      QCOMPARE(session->workerProcessId(), 0);
    }
  }

  void saysWhyAWorkerCannotStart() {
    CountingSink sink;
    LaunchOptions options;
    options.workerProgram = QStringLiteral("/nowhere/highwater-worker");
    auto session = runToEnd(options, sink);
    QVERIFY(session);
    QVERIFY(session->end()->reason == Reason::kFailed);
    QCOMPARE(text(session->end()->message),
             QString("there is no worker at /nowhere/highwater-worker"));
    QCOMPARE(exitCodeFor(*session->end()), int(kExitFailed));

    options.workerProgram = QStringLiteral(HIGHWATER_SOURCE_DIR "/CMakeLists.txt");
    session = runToEnd(options, sink);
    QVERIFY(session);
    QVERIFY(text(session->end()->message).contains("may not be executed"));

    options.workerProgram = QStringLiteral(HIGHWATER_SOURCE_DIR);
    session = runToEnd(options, sink);
    QVERIFY(session);
    QVERIFY(text(session->end()->message).contains("is not a program"));
  }

  void obeysCommands() {
    CountingSink sink;
    Session session(fakeWorker("train"));
    session.addSink(&sink);
    std::vector<CommandAnswer> answers;
    connect(&session, &Session::commandAnswered, this,
            [&answers](const CommandAnswer& answer) { answers.push_back(answer); });
    session.request(SetKnobs{32, {}, {}, 0});
    QCOMPARE(answers.size(), std::size_t(1));  // refused at once: the run has not been started
    QVERIFY(!answers[0].accepted);
    session.start();
    QTRY_COMPARE(session.state(), State::kRunning);
    session.request(PauseTraining{});
    QTRY_COMPARE(session.state(), State::kPaused);
    session.request(ResumeTraining{});
    QTRY_COMPARE(session.state(), State::kRunning);
    session.request(SetKnobs{32, 64, {}, 0});
    QTRY_COMPARE(answers.size(), std::size_t(4));
    QVERIFY(std::holds_alternative<PauseTraining>(answers[1].command));
    QVERIFY(std::holds_alternative<ResumeTraining>(answers[2].command));
    const auto* change = std::get_if<SetKnobs>(&answers[3].command);
    QVERIFY(change && change->batchSize == 32 && change->sequenceLength == 64);
    QVERIFY(answers[3].accepted && answers[3].fromStep > 1);
    session.request(SetKnobs{{}, 5000, {}, 0});
    QTRY_COMPARE(answers.size(), std::size_t(5));
    QVERIFY(!answers[4].accepted);
    QCOMPARE(answers[4].reason, std::string("the position table ends at 256"));
    QCOMPARE(answers[4].fromStep, 0u);
    QTRY_VERIFY(!sink.batchSizes.empty() && sink.batchSizes.back() == 32);
    session.stop();
    QCOMPARE(session.state(), State::kStopping);
    QTRY_COMPARE(session.state(), State::kEnded);
    QVERIFY(session.end()->reason == Reason::kStopped);
    QVERIFY(text(session.end()->message).startsWith("stopped on request after"));
  }

  void sendsScheduledKnobsBeforeTheStart() {
    CountingSink sink;
    LaunchOptions options = fakeWorker("train", 10);
    options.scheduledKnobs = {{48, {}, {}, 1}};
    auto session = runToEnd(options, sink);
    QVERIFY(session);
    QVERIFY(session->end()->reason == Reason::kFinished);
    QCOMPARE(sink.batchSizes.front(), 48u);

    options.scheduledKnobs = {{{}, 5000, {}, 4}};
    session = runToEnd(options, sink);
    QVERIFY(session);
    QCOMPARE(exitCodeFor(*session->end()), int(kExitUsage));
    QCOMPARE(text(session->end()->message),
             QString("\"sequence length 5000 from step 4\" was refused: the position table ends "
                     "at 256"));
  }

  void sendsAnyNumberOfScheduledKnobs() {
    CountingSink sink;
    LaunchOptions options = fakeWorker("train", 10);
    // More than the commands that may wait for their answer when a user sends them.
    for (std::uint32_t i = 0; i < 300; ++i) options.scheduledKnobs.push_back({48, {}, {}, 1});
    auto session = runToEnd(options, sink);
    QVERIFY(session);
    QVERIFY(session->end()->reason == Reason::kFinished);
  }

  void abortEndsAtOnce() {
    CountingSink sink;
    Session session(fakeWorker("train"));
    session.addSink(&sink);
    session.start();
    QTRY_COMPARE(session.state(), State::kRunning);
    session.abort();
    QCOMPARE(session.state(), State::kEnded);
    QVERIFY(session.end()->reason == Reason::kAborted);
    QVERIFY(!processLives(session.workerProcessId()));
    QCOMPARE(sink.ends.size(), std::size_t(1));
  }

  void takesTheWorkerWithIt() {
    CountingSink sink;
    qint64 id = 0;
    {
      Session session(fakeWorker("train"));
      session.addSink(&sink);
      session.start();
      QTRY_COMPARE(session.state(), State::kRunning);
      id = session.workerProcessId();
      QVERIFY(processLives(id));
    }
    QVERIFY(!processLives(id));
    QCOMPARE(sink.ends.size(), std::size_t(1));
  }
};

HIGHWATER_TEST(TestSession, QCoreApplication)
#include "tst_session.moc"
