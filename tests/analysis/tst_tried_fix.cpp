#include <QTest>
#include <cmath>

#include "analysis/findings/findings.h"
#include "analysis/tried_fix.h"
#include "core/messages.h"
#include "support/test_program.h"

using namespace highwater;
using analysis::TriedBlock;
using analysis::triedFixOf;

namespace {

constexpr std::int64_t kTriedMs = 1'000'000;
const analysis::TriedChange kLine{.line = "a.py:1"};

/// Blocks of ten steps, each of so many ms a step.
std::vector<TriedBlock> blocksOf(std::initializer_list<std::pair<bool, double>> all) {
  std::vector<TriedBlock> blocks;
  std::int64_t ns = 0;
  std::uint32_t step = 1;
  for (const auto& [isChanged, ms] : all) {
    const auto lengthNs = static_cast<std::int64_t>(10 * ms * kTriedMs);
    blocks.push_back({isChanged, ns, ns + lengthNs, step, step + 9});
    ns += lengthNs;
    step += 10;
  }
  return blocks;
}

}  // namespace

class TestTriedFix : public QObject {
  Q_OBJECT

 private slots:
  void theGainIsTheMeanOfTheDifferences() {
    const auto fix = triedFixOf(
        kLine,
        blocksOf({{false, 20}, {true, 14}, {true, 13}, {false, 20}, {false, 21}, {true, 14}}));
    QVERIFY(fix);
    QCOMPARE(fix->change, kLine);
    QVERIFY(std::abs(fix->gain.estimate - 20.0 / 3) < 1e-9);  // of 6, 7 and 7
    // Student's quantile for two degrees of freedom, 4.303, times 0.57735 / sqrt(3).
    QVERIFY(std::abs(fix->gain.high - fix->gain.estimate - 4.303 * 0.57735 / std::sqrt(3.0)) <
            1e-3);
    QVERIFY(std::abs(fix->withMs - 61.0 / 3) < 1e-9);
    QCOMPARE(fix->firstStep, 1U);
    QCOMPARE(fix->lastStep, 60U);
  }

  /// A machine that gets slower while it is tried: A B B A cancels what is linear.
  void aDriftCancels() {
    const auto fix =
        triedFixOf(kLine, blocksOf({{false, 20}, {true, 16}, {true, 17}, {false, 23}}));
    QVERIFY(fix);
    QVERIFY(std::abs(fix->gain.estimate - 5) < 1e-9);
  }

  void needsTwoPairs() {
    QVERIFY(!triedFixOf(kLine, blocksOf({{false, 20}, {true, 14}, {true, 14}})));
    QVERIFY(!triedFixOf(kLine, blocksOf({{false, 20}, {false, 20}, {false, 20}})));
    QVERIFY(!triedFixOf(kLine, {}));
  }

  void saysWhatWasMeasured() {
    QCOMPARE(analysis::measuredGainText({5.2, 6.1, 7.0}),
             std::string("6.10 ms a step, measured (5.20 ms to 7.00 ms)"));
    QVERIFY(analysis::measuredGainText({-0.5, 0.1, 0.6}).starts_with("nothing that a try could"));
  }

  void readsTheMarkersOfARun() {
    analysis::LiveStore store;
    const auto note = [&store](std::int64_t ms, std::uint32_t step, std::string_view text) {
      store.apply(highwater::Note{ms * kTriedMs, step, std::string(text), 0});
    };
    note(100, 5, analysis::noteOfTry({.line = "b.py:2"}));
    for (int round = 0; round < 2; ++round) {
      const int ms = 200 + 800 * round;
      const auto step = static_cast<std::uint32_t>(10 + 40 * round);
      note(ms, step, kTriesWith);
      note(ms + 250, step + 10, kTriesWithout);
      note(ms + 400, step + 20, kTriesWithout);
      note(ms + 550, step + 30, kTriesWith);
    }
    QVERIFY(store.isTried(11) && store.isTried(1000) && !store.isTried(10));
    note(1800, 90, kTriedEnough);
    QVERIFY(store.isTried(90) && !store.isTried(91));
    // No wait was seen at that line: nothing was left out, and nothing is measured.
    QVERIFY(analysis::lastTriedBlocksOf(store).empty());
    QVERIFY(analysis::triedFixesOf(store).empty());
  }

