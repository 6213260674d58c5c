#include <QTest>
#include <future>

#include "worker/knobs.h"
#include "worker/run_control.h"

using namespace highwater;
using namespace highwater::worker;

class TestKnobs : public QObject {
  Q_OBJECT
 private slots:
  void parses();
  void refusesOddText_data();
  void refusesOddText();
  void appliesAtTheStep();
  void reportsOnlyWhatBecameDifferent();
  void runsThroughItsActions();
  void waitsWhilePaused();
  void stopsWhilePaused();
};

void TestKnobs::parses() {
  const auto change = parseKnobChange("20:batch=32");
  QVERIFY(change);
  QCOMPARE(change->atStep, 20u);
  QCOMPARE(change->batchSize, std::optional<std::uint32_t>(32));
  QVERIFY(!change->sequenceLength && !change->lossEvery);
  QCOMPARE(parseKnobChange("1:seq=8")->sequenceLength, std::optional<std::uint32_t>(8));
  QCOMPARE(parseKnobChange("1:loss-every=8")->lossEvery, std::optional<std::uint32_t>(8));
}

void TestKnobs::refusesOddText_data() {
  QTest::addColumn<QString>("text");
  for (const char* text :
       {"", "20", "batch=3", "20:batch", "20:batch=", "20:batch=3x", "0:batch=3", "-1:batch=3",
        "x:batch=3", "20=batch:3", "20:width=3", "20:batch=99999999999"}) {
    QTest::newRow(text) << text;
  }
}

void TestKnobs::refusesOddText() {
  QFETCH(QString, text);
  const auto change = parseKnobChange(text.toStdString());
  QVERIFY(!change);
  QCOMPARE(change.error().code, ErrorCode::kUsage);
}

void TestKnobs::appliesAtTheStep() {
  KnobSchedule schedule;
  schedule.add(*parseKnobChange("5:batch=32"));
  schedule.add(*parseKnobChange("5:seq=128"));
  schedule.add(*parseKnobChange("3:batch=8"));
  schedule.add(*parseKnobChange("5:batch=64"));  // the later word wins
  Knobs knobs{16, 64, 10};
  QVERIFY(schedule.apply(2, knobs).empty());
  const auto third = schedule.apply(3, knobs);
  QCOMPARE(third.size(), std::size_t{1});
  QCOMPARE(knobs, (Knobs{8, 64, 10}));
  QVERIFY(schedule.apply(4, knobs).empty());
  const auto fifth = schedule.apply(5, knobs);
  QCOMPARE(fifth.size(), std::size_t{2});
  QCOMPARE(fifth[0].kind, events::MarkerKind::BatchSize);
  QCOMPARE(fifth[0].before, 8u);
  QCOMPARE(fifth[0].after, 64u);
  QCOMPARE(fifth[1].kind, events::MarkerKind::SequenceLength);
  QCOMPARE(knobs, (Knobs{64, 128, 10}));
}

void TestKnobs::reportsOnlyWhatBecameDifferent() {
  KnobSchedule schedule;
  schedule.add(*parseKnobChange("2:batch=16"));
  Knobs knobs{16, 64, 10};
  QVERIFY(schedule.apply(2, knobs).empty());
}

void TestKnobs::runsThroughItsActions() {
  RunControl control({16, 64, 10}, {4096, 512}, 2);
  SetKnobs change;
  change.batchSize = 8;
  change.atStep = 2;
  QVERIFY(control.schedule(change));
  QCOMPARE(control.next().step, 1u);
  QCOMPARE(control.obey({1, EmptyCache{}}).effectiveStep, 2u);
  change.atStep = 1;
  const auto late = control.obey({2, change});
  QVERIFY(!late.accepted);
  QVERIFY(late.message.find("step 1 has begun") != std::string::npos);
  QCOMPARE(control.next().kind, NextAction::Kind::kEmptyCache);
  const NextAction second = control.next();
  QCOMPARE(second.kind, NextAction::Kind::kStep);
  QCOMPARE(second.knobs.batchSize, 8u);
  QCOMPARE(second.changes.size(), std::size_t{1});
  QCOMPARE(control.next().kind, NextAction::Kind::kStop);
  QVERIFY(!control.stopRequested());
}

void TestKnobs::waitsWhilePaused() {
  RunControl control({16, 64, 10}, {4096, 512}, 0);
  QVERIFY(control.obey({1, PauseTraining{}}).accepted);
  QCOMPARE(control.next().kind, NextAction::Kind::kPaused);
  auto waiting = std::async(std::launch::async, [&control] { return control.next(); });
  QVERIFY(waiting.wait_for(std::chrono::milliseconds(50)) == std::future_status::timeout);
  QVERIFY(control.obey({2, ResumeTraining{}}).accepted);
  QCOMPARE(waiting.get().kind, NextAction::Kind::kResumed);
  QCOMPARE(control.next().kind, NextAction::Kind::kStep);
}

void TestKnobs::stopsWhilePaused() {
  RunControl control({16, 64, 10}, {4096, 512}, 0);
  QVERIFY(control.obey({1, PauseTraining{}}).accepted);
  QCOMPARE(control.next().kind, NextAction::Kind::kPaused);
  auto waiting = std::async(std::launch::async, [&control] { return control.next(); });
  control.hostGone();
  QCOMPARE(waiting.get().kind, NextAction::Kind::kStop);
  QVERIFY(control.isHostGone() && control.stopRequested());
}

QTEST_GUILESS_MAIN(TestKnobs)
#include "tst_knobs.moc"
