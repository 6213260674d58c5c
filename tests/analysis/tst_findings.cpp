#include <tuple>

#include "analysis/findings/finding_rules.h"
#include "core/scenarios.h"
#include "judged_run.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;
using namespace highwater::analysis;

namespace {

using Kinds = std::vector<FindingKind>;

}  // namespace

class TestFindings : public QObject {
  Q_OBJECT

 private slots:
  /// A check in parts during a live run is of the steps that there were at its beginning.
  void aCheckOfAGrowingRunIsOfItsBeginning() {
    JudgedRun run;
    run.assemblyMs = 20;
    run.deviceMs = 25;
    for (std::uint32_t step = 1; step <= 40; ++step) {
      JudgedRun::addFallback(run.more, step, JudgedRun::beginMs(step) + 25);
      JudgedRun::addSync(run.more, step, kNonzero, events::SyncKind::Nonzero, 3,
                         events::Phase::Forward, false);
    }
    for (const std::optional<TimeRange>& range :
         {std::optional<TimeRange>(), std::optional(JudgedRun::stepsFrom(5, 30))}) {
      LiveStore store;
      run.fill(store);
      const Findings direct = findProblems(store, range);
      QVERIFY(direct.found.size() >= 3);
      auto check = findProblemsInTurns(store, range);
      std::uint32_t parts = 0;
      for (; check.advance(); ++parts) {
        OwnedBatch more;
        run.addStep(more, 41 + parts);
        store.apply(more.view());
      }
      QVERIFY(parts > 15);  // at least one for each rule
      const Findings inParts = check.finish();
      QCOMPARE(inParts.steps, direct.steps);
      QCOMPARE(inParts.noiseMs, direct.noiseMs);
      QCOMPARE(kindsOf(inParts), kindsOf(direct));
      // Not their gains: the last stretch of the device is longer.
      for (std::size_t i = 0; i < direct.found.size(); ++i) {
        QCOMPARE(inParts.found[i].lastStep, direct.found[i].lastStep);
        QCOMPARE(inParts.found[i].count, direct.found[i].count);
      }
    }
  }

  void aFewStepsSayNothing() {
    JudgedRun run;
    run.steps = 5;
    run.assemblyMs = 30;
    run.deviceMs = 10;
    QCOMPARE(run.judge().steps, std::uint64_t{0});
    QVERIFY(run.judge().found.empty());
    QVERIFY(run.judge().verdict.text.empty());
    // Steps that take minutes each are not waited for: what the device does is told before.
    run.more.opWork.emplace_back(JudgedRun::beginMs(3) * kMs, 100 * kMiB, 0U, 3U, 1U, kMm, kNoId,
                                 kTrainStep, kNoId, events::Phase::Forward, std::uint8_t{0});
    const Verdict early = run.judge().verdict;
    QCOMPARE(early.bottleneck, Bottleneck::kUnknown);
    QVERIFY2(early.text.find("too few steps for a verdict. By the sizes of its ops in step 3, its "
                             "largest work is train.py:12") != std::string::npos,
             early.text.c_str());
  }

  void aRangeHasTheFindingsOfItsSteps() {
    JudgedRun run;
    for (std::uint32_t step = 21; step <= 40; ++step) {
      JudgedRun::addFallback(run.more, step, JudgedRun::beginMs(step) + 20);
    }
    QVERIFY(run.judge(JudgedRun::stepsFrom(3, 20)).found.empty());
    const Findings late = run.judge(JudgedRun::stepsFrom(21, 40));
    QVERIFY(late.ofRange);
    QCOMPARE(late.steps, std::uint64_t{20});
    QCOMPARE(kindsOf(late), Kinds{FindingKind::Fallback});
    QCOMPARE(late.found[0].waitsMs.value(), 10.0);
    QCOMPARE(late.found[0].count, std::uint64_t{20});
    QCOMPARE(late.found[0].firstStep, 21u);
    // Of 30 steps 10 fall back.
    QCOMPARE(run.judge(JudgedRun::stepsFrom(1, 30)).found[0].waitsMs.value(), 10.0 * 10 / 29);
    // A step that the range cuts does not count, nor does the first of the run.
    TimeRange cut = JudgedRun::stepsFrom(1, 30);
    cut.endNs -= 1;
    QCOMPARE(run.judge(cut).steps, std::uint64_t{28});
    QCOMPARE(run.judge(JudgedRun::stepsFrom(10, 13)).steps, std::uint64_t{0});
    // Of a range of all steps it finds what it finds without one.
    const Findings all = run.judge(), whole = run.judge(JudgedRun::stepsFrom(1, 40));
    QCOMPARE(whole.steps, all.steps);
    QCOMPARE(whole.found.front().title, all.found.front().title);
  }

