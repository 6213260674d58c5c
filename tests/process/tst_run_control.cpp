#include <future>

#include "process/run_control.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::process;

class TestRunControl : public QObject {
  Q_OBJECT

 private slots:
  void appliesChangesAtTheirStep() {
    RunControl control({16, 64, 10}, {}, 2);
    QVERIFY(control.schedule({8, {}, {}, 2}));
    QCOMPARE(control.next().step, 1u);
    QCOMPARE(control.obey({1, EmptyCache{}}).effectiveStep, 2u);
    QCOMPARE(control.next().kind, NextAction::Kind::kEmptyCache);
    const NextAction second = control.next();
    QCOMPARE(second.kind, NextAction::Kind::kStep);
    QCOMPARE(second.knobs.batchSize, 8u);
    QCOMPARE(second.changes.size(), std::size_t{1});
    QCOMPARE(control.knobs(), (Knobs{8, 64, 10}));
    QCOMPARE(control.next().kind, NextAction::Kind::kStop);
    QVERIFY(!control.stopRequested());
  }

  void appliesAChangeWithoutAStepToTheNextOne() {
    RunControl control({16, 64, 10}, {}, 0);
    (void)control.next();
    const CommandResult result = control.obey({7, SetKnobs{{}, 128, {}, 0}});
    QCOMPARE(result.commandId, 7u);
    QVERIFY(result.accepted);
    QCOMPARE(result.effectiveStep, 2u);
    QCOMPARE(control.next().knobs.sequenceLength, 128u);
  }

  void refusesChanges_data() {
    QTest::addColumn<int>("batch");
    QTest::addColumn<int>("step");
    QTest::addColumn<QString>("why");
    QTest::newRow("begun") << 8 << 1 << "step 1 has begun";
    QTest::newRow("past the end") << 8 << 10 << "past the last one, 9";
    QTest::newRow("out of range") << 5000 << 5 << "batch size 5000 is out of range";
    QTest::newRow("zero") << 0 << 5 << "allowed are 1 to 4096";
  }
  void refusesChanges() {
    QFETCH(int, batch);
    QFETCH(int, step);
    QFETCH(QString, why);
    RunControl control({16, 64, 10}, {}, 9);
    QCOMPARE(control.next().step, 1u);
    const auto result =
        control.obey({2, SetKnobs{std::uint32_t(batch), {}, {}, std::uint32_t(step)}});
    QVERIFY(!result.accepted);
    QVERIFY2(QString::fromStdString(result.message).contains(why), result.message.c_str());
    for (int i = 0; i < 8; ++i) QCOMPARE(control.next().knobs.batchSize, 16u);
  }

  void beginsABlockOfATry() {
    RunControl control({16, 64, 10}, {}, 0);
    (void)control.next();
    const auto block = [&control](TryBlock::Part part, std::string knob, double value) {
      return control.obey({3, TryBlock{part, {}, std::move(knob), value}});
    };
    QVERIFY(block(TryBlock::Part::kChanged, "accumulate", 4).accepted);
    const NextAction begins = control.next();
    QCOMPARE(begins.kind, NextAction::Kind::kTry);
    QCOMPARE(begins.part, TryBlock::Part::kChanged);
    QCOMPARE(control.next().knobs.accumulation, 4U);
    QVERIFY(block(TryBlock::Part::kOver, "accumulate", 1).accepted);
    QCOMPARE(control.next().part, TryBlock::Part::kOver);
    QCOMPARE(control.next().knobs.accumulation, 1U);
    QVERIFY(!block(TryBlock::Part::kChanged, "accumulate", 0).accepted);
    QVERIFY(!block(TryBlock::Part::kChanged, "speed", 1).accepted);
    QVERIFY(!block(static_cast<TryBlock::Part>(9), "accumulate", 2).accepted);
    QVERIFY(!control.obey({4, TryBlock{TryBlock::Part::kChanged, {7}, {}, 0}}).accepted);
    QCOMPARE(control.next().kind, NextAction::Kind::kStep);
  }

  void startsOnce() {
    RunControl control({16, 64, 10}, {}, 0);
    QVERIFY(control.obey({1, StartTraining{}}).accepted);
    QVERIFY(control.waitForStart());
    QVERIFY(!control.obey({2, StartTraining{}}).accepted);
  }

  void looksCloselyForSomeSteps() {
    RunControl control({16, 64, 10}, {}, 0);
    QVERIFY(control.obey({1, SetProbeLevel{events::ProbeLevel::Ops, 2}}).accepted);
    QCOMPARE(control.next().probeLevel, events::ProbeLevel::Ops);
    QCOMPARE(control.next().probeLevel, events::ProbeLevel::Ops);
    QCOMPARE(control.next().probeLevel, events::ProbeLevel::Monitor);
    QVERIFY(!control.obey({2, SetProbeLevel{static_cast<events::ProbeLevel>(99), 0}}).accepted);
  }

  void waitsWhilePaused() {
    RunControl control({16, 64, 10}, {}, 0);
    QVERIFY(control.obey({1, PauseTraining{}}).accepted);
    QCOMPARE(control.next().kind, NextAction::Kind::kPaused);
    // Without waiting it would return kStep, unless it runs after the resume.
    auto waiting = std::async(std::launch::async, [&control] { return control.next(); });
    QVERIFY(control.obey({2, ResumeTraining{}}).accepted);
    QCOMPARE(waiting.get().kind, NextAction::Kind::kResumed);
    QCOMPARE(control.next().kind, NextAction::Kind::kStep);
  }

  void emptiesTheCacheWhilePaused() {
    RunControl control({16, 64, 10}, {}, 0);
    QVERIFY(control.obey({1, PauseTraining{}}).accepted);
    QCOMPARE(control.next().kind, NextAction::Kind::kPaused);
    auto waiting = std::async(std::launch::async, [&control] { return control.next(); });
    QVERIFY(control.obey({2, EmptyCache{}}).accepted);
    QCOMPARE(waiting.get().kind, NextAction::Kind::kEmptyCache);
  }

  void stopsWhenTheHostIsGone() {
    RunControl control({16, 64, 10}, {}, 0);
    QVERIFY(control.obey({1, PauseTraining{}}).accepted);
    QCOMPARE(control.next().kind, NextAction::Kind::kPaused);
    auto waiting = std::async(std::launch::async, [&control] { return control.next(); });
    control.hostGone();
    QCOMPARE(waiting.get().kind, NextAction::Kind::kStop);
    QVERIFY(control.isHostGone() && control.stopRequested());
    QVERIFY(!control.waitForWelcome() && !control.waitForStart());
  }
};

HIGHWATER_TEST(TestRunControl, QCoreApplication)
#include "tst_run_control.moc"
