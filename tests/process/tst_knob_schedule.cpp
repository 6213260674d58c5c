#include "core/knobs.h"
#include "process/knob_schedule.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::process;

class TestKnobSchedule : public QObject {
  Q_OBJECT

 private slots:
  void appliesAtTheStep() {
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
    QCOMPARE(fifth[0].before, 8.0);
    QCOMPARE(fifth[0].after, 64.0);
    QCOMPARE(fifth[1].kind, events::MarkerKind::SequenceLength);
    QCOMPARE(knobs, (Knobs{64, 128, 10}));
  }

  void appliesWhatIsOverdue() {
    KnobSchedule schedule;
    schedule.add({8, {}, {}, 3});
    schedule.add({32, {}, 2, 4});
    Knobs knobs{16, 64, 10};
    const auto changed = schedule.apply(9, knobs);
    QCOMPARE(knobs, (Knobs{32, 64, 2}));
    QCOMPARE(changed.size(), std::size_t{2});
    QCOMPARE(changed[0].before, 16.0);
    QVERIFY(schedule.apply(10, knobs).empty());
  }

  void reportsOnlyWhatBecameDifferent() {
    KnobSchedule schedule;
    schedule.add({16, {}, {}, 2});
    Knobs knobs{16, 64, 10};
    QVERIFY(schedule.apply(2, knobs).empty());
  }

  void takesEveryKnob() {
    for (const Knob& knob : allKnobs()) {
      KnobSchedule schedule;
      SetKnobs change;
      change.atStep = 2;
      knob.request(change, 1);
      schedule.add(change);
      Knobs knobs{16, 64, 10, 0.5, 4, Precision::kFloat16, 2, false, OutOfMemoryPolicy::kHalve};
      const double before = knob.value(knobs);
      const auto changed = schedule.apply(2, knobs);
      QCOMPARE(changed.size(), std::size_t{1});
      QCOMPARE(changed[0].kind, knob.kind);
      QCOMPARE(changed[0].before, before);
      QCOMPARE(changed[0].after, 1.0);
      QCOMPARE(knob.value(knobs), 1.0);
    }
  }

  void keepsTheEffectiveBatch() {
    KnobSchedule schedule;
    Knobs knobs{16, 64, 10, 0.1, 2};
    knobs.keepEffectiveBatch = true;
    const auto apply = [&](SetKnobs change) {
      change.atStep = 1;
      schedule.add(change);
      return schedule.apply(1, knobs);
    };
    const auto halved = apply({8, {}, {}});
    QCOMPARE(knobs.accumulation, 4u);
    QCOMPARE(halved.size(), std::size_t{2});
    QCOMPARE(halved[1].kind, events::MarkerKind::Accumulation);
    SetKnobs accumulate;
    accumulate.accumulation = 1;
    apply(accumulate);
    QCOMPARE(knobs.batchSize, 32u);
    // The nearest, and from there not from what was rounded.
    apply({5, {}, {}});
    QCOMPARE(knobs.accumulation, 6u);
    apply({16, {}, {}});
    QCOMPARE(knobs.accumulation, 2u);
    // Both at once are a new one.
    SetKnobs both{10, {}, {}};
    both.accumulation = 10;
    apply(both);
    apply({20, {}, {}});
    QCOMPARE(knobs.accumulation, 5u);
  }

  void keepsItThroughHalving() {
    KnobSchedule schedule;
    Knobs knobs{4096, 64, 10, 0.1, 1};
    knobs.keepEffectiveBatch = true;
    for (std::uint32_t step = 1; knobs.batchSize > 1; ++step) {
      schedule.add({knobs.batchSize / 2, {}, {}, step});
      schedule.apply(step, knobs);
      const std::uint32_t wanted = std::min(4096 / knobs.batchSize, kMostAccumulation);
      QCOMPARE(knobs.accumulation, wanted);
    }
  }
};

HIGHWATER_TEST(TestKnobSchedule, QCoreApplication)
#include "tst_knob_schedule.moc"