  void namesAFallbackWithItsCost() {
    JudgedRun run;
    for (std::uint32_t step = 1; step <= 40; ++step) {
      JudgedRun::addFallback(run.more, step, JudgedRun::beginMs(step) + 5);
    }
    JudgedRun::addFallback(run.more, 40,
                           JudgedRun::beginMs(41) + 5);  // an evaluation after the last step
    const Findings findings = run.judge();
    QCOMPARE(kindsOf(findings), Kinds{FindingKind::Fallback});
    const Finding& found = findings.found.front();
    QCOMPARE(found.ops, std::vector<std::string>{"aten::embedding_renorm_"});
    QCOMPARE(found.count, std::uint64_t{39});
    QCOMPARE(*found.waitsMs, 10.0);
    // Of the 10 ms it waits for 4 for work that the device has to do anyway.
    // After that the device starts again.
    QCOMPARE(found.gainMs->estimate, 6.25);
    QCOMPARE(found.weight, 0.125);
    QVERIFY(!found.withinNoise);
    QCOMPARE(found.gain, std::string("about 6.25 ms a step (0 to 10.0 ms)"));
    QVERIFY2(found.title.ends_with("blocks the host, 10.0 ms a step"), found.title.c_str());
    QCOMPARE(found.firstStep, 2u);
    QCOMPARE(found.lastStep, 40u);
    QVERIFY(found.where.starts_with("forward"));
  }

  /// An op that itself takes 1 of 10 ms does not run on the CPU for 10.
  void aFallbackThatMostlyWaitsSaysSo() {
    JudgedRun run;
    for (std::uint32_t step = 1; step <= 40; ++step) {
      run.more.fallbacks.push_back(
          fallbackAt(step, events::Phase::Forward, JudgedRun::beginMs(step) + 10, 10, 9));
    }
    const Findings findings = run.judge();
    QCOMPARE(kindsOf(findings), Kinds{FindingKind::Fallback});
    QVERIFY2(findings.found[0].title.ends_with("10.0 ms a step, most of it waiting for the device"),
             findings.found[0].title.c_str());
  }

  void anAcceptedFallbackIsNone() {
    JudgedRun run;
    JudgedRun::addFallback(run.more, 7, JudgedRun::beginMs(7));
    JudgedRun::addFallback(run.more, 8, JudgedRun::beginMs(8));
    run.accepted = {{"aten::embedding_renorm_", true, "rare", 1}};
    const Findings findings = run.judge();
    QVERIFY(findings.found.empty());
    QCOMPARE(findings.accepted.size(), 1u);
    QCOMPARE(findings.accepted[0].reason, std::string("rare"));
    QCOMPARE(findings.accepted[0].count, std::uint64_t{2});
    run.accepted.push_back({"aten::embedding_renorm_", false, "", 2});
    QCOMPARE(kindsOf(run.judge()), Kinds{FindingKind::Fallback});
  }

  void anUnplannedSyncPointIsFoundWhereItCosts() {
    JudgedRun run;
    for (std::uint32_t step = 2; step <= 40; ++step) {
      JudgedRun::addSync(run.more, step, kNonzero, events::SyncKind::Nonzero, step == 17 ? 24 : 20,
                         events::Phase::Backward, false);
    }
    JudgedRun::addSync(run.more, 9, kCopy, events::SyncKind::CopyToHost, 1, events::Phase::Forward,
                       false);
    const Findings findings = run.judge();
    QCOMPARE(kindsOf(findings), Kinds{FindingKind::SyncPoint});
    QCOMPARE(findings.found[0].ops, std::vector<std::string>{"aten::nonzero"});
    QCOMPARE(findings.found[0].longest.value(), 15u);
  }

