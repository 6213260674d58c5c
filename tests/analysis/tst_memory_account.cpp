#include "analysis/account/memory_account.h"
#include "core/units.h"
#include "step_events.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;
using namespace highwater::analysis;

namespace {

constexpr std::array kCounters = {MemoryCounter::Current, MemoryCounter::Driver,
                                  MemoryCounter::Footprint};

events::NamedSpan spanAt(std::int64_t beginMs, std::int64_t ms, NameId name) {
  return {beginMs * kMs, ms * kMs, 1, name, kTrainingThread, 0};
}

void addSample(OwnedBatch& batch, std::int64_t atMs, std::uint64_t current, std::uint64_t driver) {
  batch.memorySamples.emplace_back(atMs * kMs, current, driver, kMiB,
                                   events::SampleOrigin::PhaseBoundary);
}

void fill(LiveStore& store, const OwnedBatch& batch) {
  store.apply(Definitions{{{kEvaluation, "evaluation"}, {kAugment, "augment"}}, {}, {}, {}});
  store.apply(batch.view());
}

/// Steps with gaps of any length between them, or none, and named spans and readings anywhere.
OwnedBatch randomRun(std::mt19937& random) {
  const auto upTo = [&](std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(random);
  };
  OwnedBatch batch;
  std::int64_t atMs = upTo(20);
  const auto steps = static_cast<std::uint32_t>(upTo(12));
  for (std::uint32_t step = 1; step <= steps; ++step) {
    const std::int64_t ms = upTo(9);
    batch.steps.push_back(stepAt(step, atMs, ms, 32 * (1 + step % 3)));
    atMs += ms + upTo(1) * upTo(30);
  }
  std::int64_t spanMs = 0;
  for (std::int64_t spans = upTo(8); spans > 0; --spans) {
    spanMs += upTo(20);
    const std::int64_t ms = 1 + upTo(15);
    batch.namedSpans.push_back(spanAt(spanMs, ms, upTo(1) == 0 ? kEvaluation : kAugment));
    spanMs += ms;
  }
  for (std::int64_t ms = 0; ms < atMs + 40; ms += 1 + upTo(9)) {
    addSample(batch, ms, static_cast<std::uint64_t>(upTo(1 << 30)),
              static_cast<std::uint64_t>(upTo(1 << 30)));
    batch.systemSamples.emplace_back(ms * kMs, upTo(5) == 0 ? -1 : upTo(1 << 30), -1, -1, -1.0F,
                                     events::Pressure::Unknown);
  }
  return batch;
}

const RegionMemory& rowOf(const MemoryAccount& account, Region region) {
  static const RegionMemory none;
  const auto found = std::find_if(account.rows.begin(), account.rows.end(),
                                  [&](const RegionMemory& row) { return row.region == region; });
  return found == account.rows.end() ? none : *found;
}

}  // namespace

class TestMemoryAccount : public QObject {
  Q_OBJECT

 private slots:
  void theRowsAddUpToTheCounters() {
    std::mt19937 random(7);
    for (int round = 0; round < 400; ++round) {
      const OwnedBatch batch = randomRun(random);
      LiveStore store;
      fill(store, batch);
      std::optional<TimeRange> range;
      if (round % 2 == 1) {
        const std::int64_t beginNs = static_cast<std::int64_t>(random() % 80) * kMs;
        range = TimeRange{beginNs, beginNs + static_cast<std::int64_t>(random() % 80) * kMs};
      }
      const auto counts = [&](std::int64_t ns) {
        return !range || (ns >= range->beginNs && ns < range->endNs);
      };
      std::array<std::vector<std::int64_t>, kMemoryCounters> readings;
      for (const events::MemorySample& each : batch.memorySamples) {
        if (!counts(each.time_ns())) continue;
        readings[0].push_back(static_cast<std::int64_t>(each.current_bytes()));
        readings[1].push_back(static_cast<std::int64_t>(each.driver_bytes()));
      }
      for (const events::SystemSample& each : batch.systemSamples) {
        if (counts(each.time_ns()) && each.footprint_bytes() >= 0) {
          readings[2].push_back(each.footprint_bytes());
        }
      }
      const MemoryAccount account = memoryAccount(store, range);
      for (const MemoryCounter counter : kCounters) {
        const auto& read = readings[static_cast<std::size_t>(counter)];
        std::int64_t sum = 0;
        std::uint64_t count = 0, peak = 0;
        for (const RegionMemory& row : account.rows) {
          sum += row.of(counter).change;
          count += row.of(counter).readings;
          peak = std::max(peak, row.of(counter).peak);
        }
        QCOMPARE(count, std::uint64_t{read.size()});
        QCOMPARE(sum, read.empty() ? 0 : read.back() - read.front());
        QCOMPARE(sum, account.change(counter));
        if (read.empty()) continue;
        QVERIFY(peak >= static_cast<std::uint64_t>(*std::max_element(read.begin(), read.end())));
      }
    }
  }

