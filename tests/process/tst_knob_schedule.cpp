#include <QTest>

#include "process/knob_schedule.h"

using namespace highwater;
using namespace highwater::process;

class TestKnobSchedule : public QObject {
  Q_OBJECT

 private slots:
  void appliesAtTheStep();
  void appliesWhatIsOverdue();
  void reportsOnlyWhatBecameDifferent();
};

void TestKnobSchedule::appliesAtTheStep() {
  KnobSchedule schedule;
  schedule.add({32, {}, {}, 5});
  schedule.add({{}, 128, {}, 5});
  schedule.add({8, {}, {}, 3});
  schedule.add({64, {}, {}, 5});  // replaces the first
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

void TestKnobSchedule::reportsOnlyWhatBecameDifferent() {
  KnobSchedule schedule;
  schedule.add({16, {}, {}, 2});
  Knobs knobs{16, 64, 10};
  QVERIFY(schedule.apply(2, knobs).empty());
}

void TestKnobSchedule::appliesWhatIsOverdue() {
  KnobSchedule schedule;
  schedule.add({8, {}, {}, 3});
  schedule.add({32, {}, 2, 4});
  Knobs knobs{16, 64, 10};
  const auto changed = schedule.apply(9, knobs);
  QCOMPARE(knobs, (Knobs{32, 64, 2}));
  QCOMPARE(changed.size(), std::size_t{2});
  QCOMPARE(changed[0].before, 16u);
  QVERIFY(schedule.apply(10, knobs).empty());
}

QTEST_APPLESS_MAIN(TestKnobSchedule)
#include "tst_knob_schedule.moc"