  void aCallThatWaitsGetsAdviceThatFitsIt() {
    constexpr NameId kCall = 1000;
    constexpr CallSiteId kLine = 1000, kTrainer = 1001;
    const std::vector<std::tuple<std::string, events::SyncKind, CallSiteId, std::string>> calls{
        {"torch.mps.synchronize", events::SyncKind::Synchronize, kLine, "synchronize once before"},
        {"torch.mps.synchronize", events::SyncKind::Synchronize, kTrainer, "synchronize once"},
        {"torch.accelerator.empty_cache", events::SyncKind::Synchronize, kLine, "once an epoch"},
        {"torch.mps.empty_cache", events::SyncKind::Synchronize, kTrainer,
         "torch_empty_cache_steps"},
        {"torch.mps.Event.elapsed_time", events::SyncKind::EventWait, kLine, "keep the events"},
        {"torch.Generator.get_state", events::SyncKind::ValueRead, kLine, "with checkpoints only"}};
    for (const auto& [name, kind, site, advice] : calls) {
      JudgedRun run = JudgedRun::ofScript();
      run.names.names = {{kCall, name}};
      run.names.callSites = {{kLine, kNoId, "main", "/home/me/train.py", 12},
                             {kTrainer, kNoId, "main, in transformers/trainer.py:9 Trainer.train",
                              "/home/me/train.py", 12}};
      for (std::uint32_t step = 1; step <= 40; ++step) {
        run.more.syncPoints.emplace_back((JudgedRun::beginMs(step) + 10) * kMs, 20 * kMs, 0, step,
                                         kCall, kNoId, site, 1, kind, events::Phase::None, 0);
      }
      const Findings findings = run.judge();
      const auto isWait = [](const Finding& each) { return each.kind == FindingKind::SyncPoint; };
      QCOMPARE(std::count_if(findings.found.begin(), findings.found.end(), isWait), 1);
      const Finding& found = *std::find_if(findings.found.begin(), findings.found.end(), isWait);
      QVERIFY2(found.title.starts_with("Unplanned sync point: " + name + " makes the host wait"),
               found.title.c_str());
      QVERIFY2(found.advice.starts_with("at train.py:12") &&
                   found.advice.find(advice) != std::string::npos,
               found.advice.c_str());
      QVERIFY2(found.evidence.find("moved") == std::string::npos, found.evidence.c_str());
    }
  }

  void aScriptsReadAtEachStepIsChattyAndNamesItsLine() {
    JudgedRun run = JudgedRun::ofScript();
    for (std::uint32_t step = 1; step <= 40; ++step) JudgedRun::addRead(run.more, step, kTrainStep);
    const Findings findings = run.judge();
    QCOMPARE(kindsOf(findings), Kinds{FindingKind::ChattyLogging});
    const Finding& found = findings.found.front();
    QCOMPARE(*found.waitsMs, 4.0);
    QCOMPARE(found.line, std::string("train.py:12"));
    QVERIFY2(found.advice.starts_with("at train.py:12: read"), found.advice.c_str());
  }

  void aScriptsRareReadsAreSyncPointsOfTheirLines() {
    JudgedRun run = JudgedRun::ofScript();
    run.steps = 41;  // each line is read in half of the 40 after the first
    for (std::uint32_t step = 2; step <= 41; step += 2)
      JudgedRun::addRead(run.more, step, kTrainStep);
    for (std::uint32_t step = 3; step <= 41; step += 2)
      JudgedRun::addRead(run.more, step, kForward);
    const Findings findings = run.judge();
    QCOMPARE(kindsOf(findings), (Kinds{FindingKind::SyncPoint, FindingKind::SyncPoint}));
    const bool isFirst = findings.found[0].line == "train.py:30";
    QCOMPARE(findings.found[isFirst ? 1 : 0].line, std::string("train.py:12"));
    const std::string& advice = findings.found[isFirst ? 0 : 1].advice;
    QVERIFY2(advice.starts_with("at train.py:30, in hf/trainer.py:9 Trainer.train: "),
             advice.c_str());
  }