  /// A step of twice the batches takes longer, and is worth two.
  void aStepOfMoreBatchesIsComparedByBatches() {
    auto blocks = blocksOf({{false, 20}, {true, 30}, {true, 30}, {false, 20}});
    for (TriedBlock& each : blocks) each.batches = each.isChanged ? 8 : 4;
    const auto fix = triedFixOf({.knob = "accumulation", .value = "2"}, blocks);
    QVERIFY(fix && fix->perBatch);
    QVERIFY(std::abs(fix->gain.estimate - 5) < 1e-9);
    QVERIFY(std::abs(fix->changedMs - 15) < 1e-9);
    QVERIFY(
        analysis::resultText(*fix).starts_with("with accumulation = 2: 5.00 ms a step, measured"));
    QVERIFY(analysis::resultText(*fix).ends_with("15.0 ms with it, for as many batches"));
    QVERIFY(analysis::measuredGainText({-5, -4, -3}).starts_with("a loss of 4.00 ms a step"));
  }

  /// The script takes each value with the block's first step, or does not.
  void aKnobThatIsNotTakenIsNotMeasured() {
    for (const bool takes : {true, false}) {
      analysis::LiveStore store;
      std::vector<events::StepRecord> records;
      for (std::uint32_t step = 1; step <= 100; ++step) {
        records.push_back(
            {(100 + 10 * step) * kTriedMs, 10 * kTriedMs, 80, 100, -1, step, 8, 64, 512, 0, 0, 1});
      }
      EventBatch events;
      events.steps = records;
      store.apply(events);
      RunDescription description;
      description.ownScript = true;
      store.apply(description);
      const auto note = [&store](std::int64_t ms, std::uint32_t step, std::string_view text) {
        store.apply(highwater::Note{ms * kTriedMs, step, std::string(text), 0});
      };
      note(100, 0, analysis::noteOfTry({.knob = "every", .value = "10"}));
      for (std::uint32_t block = 0; block < 10; ++block) {
        const bool isChanged = block == 1 || block % 4 == 3 || (block > 2 && block % 4 == 0);
        note(110 + 100 * block, 10 * block, isChanged ? kTriesNew : kTriesOld);
        const std::int64_t ms = 112 + 100 * block + (takes ? 0 : 15);
        note(ms, 10 * block + 1, isChanged ? "every = 10" : "every = 1");
      }
      note(1110, 100, kTriedEnough);
      const auto fixes = analysis::triedFixesOf(store);
      QCOMPARE(fixes.size(), std::size_t(takes ? 1 : 0));
      if (takes) QCOMPARE(fixes[0].change.text(), std::string("every = 10"));
    }
  }

  void aBlockWithAnEvaluationIsLeftOut() {
    auto blocks =
        blocksOf({{false, 20}, {true, 14}, {false, 90}, {true, 14}, {false, 20}, {true, 14}});
    blocks[2].isDisturbed = true;
    const auto fix = triedFixOf(kLine, blocks);
    QVERIFY(fix);
    QVERIFY(std::abs(fix->gain.estimate - 6) < 1e-9);
  }

  void onlyWaitsOfAScriptCanBeTried() {
    analysis::LiveStore store;
    analysis::Finding finding;
    finding.line = "a.py:1";
    QVERIFY(!analysis::whyNotTried(store, finding).empty());  // no script
    finding.kind = analysis::FindingKind::HostBound;
    QVERIFY(analysis::whyNotTried(store, finding).find("only waits") == 0);
  }
};

HIGHWATER_TEST(TestTriedFix, QCoreApplication)
#include "tst_tried_fix.moc"
