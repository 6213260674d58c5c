#include "session/run_state_machine.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::session;
using State = Session::State;

namespace {

RunEnd endedBy(RunEnd::Reason reason) {
  RunEnd end;
  end.reason = reason;
  return end;
}

}  // namespace

class TestRunStateMachine : public QObject {
  Q_OBJECT

 private:
  /// A machine that was brought to `state`.
  static RunStateMachine in(State state) {
    RunStateMachine machine;
    if (state == State::kIdle) return machine;
    machine.start();
    if (state == State::kStarting) return machine;
    machine.trainingStarted();
    if (state == State::kPaused) machine.paused();
    if (state == State::kStopping) machine.stopRequested();
    if (state == State::kEnded) machine.finish(endedBy(RunEnd::Reason::kFinished));
    return machine;
  }

 private slots:
  void goesThroughARun() {
    RunStateMachine machine;
    QCOMPARE(machine.state(), State::kIdle);
    QVERIFY(machine.start());
    QVERIFY(machine.trainingStarted());
    QVERIFY(machine.paused());
    QVERIFY(machine.resumed());
    QVERIFY(machine.stopRequested());
    QCOMPARE(machine.state(), State::kStopping);
    QVERIFY(!machine.end());
    QVERIFY(machine.finish(endedBy(RunEnd::Reason::kStopped)));
    QCOMPARE(machine.state(), State::kEnded);
    QVERIFY(machine.end()->reason == RunEnd::Reason::kStopped);
  }

  void refusesWhatAStateDoesNotAllow_data() {
    QTest::addColumn<State>("state");
    QTest::addColumn<QString>("transitions");  // that are allowed
    QTest::newRow("idle") << State::kIdle << "start finish";
    QTest::newRow("starting") << State::kStarting << "started stop finish";
    QTest::newRow("running") << State::kRunning << "pause stop finish";
    QTest::newRow("paused") << State::kPaused << "resume stop finish";
    QTest::newRow("stopping") << State::kStopping << "finish";
    QTest::newRow("ended") << State::kEnded << "";
  }
  void refusesWhatAStateDoesNotAllow() {
    QFETCH(State, state);
    QFETCH(QString, transitions);
    const QStringList allowed = transitions.split(u' ', Qt::SkipEmptyParts);
    const std::map<QString, std::function<bool(RunStateMachine&)>> all = {
        {"start", [](auto& m) { return m.start(); }},
        {"started", [](auto& m) { return m.trainingStarted(); }},
        {"pause", [](auto& m) { return m.paused(); }},
        {"resume", [](auto& m) { return m.resumed(); }},
        {"stop", [](auto& m) { return m.stopRequested(); }},
        {"finish", [](auto& m) { return m.finish(endedBy(RunEnd::Reason::kFailed)); }}};
    for (const auto& [name, transition] : all) {
      RunStateMachine machine = in(state);
      QCOMPARE(machine.state(), state);
      QVERIFY2(transition(machine) == allowed.contains(name), qPrintable(name));
      QVERIFY2((machine.state() == state) != allowed.contains(name), qPrintable(name));
    }
  }

  void keepsTheFirstEnd() {
    RunStateMachine machine = in(State::kRunning);
    QVERIFY(machine.finish(endedBy(RunEnd::Reason::kCrashed)));
    QVERIFY(!machine.finish(endedBy(RunEnd::Reason::kFinished)));
    QVERIFY(machine.end()->reason == RunEnd::Reason::kCrashed);
  }

  void saysWhichCommandsAStateTakes() {
    const SetKnobs knobs{32, {}, {}, 0};
    QVERIFY(!in(State::kIdle).permits(StopTraining{}));
    QVERIFY(in(State::kStarting).permits(StopTraining{}));
    QVERIFY(!in(State::kStarting).permits(knobs));
    QVERIFY(in(State::kRunning).permits(knobs));
    QVERIFY(in(State::kRunning).permits(PauseTraining{}));
    QVERIFY(!in(State::kRunning).permits(ResumeTraining{}));
    QVERIFY(!in(State::kRunning).permits(StartTraining{}));
    QVERIFY(in(State::kPaused).permits(ResumeTraining{}));
    QVERIFY(in(State::kPaused).permits(EmptyCache{}));
    QVERIFY(!in(State::kPaused).permits(PauseTraining{}));
    QVERIFY(!in(State::kStopping).permits(knobs));
    const auto ended = in(State::kEnded).permits(StopTraining{});
    QVERIFY(!ended);
    QCOMPARE(ended.error().message, std::string("the run has ended"));
  }
};

HIGHWATER_TEST(TestRunStateMachine, QCoreApplication)
#include "tst_run_state_machine.moc"