  void aConditionIsNoLogging() {
    JudgedRun run = JudgedRun::ofScript();
    for (std::uint32_t step = 1; step <= 40; ++step) {
      JudgedRun::addRead(run.more, step, kTrainStep);
      run.more.syncPoints.back().mutate_bytes(1);
    }
    QCOMPARE(kindsOf(run.judge()), Kinds{FindingKind::SyncPoint});
  }

  void aFallbackAndThatOfItsBackwardAreOne() {
    JudgedRun run = JudgedRun::ofScript();
    for (std::uint32_t step = 1; step <= 40; ++step) {
      const std::int64_t atMs = JudgedRun::beginMs(step) + 5;
      JudgedRun::addFallback(run.more, step, atMs);
      run.more.fallbacks.back().mutate_call_site(kTrainStep);
      JudgedRun::addFallback(run.more, step, atMs + 12);
      run.more.fallbacks.back().mutate_op(kMm);
    }
    const Findings findings = run.judge();
    QCOMPARE(findings.found.size(), 1U);
    const Finding& found = findings.found.front();
    QCOMPARE(found.line, std::string("train.py:12"));
    QCOMPARE(found.ops.size(), std::size_t{2});
    QCOMPARE(found.count, std::uint64_t{78});
    QVERIFY2(contains(found.title, "aten::embedding_renorm_ and its backward run on the CPU"),
             found.title.c_str());
    QVERIFY2(contains(found.advice, "at train.py:12: "), found.advice.c_str());
    // What is accepted is apart.
    run.accepted = {{"aten::embedding_renorm__backward", true, "rare", 1}};
    const Findings rest = run.judge();
    QCOMPARE(rest.accepted.size(), std::size_t{1});
    QCOMPARE(rest.found.size(), 1U);
    QCOMPARE(rest.found.front().count, std::uint64_t{39});
  }

  /// What is printed after a read costs time as well, which is not the wait's.
  void aGainIsAtMostTheWait() {
    JudgedRun run;
    run.lossEvery = 1000;
    run.deviceMs = 10;
    for (std::uint32_t step = 1; step <= 40; ++step) {
      JudgedRun::addSync(run.more, step, kScalarRead, events::SyncKind::ScalarRead, 5,
                         events::Phase::LossRead, false);
      run.more.phases.emplace_back((JudgedRun::beginMs(step) + 10) * test::kMs, 25 * test::kMs,
                                   step, 1, events::Phase::LossRead);
    }
    const Findings findings = run.judge();
    const auto logging =
        std::find_if(findings.found.begin(), findings.found.end(),
                     [](const Finding& each) { return each.kind == FindingKind::ChattyLogging; });
    QVERIFY(logging != findings.found.end());
    QCOMPARE(*logging->waitsMs, 5.0);
    QCOMPARE(logging->gainMs->estimate, 5.0);
    QVERIFY(logging->gainMs->high <= 5.0);
    double waitsMs = 0;
    for (const Finding& each : findings.found) waitsMs += each.waitsMs.value_or(0);
    QVERIFY(findings.gainOfAllMs && findings.gainOfAllMs->estimate <= waitsMs);
  }

  void theWorstComesFirst() {
    JudgedRun run;
    run.lossEvery = 1;
    for (std::uint32_t step = 2; step <= 40; ++step) {
      JudgedRun::addFallback(run.more, step, JudgedRun::beginMs(step) + 20);
    }
    QCOMPARE(kindsOf(run.judge()), (Kinds{FindingKind::Fallback, FindingKind::ChattyLogging}));
  }