  void aChangeBelongsToWhereItsTimeLies() {
    OwnedBatch batch;
    batch.steps = {stepAt(1, 10, 10), stepAt(2, 60, 10), stepAt(3, 70, 10, 128)};
    batch.namedSpans = {spanAt(21, 38, kEvaluation)};
    batch.completeUpToNs = 400 * kMs;
    addSample(batch, 0, 10, 100);
    addSample(batch, 9, 40, 200);   // before step 1
    addSample(batch, 19, 50, 210);  // step 1
    addSample(batch, 40, 90, 300);  // the evaluation
    addSample(batch, 62, 45, 400);  // mostly the evaluation, though read in step 2
    addSample(batch, 68, 55, 400);  // step 2
    addSample(batch, 78, 60, 420);  // step 3
    addSample(batch, 300, 60, 90);  // after it
    LiveStore store;
    fill(store, batch);
    const MemoryAccount account = memoryAccount(store);
    const auto changes = [](const RegionMemory& row) {
      return std::pair(row.of(MemoryCounter::Current).change, row.of(MemoryCounter::Driver).change);
    };
    using Changes = std::pair<std::int64_t, std::int64_t>;
    QCOMPARE(account.rows.size(), std::size_t{6});
    QCOMPARE(changes(rowOf(account, Region::StartUp)), Changes(30, 100));
    const RegionMemory& steps = rowOf(account, Region::Step);
    QCOMPARE(changes(steps), Changes(20, 10));
    QCOMPARE(steps.count, std::uint64_t{2});
    QCOMPARE(steps.text(), std::string("steps of batch 16 \u00d7 64"));
    QCOMPARE(changes(account.rows[4]), Changes(5, 20));
    QCOMPARE(account.rows[4].text(), std::string("steps of batch 16 \u00d7 128"));
    const RegionMemory& evaluation = rowOf(account, Region::Evaluation);
    QCOMPARE(changes(evaluation), Changes(-5, 190));
    QCOMPARE(evaluation.of(MemoryCounter::Current).peak, std::uint64_t{90});
    QCOMPARE(evaluation.of(MemoryCounter::Driver).peak, std::uint64_t{400});
    QCOMPARE(changes(rowOf(account, Region::AfterSteps)), Changes(0, -330));
    QCOMPARE(account.highest(MemoryCounter::Current)->region, Region::Evaluation);
    QVERIFY(!account.highest(MemoryCounter::Footprint));
  }

  void theAllocatorsPeakIsExact() {
    OwnedBatch batch;
    batch.steps = {stepAt(1, 10, 10)};
    batch.steps[0].mutate_peak_current_bytes(700);
    batch.steps[0].mutate_peak_current_exact(1);
    batch.namedSpans = {spanAt(21, 38, kEvaluation)};
    addSample(batch, 15, 700, 900);
    addSample(batch, 40, 300, 900);
    batch.phaseMemory.emplace_back(50 * kMs, 800, 900, 300, 1, events::Phase::Forward);
    LiveStore store;
    fill(store, batch);
    const MemoryAccount account = memoryAccount(store);
    const auto& step = rowOf(account, Region::Step);
    QVERIFY(step.of(MemoryCounter::Current).exact && !step.of(MemoryCounter::Driver).exact);
    const auto& evaluation = rowOf(account, Region::Evaluation).of(MemoryCounter::Current);
    QCOMPARE(evaluation.peak, std::uint64_t{800});
    QVERIFY(evaluation.exact);
  }
};

HIGHWATER_TEST(TestMemoryAccount, QCoreApplication)
#include "tst_memory_account.moc"
