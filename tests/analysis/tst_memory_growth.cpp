#include "analysis/account/memory_growth.h"
#include "step_events.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;
using namespace highwater::analysis;
using events::Phase;

namespace {

constexpr std::uint64_t kBase = 100 << 20;

/// Steps of 10 ms; current at their ends as `bytes` says, of a batch as long as `length` says.
std::optional<MemoryGrowth> growthOf(std::uint32_t steps,
                                     const std::function<std::uint64_t(std::uint32_t)>& bytes,
                                     const std::function<std::uint32_t(std::uint32_t)>& length) {
  OwnedBatch batch;
  for (std::uint32_t step = 1; step <= steps; ++step) {
    const std::int64_t beginMs = 10 * step;
    batch.steps.push_back(stepAt(step, beginMs, 9, length(step)));
    batch.memorySamples.emplace_back((beginMs + 4) * kMs, 2 * kBase, kBase, kBase,
                                     events::SampleOrigin::Timer);
    batch.memorySamples.emplace_back((beginMs + 8) * kMs, bytes(step), kBase, kBase,
                                     events::SampleOrigin::PhaseBoundary);
  }
  LiveStore store;
  store.apply(batch.view());
  return memoryGrowth(store);
}

}  // namespace

class TestMemoryGrowth : public QObject {
  Q_OBJECT

 private slots:
  void isWhatAStepLeaves() {
    const auto growth = growthOf(
        40, [](auto step) { return kBase + step * 4096; }, sameLength);
    QCOMPARE(growth->pairs, std::uint64_t{38});  // without the first
    QCOMPARE(growth->medianBytes, 4096.0);
    QCOMPARE(growth->slopeBytes, 4096.0);
  }

  void whatComesOnceIsNone() {
    const auto growth = growthOf(
        40, [](auto step) { return step < 20 ? kBase : 3 * kBase; }, sameLength);
    QCOMPARE(growth->medianBytes, 0.0);
    const auto first = growthOf(
        40, [](auto step) { return step < 2 ? 0 : kBase; }, sameLength);
    QCOMPARE(first->slopeBytes, 0.0);
  }

  void aLeakEveryFewStepsShowsOverTheRun() {
    const auto growth = growthOf(
        40, [](auto step) { return kBase + step / 4 * 4000; }, sameLength);
    QCOMPARE(growth->medianBytes, 0.0);
    QVERIFY(std::fabs(growth->slopeBytes - 1000) < 60);
    QCOMPARE(growth->shape, GrowthShape::Jumps);
    QCOMPARE(growth->heightBytes, 4000.0);
    QCOMPARE(growth->everySteps, std::uint32_t{4});
    QCOMPARE(growth->atSteps.front(), std::uint32_t{4});
  }

  /// What is read partly before and partly after the end of a step is one jump.
  void aJumpInTwoPartsIsOne() {
    const auto growth = growthOf(
        40, [](auto step) { return kBase + (step + 1) / 8 * 3'000'000 + step / 8 * 9'000'000; },
        sameLength);
    QCOMPARE(growth->shape, GrowthShape::Jumps);
    QCOMPARE(growth->heightBytes, 12'000'000.0);
    QCOMPARE(growth->everySteps, std::uint32_t{8});
  }