  /// A wait that only moves elsewhere is minor, however long it is, and says why.
  void aGainWithinTheNoiseRanksLast() {
    JudgedRun run;
    run.lossEvery = 1;  // 5 ms a step
    for (std::uint32_t step = 2; step <= 40; ++step) {
      JudgedRun::addSync(run.more, step, kNonzero, events::SyncKind::Nonzero, 30,
                         events::Phase::Backward, false);
    }
    run.current = [](std::uint32_t step) { return 100 * kMiB + step * 20 * 1024; };  // 2 %
    const Findings findings = run.judge();
    QVERIFY(findings.noiseMs >= 0.5);
    bool noise = false;
    for (const Finding& each : findings.found) {
      if (noise) QVERIFY2(each.withinNoise, each.title.c_str());
      noise = each.withinNoise;
      if (!noise) continue;
      QVERIFY2(each.evidence.find("less than step times vary by chance") != std::string::npos,
               each.evidence.c_str());
      QVERIFY(each.gainMs->estimate < findings.noiseMs);
    }
    QVERIFY(noise);
  }

  void anIdleDeviceIsHostBound() {
    JudgedRun run;
    run.assemblyMs = 30;
    run.deviceMs = 18;
    const Findings findings = run.judge();
    QCOMPARE(kindsOf(findings), Kinds{FindingKind::HostBound});
    QVERIFY(findings.found[0].estimate);
    QCOMPARE(*findings.found[0].waitsMs, 30.0);
    run.deviceMs = 45;  // still busy: batches are prepared ahead
    QVERIFY(run.judge().found.empty());
    run.deviceMs = 18;
    run.assemblyMs = 1;  // idle, but not because of the batch
    QVERIFY(run.judge().found.empty());
  }

  void whatEachStepLeavesBehindIsGrowth() {
    JudgedRun run;
    run.current = [](std::uint32_t step) { return 100 * kMiB + step * kMiB; };
    const Findings findings = run.judge();
    QCOMPARE(kindsOf(findings), Kinds{FindingKind::MemoryGrowth});
    QVERIFY(findings.driverMemoryGrows());
    QCOMPARE(*findings.found[0].costBytes, static_cast<double>(kMiB));
    // A single increase, as for a larger batch, is no growth; nor is memory that goes up and down.
    run.current = [](std::uint32_t step) { return step < 15 ? 100 * kMiB : 400 * kMiB; };
    QVERIFY(run.judge().found.empty());
    run.current = [](std::uint32_t step) { return (100 + step * 7 % 5) * kMiB; };
    QVERIFY(run.judge().found.empty());
  }

  /// The settings of a sweep are not shapes of the data.
  void shapesThatWereSetAreNoGrowth() {
    JudgedRun run;
    run.length = [](std::uint32_t step) { return 8 + step; };
    run.driver = [](std::uint32_t step) { return 200 * kMiB + step * 6 * kMiB; };
    const Findings findings = run.judge();
    QCOMPARE(kindsOf(findings), Kinds{FindingKind::ShapeGrowth});
    QCOMPARE(*findings.found[0].costBytes, 6.0 * static_cast<double>(kMiB));
    for (std::uint32_t step = 2; step <= 40; ++step) {
      run.more.markers.emplace_back(JudgedRun::beginMs(step) * kMs + 1, 7 + step, 8 + step, step,
                                    kNoId, events::MarkerKind::SequenceLength);
    }
    for (const Finding& finding : run.judge().found) {
      QVERIFY(finding.kind != FindingKind::ShapeGrowth &&
              finding.kind != FindingKind::Fragmentation);
    }
  }

  void everyScenarioNamesAFindingOrNone() {
    std::set<std::string_view> keys = {""};
    for (int kind = 0; kind < static_cast<int>(kFindingKinds); ++kind) {
      keys.insert(findingKey(static_cast<FindingKind>(kind)));
    }
    for (const Scenario& each : scenarios()) QVERIFY2(keys.contains(each.problem), each.name);
  }
};

HIGHWATER_TEST(TestFindings, QCoreApplication)
#include "tst_findings.moc"