  void whatIsFreedAgainIsASawtooth() {
    const auto kept = [](std::uint32_t step) { return kBase + (step - 1) % 10 * 100'000; };
    const auto growth = growthOf(45, kept, sameLength);
    QCOMPARE(growth->shape, GrowthShape::Sawtooth);
    QCOMPARE(growth->riseBytes, 100'000.0);
    QCOMPARE(growth->heightBytes, 900'000.0);
    QCOMPARE(growth->slopeBytes, 0.0);
    QCOMPARE(growth->atSteps, (std::vector<std::uint32_t>{11, 21, 31, 41}));
    QCOMPARE(growth->everySteps, std::uint32_t{10});
    // With batches of another length now and then, and what a step leaves besides.
    const auto length = [](std::uint32_t step) { return step % 10 == 0 ? 32U : 64U; };
    const auto noisy = growthOf(
        45, [&](auto step) { return kept(step) + length(step) * 5000 + step * 7919 % 20'000; },
        length);
    QCOMPARE(noisy->shape, GrowthShape::Sawtooth);
    QCOMPARE(noisy->atSteps, growth->atSteps);
    QVERIFY(std::fabs(noisy->riseBytes - 100'000) < 5000);
  }

  /// What is freed soon after, and levels that waver, are no jumps.
  void aJumpStays() {
    const auto growth = growthOf(
        40,
        [](auto step) {
          const std::uint64_t wavers = step > 26 && step < 30 ? 6 << 20 : 0;
          return kBase + (step / 10) * (16 << 20) + (step == 13 ? 20 << 20 : 0) + wavers;
        },
        sameLength);
    QCOMPARE(growth->shape, GrowthShape::Jumps);
    QCOMPARE(growth->atSteps, (std::vector<std::uint32_t>{10, 20, 30, 40}));
  }

  /// Readings that come now before, now after what a step keeps.
  void growthReadEverySecondStepIsEven() {
    const auto growth = growthOf(
        40, [](auto step) { return kBase + step / 2 * (128 << 10); }, sameLength);
    QCOMPARE(growth->shape, GrowthShape::Even);
  }

  /// Random walks, noise and lines: neither a sawtooth nor jumps.
  void noiseHasNoShape() {
    std::mt19937 random(11);
    for (int round = 0; round < 300; ++round) {
      const std::uint64_t slope = random() % 3 * 500'000;
      std::vector<std::uint64_t> noise(80);
      for (std::uint64_t& each : noise) each = random() % 400'000;
      const auto growth = growthOf(
          79, [&](auto step) { return kBase + slope * step + noise[step]; }, sameLength);
      QCOMPARE(growth->shape, GrowthShape::Even);
      QVERIFY(std::fabs(growth->slopeBytes - static_cast<double>(slope)) < 5000);
    }
  }

  void onlyStepsOfOneShapeAreCompared() {
    const auto length = [](std::uint32_t step) { return 8 + step * 7 % 5; };
    const auto bytes = [&](std::uint32_t step) { return kBase + length(step) * 100'000; };
    const auto still = growthOf(40, bytes, length);
    QCOMPARE(still->medianBytes, 0.0);
    QCOMPARE(still->slopeBytes, 0.0);
    const auto grows = growthOf(
        40, [&](auto step) { return bytes(step) + step * 10; }, length);
    QCOMPARE(grows->medianBytes, 10.0);
    QCOMPARE(grows->slopeBytes, 10.0);
  }

  void isUnknownWhereNoShapeComesTwice() {
    QVERIFY(!growthOf(
        40, [](auto) { return kBase; }, [](auto step) { return step; }));
    QVERIFY(!growthOf(
        2, [](auto) { return kBase; }, sameLength));
    QVERIFY(!growthOf(
        0, [](auto) { return kBase; }, sameLength));
  }

  void theAllocatorsOwnReadingComesFirst() {
    OwnedBatch batch;
    for (std::uint32_t step = 1; step <= 3; ++step) {
      batch.steps.push_back(stepAt(step, 10 * step, 9));
      batch.memorySamples.emplace_back((10 * step + 8) * kMs, kBase, kBase, kBase,
                                       events::SampleOrigin::Timer);
      // In any order; the last phase counts.
      batch.phaseMemory.emplace_back((10 * step + 7) * kMs, kBase, kBase, 1000 * step, step,
                                     Phase::OptimizerStep);
      batch.phaseMemory.emplace_back((10 * step + 3) * kMs, kBase, kBase, kBase, step,
                                     Phase::Forward);
    }
    LiveStore store;
    store.apply(batch.view());
    QCOMPARE(currentAtStepEnds(store)[1].bytes, 2000.0);
    QCOMPARE(memoryGrowth(store)->medianBytes, 1000.0);
  }

  /// Of samples and readings that some steps lack.
  void theEndsOfARangeAreThoseOfTheRun() {
    std::mt19937 random(4);
    for (int round = 0; round < 100; ++round) {
      OwnedBatch batch;
      const std::uint32_t steps = 1 + random() % 300;
      for (std::uint32_t step = 1; step <= steps; ++step) {
        const std::int64_t beginMs = 10 * step;
        batch.steps.push_back(stepAt(step, beginMs, 9, 64));
        if (random() % 3 > 0) {
          batch.memorySamples.emplace_back((beginMs + 4) * kMs, random(), kBase, kBase,
                                           events::SampleOrigin::Timer);
        }
        if (random() % 3 == 0) {
          batch.phaseMemory.emplace_back((beginMs + 8) * kMs, 0, 0, random(), step,
                                         Phase::OptimizerStep);
        }
      }
      LiveStore store;
      store.apply(batch.view());
      const std::uint32_t first = random() % (steps + 2), last = random() % (steps + 2);
      std::vector<StepEnd> expected = currentAtStepEnds(store);
      std::erase_if(expected,
                    [=](const StepEnd& end) { return end.step < first || end.step > last; });
      const std::vector<StepEnd> ends = currentAtStepEnds(store, first, last);
      QVERIFY(std::equal(ends.begin(), ends.end(), expected.begin(), expected.end(),
                         [](const StepEnd& a, const StepEnd& b) {
                           return a.step == b.step && a.bytes == b.bytes;
                         }));
    }
  }

  /// However shapes and their own memory vary, a leak is found to the byte.
  void aLeakIsFoundUnderAnyShapes() {
    std::mt19937 random(9);
    for (int round = 0; round < 50; ++round) {
      const std::uint32_t shapes = 1 + random() % 30, leak = random() % 100'000, salt = random();
      const auto length = [=](std::uint32_t step) {
        return 1 + (step * 2654435761U ^ salt) % shapes;
      };
      const auto bytes = [&](std::uint32_t step) {
        return kBase + std::uint64_t{length(step)} * 123'457 + std::uint64_t{step} * leak;
      };
      const auto growth = growthOf(400, bytes, length);
      QVERIFY(growth && std::fabs(growth->medianBytes - leak) < 1e-6);
      QVERIFY(std::fabs(growth->slopeBytes - leak) < 1e-6);
    }
  }
};

HIGHWATER_TEST(TestMemoryGrowth, QCoreApplication)
#include "tst_memory_growth.moc"
