// Every rule fires on the run that was made for it, and on no other: the matrix, printed. Then what
// is near a finding and none. tests/e2e/tst_scenario_findings prints the same of real trainings.

#include "analysis/findings/finding_rules.h"
#include "core/exit_codes.h"
#include "core/names.h"
#include "judged_run.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;
using namespace highwater::analysis;

namespace {

using KindSet = std::set<FindingKind>;

constexpr char kNoFloat64[] =
    "TypeError: Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support "
    "float64. Please use float32 instead.";

struct MadeRun {
  std::string name;
  KindSet finds;
  JudgedRun run;
};

KindSet kindsIn(const JudgedRun& run) {
  const std::vector<FindingKind> kinds = kindsOf(run.judge());
  return {kinds.begin(), kinds.end()};
}

JudgedRun withFallback() {
  JudgedRun run;
  for (std::uint32_t step = 1; step <= 40; ++step) {
    JudgedRun::addFallback(run.more, step, JudgedRun::beginMs(step) + 5);
  }
  return run;
}

JudgedRun withUnplannedWait() {
  JudgedRun run;
  for (std::uint32_t step = 2; step <= 40; ++step) {
    JudgedRun::addSync(run.more, step, kNonzero, events::SyncKind::Nonzero, 20,
                       events::Phase::Backward, false);
  }
  return run;
}

/// Backward reads eight values one by one.
void readGradients(JudgedRun& run, std::uint32_t step) {
  const std::int64_t begin = JudgedRun::beginMs(step) + 10;
  run.more.phases.emplace_back(begin * kMs, 30 * kMs, step, kTrainingThread,
                               events::Phase::Backward);
  for (std::int64_t i = 0; i < 8; ++i) {
    run.more.syncPoints.emplace_back((begin + 3 * i) * kMs, kMs, 1, step, kScalarRead, kNoId, kNoId,
                                     1, events::SyncKind::ScalarRead, events::Phase::Backward,
                                     std::uint8_t{0});
  }
}

JudgedRun withSlowAssembly() {
  JudgedRun run;
  run.assemblyMs = 30;
  run.deviceMs = 18;
  return run;
}

JudgedRun changed(const std::function<void(JudgedRun&)>& change) {
  JudgedRun run;
  change(run);
  return run;
}

/// Every eighth step takes 25 ms longer, in batch assembly.
void swing(JudgedRun& run) {
  run.stepMs = 20;
  run.deviceMs = 18;
  run.moreAssemblyMs = [](std::uint32_t step) { return step % 8 == 5 ? 25 : 0; };
}

/// Each step assembles its batch half a millisecond longer than the one before.
void slowDown(JudgedRun& run) {
  run.steps = 48;
  run.stepMs = 12;
  run.deviceMs = 10;
  run.moreAssemblyMs = [](std::uint32_t step) { return step / 2; };
}

/// As long with 8 samples as with 32.
void shrinkBatch(JudgedRun& run) {
  run.batchSize = [](std::uint32_t step) { return step <= 20 ? 32 : 8; };
}

/// Three lengths in turn; the driver grows at all of them.
void fragment(JudgedRun& run) {
  run.length = [](std::uint32_t step) { return 32 + 16 * (step % 3); };
  run.driver = [](std::uint32_t step) { return (200 + step) * kMiB; };
}

void growHidden(JudgedRun& run) {
  run.footprint = [](std::uint32_t step) { return (500 + step) * kMiB; };
}

/// Step 10 needs 700 MiB, the others 100.
void leaveCache(JudgedRun& run) {
  run.current = [](std::uint32_t step) { return (step == 10 ? 700 : 100) * kMiB; };
  run.driver = [](std::uint32_t step) { return (step < 10 ? 200 : 750) * kMiB; };
}

void pressSystem(JudgedRun& run) {
  run.footprint = [](std::uint32_t) { return 500 * kMiB; };
  run.pressure = [](std::uint32_t step) {
    return step % 3 == 0 ? events::Pressure::Warning : events::Pressure::Normal;
  };
}

/// Serious in the last 8 of 40 steps, after a while of fair.
void heatUp(JudgedRun& run) {
  run.thermal = [](std::uint32_t step) {
    return step > 32   ? events::ThermalState::Serious
           : step > 20 ? events::ThermalState::Fair
                       : events::ThermalState::Nominal;
  };
}

void loseLoss(JudgedRun& run) {
  run.loss = [](std::uint32_t step) {
    return step < 25 ? 1.0F : std::numeric_limits<float>::quiet_NaN();
  };
}

/// As loseLoss, by a knob: float16 from step 20 on.
void autocastToFloat16(JudgedRun& run) {
  loseLoss(run);
  run.dtype = "float32";
  run.more.markers.emplace_back(JudgedRun::beginMs(20) * kMs, 1.0, 3.0, 20U, kNoId,
                                events::MarkerKind::Precision);
}

/// Keeps 5 MiB of each step for 13 steps: an epoch.
void keepForAnEpoch(JudgedRun& run) {
  run.current = [](std::uint32_t step) { return 100 * kMiB + (step - 1) % 13 * 5 * kMiB; };
}

/// Keeps 12 MiB of each tenth step.
void growByJumps(JudgedRun& run) {
  run.current = [](std::uint32_t step) { return 100 * kMiB + step / 10 * 12 * kMiB; };
}

/// Every fourth step begins with a start of DataLoader workers, of 40 ms.
void startWorkers(JudgedRun& run) {
  constexpr NameId kStart = 60;
  run.ownScript = true;
  run.lossEvery = 1000;
  run.names.names = {{kStart, kLoaderStartSpan, kTrainStep}};
  for (std::uint32_t step = 1; step <= 40; step += 4) {
    const std::int64_t begin = JudgedRun::beginMs(step) * kMs;
    run.more.namedSpans.emplace_back(begin, 10 * kMs, step, kStart, 1, 0);
    run.more.namedSpans.emplace_back(begin + 10 * kMs, 30 * kMs, step, kStart, 1, 1);
  }
}

RunEnd endOf(RunEnd::Reason reason, int exitCode) {
  RunEnd end;
  end.reason = reason;
  end.exitCode = exitCode;
  end.message = "MPS backend out of memory";
  return end;
}

/// An evaluation of a second after the last step: its batches take most of it.
void evaluateSlowly(JudgedRun& run) {
  run.names.names.push_back({kEvaluation, kEvaluationSpan});
  for (std::int64_t i = 0; i < 4; ++i) {
    const std::int64_t ns = (JudgedRun::beginMs(41) + 250 * i) * kMs;
    run.more.phases.emplace_back(ns, 240 * kMs, 40U, kTrainingThread, events::Phase::BatchAssembly);
    run.more.namedSpans.emplace_back(ns + 240 * kMs, 10 * kMs, 40U, kEvaluation, kTrainingThread,
                                     std::uint8_t{0});
  }
}

/// A short evaluation that needs twice the memory of the steps, as it keeps graphs.
void evaluateWithGraphs(JudgedRun& run) {
  run.ownScript = true;
  run.names.names.push_back({kEvaluation, kEvaluationSpan});
  run.signs = {{std::string(kEvaluationGradientsSign), "train.py:42"}};
  const std::int64_t ns = JudgedRun::beginMs(41) * kMs;
  run.more.namedSpans.emplace_back(ns, 10 * kMs, 40U, kEvaluation, kTrainingThread,
                                   std::uint8_t{0});
  run.more.memorySamples.emplace_back(ns + 5 * kMs, 200 * kMiB, 200 * kMiB, kRecommended,
                                      events::SampleOrigin::PhaseBoundary);
}

/// Half of the device's work in a step is that of an encoder that is not trained.
void encodeAgain(JudgedRun& run) {
  run.ownScript = true;
  run.signs = {{std::string(kFrozenModelSign), "train.py:57", "encoder"}};
  constexpr ModuleId kFrozen = 900, kTrained = 901;
  run.names.modules = {{kFrozen, kNoId, "encoder"}, {kTrained, kNoId, "unet"}};
  for (const ModuleId module : {kFrozen, kTrained}) {
    run.more.opWork.emplace_back(JudgedRun::beginMs(3) * kMs, 100 * kMiB, 0U, 3U, 1U, kMm, module,
                                 kNoId, kNoId, events::Phase::Forward, std::uint8_t{0});
  }
}

/// A recurrent cell with weight_norm is called for each of 24 time steps.
void normEachTimeStep(JudgedRun& run) {
  run.ownScript = true;
  constexpr ModuleId kCell = 900, kNorm = 901;
  run.names.modules = {{kCell, kNoId, "cell"}, {kNorm, kCell, "parametrizations.weight.0"}};
  for (const ModuleId module : {kCell, kNorm}) {
    run.more.opWork.emplace_back(JudgedRun::beginMs(3) * kMs, 100 * kMiB, 0U, 3U, 24U, kMm, module,
                                 kTrainStep, kNoId, events::Phase::Forward, std::uint8_t{0});
  }
}

/// Two thirds of the device's work in a step are those of backwards, half of whose nodes are gone
/// through twice.
void goBackTwice(JudgedRun& run) {
  run.ownScript = true;
  run.signs = {{std::string(kRepeatedGradSign), "train.py:54", "train.py:70", 0.5}};
  for (const events::Phase phase : {events::Phase::Forward, events::Phase::Backward}) {
    const bool isBackward = phase == events::Phase::Backward;
    run.more.opWork.emplace_back(JudgedRun::beginMs(3) * kMs, (isBackward ? 200 : 100) * kMiB, 0U,
                                 3U, 1U, kMm, kNoId, kTrainStep, kNoId, phase,
                                 static_cast<std::uint8_t>(isBackward));
  }
}

/// A phase that the script names takes a second after the last step.
void plotSlowly(JudgedRun& run) {
  run.names.names.push_back({kAugment, "plot"});
  run.more.namedSpans.emplace_back(JudgedRun::beginMs(41) * kMs, 1000 * kMs, 40U, kAugment,
                                   kTrainingThread, std::uint8_t{0});
}

/// Step 20 ran out of memory once, and was trained with half of the batch.
void recover(JudgedRun& run) {
  const std::int64_t ns = JudgedRun::beginMs(20) * kMs;
  run.more.markers.emplace_back(ns, 27.0 * kMiB, 1088.0 * kMiB, 20U, kNoId,
                                events::MarkerKind::OutOfMemory);
  run.more.markers.emplace_back(ns + 1, 32.0, 16.0, 20U, kNoId, events::MarkerKind::Recovered);
}

/// Eight tensors of a MiB go to the device at the begin of each step, and come back.
void moveThereAndBack(JudgedRun& run) {
  run.ownScript = true;
  run.lossEvery = 1000;
  for (std::uint32_t step = 1; step <= run.steps; ++step) {
    const auto copy = [&](std::int64_t atMs, CallSiteId site, events::SyncKind kind) {
      run.more.syncPoints.emplace_back((JudgedRun::beginMs(step) + atMs) * kMs, kMs / 2, kMiB, step,
                                       kCopy, kNoId, site, kTrainingThread, kind,
                                       events::Phase::None, std::uint8_t{1});
    };
    for (std::int64_t i = 0; i < 8; ++i) {
      copy(2 + i, kTrainStep, events::SyncKind::CopyToDevice);
      copy(20 + i, kForward, events::SyncKind::CopyToHost);
    }
  }
}

std::vector<MadeRun> madeRuns() {
  using Kind = FindingKind;
  return {
      {"clean", {}, {}},
      {"near the limit", {Kind::NearLimit}, changed([](JudgedRun& run) {
         run.driver = [](std::uint32_t) { return 950 * kMiB; };
         run.current = [](std::uint32_t) { return 900 * kMiB; };
       })},
      {"fallback", {Kind::Fallback}, withFallback()},
      {"loss read each step", {Kind::ChattyLogging}, changed([](JudgedRun& run) {
         run.lossEvery = 1;
       })},
      {"unplanned wait", {Kind::SyncPoint}, withUnplannedWait()},
      {"slow batch assembly", {Kind::HostBound}, withSlowAssembly()},
      {"current grows", {Kind::MemoryGrowth}, changed([](JudgedRun& run) {
         run.current = [](std::uint32_t step) { return 100 * kMiB + step * kMiB; };
       })},
      {"current rises and falls", {Kind::MemorySawtooth}, changed(keepForAnEpoch)},
      {"current grows by jumps", {Kind::MemoryJumps}, changed(growByJumps)},
      {"driver grows at one shape", {Kind::DriverGrowth}, changed([](JudgedRun& run) {
         run.driver = [](std::uint32_t step) { return (200 + step) * kMiB; };
       })},
      {"driver grows by shape", {Kind::ShapeGrowth}, changed([](JudgedRun& run) {
         run.length = [](std::uint32_t step) { return 8 + step; };
         run.driver = [](std::uint32_t step) { return 200 * kMiB + step * 6 * kMiB; };
       })},
      {"some steps are slow", {Kind::StepTimeSwings}, changed(swing)},
      {"steps become slower", {Kind::SlowingSteps, Kind::HostBound}, changed(slowDown)},
      {"small batch", {Kind::BatchTooSmall}, changed(shrinkBatch)},
      {"driver grows at old shapes", {Kind::Fragmentation}, changed(fragment)},
      {"footprint grows", {Kind::HiddenGrowth}, changed(growHidden)},
      {"large step, long ago", {Kind::CacheAboveLive}, changed(leaveCache)},
      {"memory pressure", {Kind::SystemPressure}, changed(pressSystem)},
      {"loss is NaN", {Kind::NonFiniteLoss}, changed(loseLoss)},
      {"loss is NaN in float16", {Kind::Float16Unscaled}, changed(autocastToFloat16)},
      {"float64 on MPS", {Kind::RefusedDtype}, changed([](JudgedRun& run) {
         run.runEnd = endOf(RunEnd::Reason::kFailed, kExitFailed);
         run.runEnd->message = kNoFloat64;
       })},
      {"no kernel for an op", {Kind::MissingOp}, changed([](JudgedRun& run) {
         run.runEnd = endOf(RunEnd::Reason::kFailed, kExitFailed);
         run.runEnd->message =
             "The operator 'aten::gelu' is not currently implemented for the MPS device";
       })},
      {"workers of a loader", {Kind::LoaderStart}, changed(startWorkers)},
      {"hot machine", {Kind::ThermalState}, changed(heatUp)},
      {"Low Power Mode", {Kind::LowPowerMode}, changed([](JudgedRun& run) {
         run.power = [](std::uint32_t) { return events::PowerMode::Low; };
       })},
      {"ended out of memory", {Kind::OutOfMemory}, changed([](JudgedRun& run) {
         run.runEnd = endOf(RunEnd::Reason::kFailed, kExitEndedEarly);
       })},
      {"stopped responding", {Kind::Hung}, changed([](JudgedRun& run) {
         run.runEnd = endOf(RunEnd::Reason::kHung, 0);
       })},
      {"went on after out of memory", {Kind::Recovered}, changed(recover)},
      {"slow evaluation", {Kind::Evaluation}, changed(evaluateSlowly)},
      {"evaluation with graphs", {Kind::Evaluation}, changed(evaluateWithGraphs)},
      {"a frozen encoder", {Kind::FrozenModel}, changed(encodeAgain)},
      {"slow plot", {Kind::OutsideSteps}, changed(plotSlowly)},
      {"trained on the CPU", {Kind::DeviceUnused}, changed([](JudgedRun& run) {
         run = JudgedRun::ofScript();
         run.current = run.driver = [](std::uint32_t) { return 0; };
       })},
      {"autocast for a GPU elsewhere", {Kind::AutocastOff}, changed([](JudgedRun& run) {
         run.ownScript = true;
         run.signs = {{std::string(kAutocastOffSign), "train.py:12", "cuda"}};
       })},
      {"anomaly detection", {Kind::AnomalyDetection}, changed([](JudgedRun& run) {
         run.signs = {{std::string(kAnomalySign), "train.py:41"}};
         for (std::uint32_t step = 1; step <= run.steps; ++step) readGradients(run, step);
       })},
      {"an encoder that comes and goes",
       {Kind::MovedBack, Kind::HostBound},
       changed(moveThereAndBack)},
      {"a teacher with gradients", {Kind::UnusedGradients}, changed([](JudgedRun& run) {
         run.ownScript = true;
         run.signs = {{std::string(kUnusedGradientsSign), "train.py:7", "Teacher", 0.8}};
       })},
      {"a generator that is not detached", {Kind::UnusedGradients}, changed([](JudgedRun& run) {
         run.ownScript = true;
         run.signs = {{std::string(kDroppedGradientsSign), "train.py:7", "Generator", 0.8}};
       })},
      {"weights that are computed again", {Kind::RepeatedWeights}, changed(normEachTimeStep)},
      {"gradients of each loss", {Kind::RepeatedBackward}, changed(goBackTwice)},
      {"rows of different lengths", {Kind::Padding}, changed([](JudgedRun& run) {
         run.ownScript = true;
         run.signs = {{std::string(kRaggedRowsSign), "data.py:22", "rows of 40 of 100", 0.6}};
       })},
      {"tokens that are padded", {Kind::Padding}, changed([](JudgedRun& run) {
         run.ownScript = true;
         run.signs = {{std::string(kPaddingSign), "train.py:7", "64 columns", 0.8}};
       })},
  };
}

const Finding& only(const Findings& findings, FindingKind kind) {
  static const Finding none;
  for (const Finding& each : findings.found) {
    if (each.kind == kind) return each;
  }
  return none;
}

}  // namespace

class TestFindingRules : public QObject {
  Q_OBJECT

 private slots:
  void everyRuleFiresOnItsRunAndOnNoOther() {
    KindSet covered;
    QString head = QStringLiteral("%1").arg(QString(), -28);
    for (std::size_t kind = 0; kind < kFindingKinds; ++kind) {
      head += QString::number(kind).rightJustified(3);
    }
    qInfo("%s", qPrintable(head));
    std::vector<std::string> wrong;
    for (const MadeRun& each : madeRuns()) {
      const KindSet found = kindsIn(each.run);
      QString row = QString::fromStdString(each.name).leftJustified(28);
      for (std::size_t kind = 0; kind < kFindingKinds; ++kind) {
        row += found.contains(static_cast<FindingKind>(kind)) ? "  x" : "  .";
      }
      qInfo("%s", qPrintable(row));
      if (found != each.finds) wrong.push_back(each.name);
      covered.insert(each.finds.begin(), each.finds.end());
    }
    for (std::size_t kind = 0; kind < kFindingKinds; ++kind) {
      qInfo("%3zu %s", kind, findingKey(static_cast<FindingKind>(kind)).data());
    }
    QVERIFY2(wrong.empty(), wrong.empty() ? "" : wrong.front().c_str());
    QCOMPARE(covered.size(), kFindingKinds);
  }

  /// 38 new lengths, 6 MiB each: what is said of one, times their number, is what is said of all.
  void whatShapesAddAddsUp() {
    JudgedRun run;
    run.length = [](std::uint32_t step) { return 8 + step; };
    run.driver = [](std::uint32_t step) { return 200 * kMiB + step * 6 * kMiB; };
    const Finding found = only(run.judge(), FindingKind::ShapeGrowth);
    QVERIFY2(contains(found.title, "Each new shape adds 6.0 MiB of driver memory"),
             found.title.c_str());
    const std::uint64_t first = run.driver(2), all = found.count * 6 * kMiB;
    QVERIFY2(contains(found.evidence, std::to_string(found.count) + " new shapes of a batch") &&
                 contains(found.evidence,
                          "driver " + formatBytes(first) + " to " + formatBytes(first + all)),
             found.evidence.c_str());
    QVERIFY(std::abs(*found.costBytes - static_cast<double>(all) / (run.steps - 2)) < 1);
  }

  void adviceNamesItsSource() {
    for (const FindingKind kind :
         {FindingKind::StepTimeSwings, FindingKind::BatchTooSmall, FindingKind::Fragmentation,
          FindingKind::CacheAboveLive, FindingKind::SystemPressure, FindingKind::NonFiniteLoss,
          FindingKind::Float16Unscaled, FindingKind::RefusedDtype, FindingKind::MissingOp,
          FindingKind::LoaderStart, FindingKind::ThermalState, FindingKind::LowPowerMode}) {
      QVERIFY2(contains(std::string(findingSource(kind)), "https://"), findingKey(kind).data());
    }
  }

  void anEvaluationSaysWhatTakesItsTime() {
    const JudgedRun run = changed(evaluateSlowly);
    const Findings findings = run.judge();
    const Finding& found = only(findings, FindingKind::Evaluation);
    QVERIFY2(
        contains(found.title,
                 "Evaluation: 34 % of the time since the first step, most of it loading batches"),
        found.title.c_str());
    QVERIFY2(contains(found.evidence,
                      "1\u00d7, together 1.00 s of 2.95 s: "
                      "loading batches 960 ms, the host's other work 40.0 ms"),
             found.evidence.c_str());
    QVERIFY(found.gainMs && found.gainMs->low > 0);  // at least what the rest can hide
    QVERIFY(found.gainMs->high <= *found.waitsMs);
    // The steps of a range do not answer for what comes after them.
    QVERIFY(run.judge(JudgedRun::stepsFrom(5, 30)).found.empty());
  }

  /// The device works on a metric's line while the host waits for the results.
  void anEvaluationNamesTheLineThatTakesTheDevice() {
    const auto findingOf = [](ModuleId module, std::int64_t ms = 1000) {
      JudgedRun run;
      run.ownScript = true;
      run.names.names.push_back({kEvaluation, kEvaluationSpan});
      constexpr ModuleId kHead = 901;
      run.names.modules = {{kHead, kNoId, "head"}};
      const std::int64_t ns = JudgedRun::beginMs(41) * kMs;
      run.more.namedSpans.emplace_back(ns, ms * kMs, 40U, kEvaluation, kTrainingThread,
                                       std::uint8_t{0});
      run.more.syncPoints.emplace_back(ns + 50 * kMs, (ms - 100) * kMs, 4, 40U, kScalarRead, kNoId,
                                       kForward, kTrainingThread, events::SyncKind::ScalarRead,
                                       events::Phase::None, std::uint8_t{1});
      run.more.opWork.emplace_back(ns, 300 * kMiB, 0U, 0U, 1U, kMm, module, kTrainStep, kNoId,
                                   events::Phase::None, std::uint8_t{0});
      run.more.opWork.emplace_back(ns, 100 * kMiB, 0U, 0U, 1U, kCopy, kHead, kForward, kNoId,
                                   events::Phase::Forward, std::uint8_t{0});
      return only(run.judge(), FindingKind::Evaluation);
    };
    const Finding metric = findingOf(kNoId);
    QCOMPARE(metric.line, std::string("train.py:12"));
    QVERIFY2(contains(metric.evidence, "the device's largest work there is train.py:12, 75 %"),
             metric.evidence.c_str());
    QVERIFY2(contains(metric.advice, "at train.py:12: write that line"), metric.advice.c_str());
    // In the model it is what an evaluation is for, unless it takes much of the time.
    QVERIFY(findingOf(901).title.empty());
    const Finding model = findingOf(901, 2000);
    QVERIFY2(contains(model.evidence, "largest work there is train.py:12"), model.evidence.c_str());
    QVERIFY2(!contains(model.advice, "write that line"), model.advice.c_str());
  }

  void aReadAtTheEndOfAPhaseIsNoLoss() {
    JudgedRun run;
    run.lossEvery = 1000;  // which works off the queue
    run.names.names.push_back({kAugment, "log"});
    const auto waitFor = [&run](std::int64_t atMs, std::int64_t ms) {
      run.more.syncPoints.emplace_back(atMs * kMs, ms * kMs, 4, 40U, kScalarRead, kNoId, kNoId,
                                       kTrainingThread, events::SyncKind::ScalarRead,
                                       events::Phase::None, std::uint8_t{0});
    };
    const std::int64_t beginMs = JudgedRun::beginMs(41);
    run.more.namedSpans.emplace_back(beginMs * kMs, 910 * kMs, 40U, kAugment, kTrainingThread,
                                     std::uint8_t{0});
    waitFor(beginMs, 900);  // for what the steps have queued
    QVERIFY(kindsIn(run).empty());
    waitFor(beginMs + 901, 1);
    QVERIFY(kindsIn(run).empty());
    // What it queues itself, and waits for.
    run.more.namedSpans.emplace_back((beginMs + 1000) * kMs, 1200 * kMs, 40U, kAugment,
                                     kTrainingThread, std::uint8_t{0});
    for (std::int64_t i = 0; i < 20; ++i) waitFor(beginMs + 1000 + 60 * i, 55);
    QCOMPARE(kindsIn(run), KindSet{FindingKind::OutsideSteps});
  }

  void growthNamesWhatTheRunTellsOfIt() {
    const auto growing = [](std::uint64_t bytes) {
      JudgedRun run = JudgedRun::ofScript();
      run.current = [bytes](std::uint32_t step) { return 100 * kMiB + step * bytes; };
      for (std::uint32_t step = 1; step <= run.steps; ++step) {
        run.more.syncPoints.emplace_back(
            (JudgedRun::beginMs(step) + 2) * kMs, kMs, 3 * kMiB / 2, step, kCopy, kNoId, kTrainStep,
            1, events::SyncKind::CopyToDevice, events::Phase::DeviceMove, std::uint8_t{1});
      }
      return run;
    };
    const auto grown = [](const JudgedRun& run) {
      return only(run.judge(), FindingKind::MemoryGrowth);
    };
    // What a step leaves is about what it copies to the device; or much more.
    const Finding ofBatches = grown(growing(2 * kMiB));
    QCOMPARE(ofBatches.line, std::string("train.py:12"));
    QVERIFY2(contains(ofBatches.advice, "at train.py:12: look for what keeps the batches"),
             ofBatches.advice.c_str());
    JudgedRun ofMore = growing(6 * kMiB);
    QCOMPARE(grown(ofMore).line, std::string());
    QVERIFY(!contains(grown(ofMore).evidence, "slower"));
    ofMore.signs = {{std::string(kRetainGraphSign), "train.py:30"}};
    ofMore.moreAssemblyMs = [](std::uint32_t step) { return step; };
    ofMore.stepMs = 10;
    const Finding ofGraph = grown(ofMore);
    QVERIFY2(contains(ofGraph.advice, "at train.py:30: leave retain_graph=True out"),
             ofGraph.advice.c_str());
    QVERIFY2(contains(ofGraph.evidence, "the steps become slower, from 16.5 ms to 45.5 ms"),
             ofGraph.evidence.c_str());
  }

  /// As the pool of pictures that a GAN draws from does.
  void whatIsFilledUpIsNoGrowth() {
    JudgedRun run;
    run.steps = 120;
    run.current = [](std::uint32_t step) { return (100 + 4 * std::min(step, 60U)) * kMiB; };
    QVERIFY(kindsIn(run).empty());
    run.current = [](std::uint32_t step) { return (100 + 4 * std::min(step, 40U) + step) * kMiB; };
    QVERIFY2(contains(only(run.judge(), FindingKind::MemoryGrowth).title, "leaves 1.0 MiB"),
             only(run.judge(), FindingKind::MemoryGrowth).title.c_str());
  }

  void aMetricThatKeepsAllItIsGivenIsToldFromOtherLists() {
    JudgedRun run;
    run.current = [](std::uint32_t step) { return (100 + 4 * step) * kMiB; };
    run.signs = {{std::string(kKeptTensorsSign), "train.py:50",
                  "BinaryAUROC.target, a list of a metric with reset(), got 8 tensors in 8 steps"}};
    const Finding found = only(run.judge(), FindingKind::MemoryGrowth);
    QVERIFY2(contains(found.advice, "at train.py:50: a metric") &&
                 contains(found.advice, "call its reset()"),
             found.advice.c_str());
    run.signs[0].text = "log, a list, got 8 tensors in 8 steps";
    QVERIFY(!contains(only(run.judge(), FindingKind::MemoryGrowth).advice, "reset()"));
  }

  void jumpsNameTheEvaluationsBeforeThem() {
    JudgedRun run = changed(growByJumps);
    const auto jumps = [&run] { return only(run.judge(), FindingKind::MemoryJumps); };
    QVERIFY(!contains(jumps().evidence, "evaluation"));
    run.names.names.push_back({kEvaluation, kEvaluationSpan, kTrainStep});
    run.stepMs = 45;
    run.deviceMs = 40;
    for (std::uint32_t step = 9; step < 40; step += 10) {
      run.more.namedSpans.emplace_back((JudgedRun::beginMs(step) + 46) * kMs, 3 * kMs, step,
                                       kEvaluation, kTrainingThread, std::uint8_t{0});
    }
    QVERIFY2(contains(jumps().evidence, "an evaluation comes before each of them, at train.py:12"),
             jumps().evidence.c_str());
    QVERIFY2(contains(jumps().advice, "a forward hook stores"), jumps().advice.c_str());
  }

  void jumpsNameForwardPassesWithoutABackward() {
    JudgedRun run = changed(growByJumps);
    const auto jumps = [&run] { return only(run.judge(), FindingKind::MemoryJumps); };
    QVERIFY(!contains(jumps().advice, "forward passes"));
    const auto add = [&run](std::uint32_t step, int row, events::Phase phase) {
      run.more.phases.emplace_back((JudgedRun::beginMs(step) + 1) * kMs + row, 1, step,
                                   kTrainingThread, phase);
    };
    const auto addForward = [&add](std::uint32_t step, int row) {
      add(step, row, events::Phase::Forward);
    };
    for (std::uint32_t step = 1; step <= 40; ++step) {
      addForward(step, 0);
      if (step % 10 == 0) addForward(step, 1);
    }
    QVERIFY2(contains(jumps().evidence, "in 4 of these steps the model is called more often"),
             jumps().evidence.c_str());
    QVERIFY2(jumps().advice.starts_with("look for forward passes whose backward never comes"),
             jumps().advice.c_str());
    const JudgedRun before = run;
    for (const std::uint32_t step : {10u, 20u, 30u, 40u}) add(step, 2, events::Phase::Backward);
    QVERIFY(!contains(jumps().advice, "forward passes"));  // each has its own
    run = before;
    // In many others too.
    for (std::uint32_t step = 11; step < 40; step += 2) addForward(step, 1);
    QVERIFY(!contains(jumps().advice, "forward passes"));
  }

  void anOutputThatItsFunctionKeepsIsNamed() {
    JudgedRun run;
    run.current = [](std::uint32_t step) { return (100 + 4 * step) * kMiB; };
    run.signs = {{std::string(kOutputOnContextSign), "train.py:16", "Clip"}};
    const Finding found = only(run.judge(), FindingKind::MemoryGrowth);
    QCOMPARE(found.line, std::string("train.py:16"));
    QVERIFY2(contains(found.evidence, "the autograd Function Clip keeps its own output"),
             found.evidence.c_str());
    QVERIFY2(contains(found.advice, "at train.py:16: hand it to ctx.save_for_backward()"),
             found.advice.c_str());
  }

  void rowsOfATensorDatasetAreTakenByTheBatch() {
    LiveStore store;
    RunDescription run;
    run.ownScript = true;
    run.loader = LoaderSettings{};
    store.apply(run);
    QVERIFY(!contains(loaderAdvice(store), "TensorDataset"));
    run.signs = {{std::string(kTensorRowsSign), ""}};
    store.apply(run);
    QVERIFY2(contains(loaderAdvice(store), "BatchSampler"), loaderAdvice(store).c_str());
  }

  void workersAreNotForSamplesThatMoveOneByOne() {
    for (const int moves : {1, 16}) {
      JudgedRun run;
      run.ownScript = true;
      for (std::uint32_t step = 1; step <= run.steps; ++step) {
        for (std::int64_t i = 0; i < moves; ++i) {
          run.more.syncPoints.emplace_back(
              JudgedRun::beginMs(step) * kMs + i * 1000, 500, 4, step, kCopy, kNoId, kTrainStep, 1,
              events::SyncKind::CopyToDevice, events::Phase::BatchAssembly, 0);
        }
      }
      LiveStore store;
      run.fill(store);
      const std::string advice = loaderAdvice(store);
      QCOMPARE(contains(advice, "num_workers"), moves == 1);
      QCOMPARE(contains(advice, "it moves samples to the device one by one"), moves == 16);
    }
  }

  void aDatasetOfWholeBatchesIsNotToldToBeOne() {
    LiveStore store;
    RunDescription run;
    run.ownScript = true;
    for (const int workers : {0, 2}) {
      run.loader = LoaderSettings{};
      run.loader->workers = workers;
      run.signs.clear();
      store.apply(run);
      QVERIFY(contains(loaderAdvice(store, 1), "by __getitems__(rows) of the data set"));
      run.signs = {{std::string(kWholeBatchesSign), ""}};
      store.apply(run);
      QVERIFY(contains(loaderAdvice(store, 1), "in its __getitems__ (x[rows])"));
      QCOMPARE(contains(loaderAdvice(store, 1), "try num_workers=0"), workers > 0);
    }
  }

  void aFallbackInALoopIsToldAsOne() {
    JudgedRun run;
    for (std::uint32_t step = 1; step <= 40; ++step) {
      for (std::int64_t i = 0; i < 4; ++i) {
        JudgedRun::addFallback(run.more, step, JudgedRun::beginMs(step) + 2 + 11 * i);
      }
    }
    const Finding found = only(run.judge(), FindingKind::Fallback);
    QVERIFY2(contains(found.advice, "it is called 4 times a step: call it once"),
             found.advice.c_str());
    const Finding single = only(withFallback().judge(), FindingKind::Fallback);
    QVERIFY(!contains(single.advice, "times a step"));
  }

  void startsOfWorkersNameTheLoopAndWhatHelps() {
    const Findings findings = changed(startWorkers).judge();
    const Finding& found = only(findings, FindingKind::LoaderStart);
    QCOMPARE(found.title, std::string("Starting DataLoader workers takes 18 % of the time"));
    QCOMPARE(found.line, std::string("train.py:12"));
    QCOMPARE(found.count, std::uint64_t{9});
    QVERIFY2(contains(found.evidence, "40.0 ms each"), found.evidence.c_str());
    QVERIFY2(contains(found.advice, "persistent_workers=True"), found.advice.c_str());
  }

  void swingsNameWhereTheTimeIsLost() {
    JudgedRun run = changed(swing);
    const Findings findings = run.judge();
    const Finding& found = only(findings, FindingKind::StepTimeSwings);
    QCOMPARE(found.where, std::string("batch assembly"));
    QCOMPARE(found.count, std::uint64_t{5});
    QVERIFY2(contains(found.evidence, "26.0 ms in place of 1.00 ms"), found.evidence.c_str());
    QVERIFY2(contains(found.title, "2.2 times as long"), found.title.c_str());
    QVERIFY(found.gainMs && found.gainMs->high <= *found.waitsMs + 0.1);
    // The short last batch of an epoch takes no longer than whole ones.
    run.batchSize = [](std::uint32_t step) { return step % 8 == 5 ? 5 : 16; };
    QCOMPARE(only(run.judge(), FindingKind::StepTimeSwings).count, std::uint64_t{5});
    run.batchSize = [](std::uint32_t) { return 16; };
    // Two slow steps are chance; steps of other shapes take as long as they take.
    run.moreAssemblyMs = [](std::uint32_t step) { return step % 20 == 5 ? 25 : 0; };
    QVERIFY(kindsIn(run).empty());
    swing(run);
    run.length = [](std::uint32_t step) { return step % 8 == 5 ? 128 : 64; };
    QVERIFY(kindsIn(run).empty());
  }

  void fewStepsThatStandStillAtALineSwing() {
    JudgedRun run = JudgedRun::ofScript();
    run.steps = 60;
    run.stepMs = 10;
    run.deviceMs = 8;
    const auto isLast = [](std::uint32_t step) { return step == 20 || step == 40; };
    run.moreAssemblyMs = [isLast](std::uint32_t step) { return isLast(step) ? 40 : 0; };
    run.signs.clear();
    QVERIFY(only(run.judge(), FindingKind::StepTimeSwings).title.empty());
    for (const std::uint32_t step : {20U, 40U}) {
      for (std::int64_t ms = 4; ms < 40; ms += 4) {
        run.more.hostSamples.emplace_back((JudgedRun::beginMs(step) + ms) * kMs, step, kTrainStep,
                                          kTrainingThread, events::Phase::BatchAssembly);
      }
    }
    const Findings findings = run.judge();
    const Finding& found = only(findings, FindingKind::StepTimeSwings);
    QVERIFY2(contains(found.title, "2 of 59 steps take 5.0 times as long"), found.title.c_str());
    QVERIFY2(found.line.starts_with("train.py:"), found.line.c_str());
    QVERIFY(std::abs(*found.waitsMs - 80.0 / 59) < 0.01);
  }

  void slowStepsThatAreHardlySampledNameNoLine() {
    for (const std::int64_t everyMs : {4, 30}) {
      JudgedRun run = JudgedRun::ofScript();
      run.steps = 200;
      run.stepMs = 10;
      run.deviceMs = 8;
      run.moreAssemblyMs = [](std::uint32_t step) { return step % 33 == 20 ? 40 : 0; };
      for (std::uint32_t step = 20; step < run.steps; step += 33) {
        if (everyMs == 30 && step > 53) break;
        for (std::int64_t ms = 4; ms < 34; ms += everyMs) {
          run.more.hostSamples.emplace_back((JudgedRun::beginMs(step) + ms) * kMs, step, kTrainStep,
                                            kTrainingThread, events::Phase::BatchAssembly);
        }
      }
      const Findings findings = run.judge();
      QCOMPARE(only(findings, FindingKind::StepTimeSwings).line.empty(), everyMs == 30);
    }
  }

  void aFewStepsThatSwingAreNoGrowth() {
    JudgedRun run;
    run.steps = 12;
    run.current = [](std::uint32_t step) {
      return 85 * kMiB - (step < 4 ? 500U : step % 2 == 0 ? 108U : 0U) * 1024;
    };
    QVERIFY(only(run.judge(), FindingKind::MemoryGrowth).title.empty());
  }

  void growthWithNewLengthsNamesACache() {
    JudgedRun run;
    run.steps = 60;
    // Each third step has a length that was seen before.
    run.length = [](std::uint32_t step) { return step % 3 == 0 ? 64 : 64 + step; };
    const auto longer = [](std::uint32_t step) { return (step - step / 3) * kMiB; };
    run.current = [longer](std::uint32_t step) { return 100 * kMiB + longer(step); };
    const Findings findings = run.judge();
    const Finding& found = only(findings, FindingKind::MemoryGrowth);
    QVERIFY2(contains(found.evidence, "the first of their shape"), found.evidence.c_str());
    QVERIFY2(contains(found.advice, "lru_cache"), found.advice.c_str());
    // What grows in each step is no cache by length.
    run.current = [](std::uint32_t step) { return 100 * kMiB + step * kMiB; };
    const Findings evenly = run.judge();
    QVERIFY(!contains(only(evenly, FindingKind::MemoryGrowth).advice, "lru_cache"));
  }

  void backwardThatIsRepeatedCostsItsShareOfTheWork() {
    JudgedRun run = changed(goBackTwice);
    const Findings findings = run.judge();
    const Finding& found = only(findings, FindingKind::RepeatedBackward);
    QCOMPARE(found.line, std::string("train.py:54"));
    QVERIFY2(contains(found.evidence, "50 % are gone through there"), found.evidence.c_str());
    QVERIFY2(contains(found.evidence, "and train.py:70 goes through them again"),
             found.evidence.c_str());
    // Half of the nodes of what is 66 to 67 % of the work: a third of a step, at most two.
    QVERIFY(found.gainMs && found.gainMs->low == 0 && found.waitsMs);
    QVERIFY2(std::abs(*found.waitsMs / run.stepMs - 2.0 / 3) < 0.03,
             qPrintable(QString::number(*found.waitsMs)));
    QVERIFY2(std::abs(found.gainMs->estimate / run.stepMs - 1.0 / 3) < 0.03,
             qPrintable(QString::number(found.gainMs->estimate)));
    // Without work that was counted nothing is known of its cost.
    run.more.opWork.clear();
    const Findings uncounted = run.judge();
    QVERIFY(only(uncounted, FindingKind::RepeatedBackward).title.empty());
  }

  void slowingStepsNameThePartAndWhatPilesUp() {
    JudgedRun run = changed(slowDown);
    const Findings findings = run.judge();
    const Finding& found = only(findings, FindingKind::SlowingSteps);
    QCOMPARE(found.where, std::string("batch assembly"));
    QVERIFY2(contains(found.title, "15.0 ms at first, 33.0 ms at the end"), found.title.c_str());
    QVERIFY2(contains(found.evidence, "takes 4.00 ms, then 22.0 ms"), found.evidence.c_str());
    QVERIFY(found.gainMs && found.gainMs->low < found.gainMs->estimate);
    // Hooks run in other parts.
    run.signs = {{std::string(kPiledHooksSign), "train.py:30", "12"}};
    QVERIFY(only(run.judge(), FindingKind::SlowingSteps).line.empty());
    std::swap(run.moreAssemblyMs, run.backwardMs);
    const Findings withSign = run.judge();
    const Finding& piled = only(withSign, FindingKind::SlowingSteps);
    QCOMPARE(piled.line, std::string("train.py:30"));
    QVERIFY2(contains(piled.evidence, "each step adds 12 hooks"), piled.evidence.c_str());
    // Larger batches take longer, and a part that is slow in one quarter only is no trend.
    run.batchSize = [](std::uint32_t step) { return 16 + step; };
    QVERIFY(only(run.judge(), FindingKind::SlowingSteps).title.empty());
    // An agent's longer episodes have more calls of its model.
    slowDown(run = JudgedRun());
    for (std::uint32_t step = 1; step <= run.steps; ++step) {
      for (std::uint32_t i = 0; i < step; ++i) {
        run.more.phases.emplace_back((JudgedRun::beginMs(step) + 30) * kMs + i, 1, step,
                                     kTrainingThread, events::Phase::Forward);
      }
    }
    QVERIFY(only(run.judge(), FindingKind::SlowingSteps).title.empty());
    slowDown(run = JudgedRun());
    run.moreAssemblyMs = [](std::uint32_t step) { return step > 36 ? 30 : 0; };
    QVERIFY(only(run.judge(), FindingKind::SlowingSteps).title.empty());
    // Nor is what happens at once, as where the device's queue is full.
    run.moreAssemblyMs = [](std::uint32_t step) { return step / 12 + (step > 30 ? 60 : 0); };
    QVERIFY(only(run.judge(), FindingKind::SlowingSteps).title.empty());
  }

  void slowingStepsNameWhatTheDeviceHasMoreOf() {
    JudgedRun run;
    run.steps = 48;
    run.ownScript = true;
    run.stepMs = 12;
    run.deviceMs = 10;
    run.backwardMs = [](std::uint32_t step) { return step / 2; };
    for (std::uint32_t step = 2; step <= run.steps; ++step) {  // all of it a wait
      run.more.syncPoints.emplace_back((JudgedRun::beginMs(step) + run.stepMs) * kMs,
                                       run.backwardMs(step) * kMs, 4, step, kScalarRead, kNoId,
                                       kNoId, kTrainingThread, events::SyncKind::ScalarRead,
                                       events::Phase::Backward, std::uint8_t{1});
    }
    QVERIFY(only(run.judge(), FindingKind::SlowingSteps).title.empty());
    for (const std::uint32_t step : {3U, 23U}) {
      run.more.opWork.emplace_back(JudgedRun::beginMs(step) * kMs, step * kMiB, 0U, step, 1U, kMm,
                                   kNoId, kTrainStep, kNoId, events::Phase::Forward,
                                   std::uint8_t{0});
    }
    const Findings findings = run.judge();
    const Finding& found = only(findings, FindingKind::SlowingSteps);
    QVERIFY2(contains(found.title, "as the device's work grows"), found.title.c_str());
    QVERIFY2(contains(found.evidence, "3.0 MiB in step 3, 23.0 MiB in step 23"),
             found.evidence.c_str());
    QVERIFY(!found.line.empty() && found.advice.starts_with("at " + found.line));
  }

  void aSmallBatchIsComparedWithALargerOne() {
    JudgedRun run = changed(shrinkBatch);
    const Findings findings = run.judge();
    const Finding& found = only(findings, FindingKind::BatchTooSmall);
    QVERIFY2(contains(found.title, "batch size 32 trained 4.0 times as many samples"),
             found.title.c_str());
    QCOMPARE(found.gainMs->estimate, 37.5);
    QCOMPARE(found.gainMs->low, 37.5);
    // The last batches of epochs are shorter: nobody chose that.
    run.batchSize = [](std::uint32_t step) { return step % 4 == 0 ? 8 : 32; };
    QVERIFY(kindsIn(run).empty());
    // The newest batch is the larger one; the other length is other work; hardly faster.
    run.batchSize = [](std::uint32_t step) { return step <= 20 ? 8 : 32; };
    QVERIFY(kindsIn(run).empty());
    shrinkBatch(run);
    run.length = [](std::uint32_t step) { return step <= 20 ? 32 : 64; };
    QVERIFY(kindsIn(run).empty());
    run.length = [](std::uint32_t) { return 64; };
    run.moreAssemblyMs = [](std::uint32_t step) { return step <= 20 ? 28 : 0; };
    run.stepMs = 20;
    run.deviceMs = 19;
    run.batchSize = [](std::uint32_t step) { return step <= 20 ? 16 : 8; };
    QVERIFY(!kindsIn(run).contains(FindingKind::BatchTooSmall));
  }

  void aSawtoothSaysHowHighAndWhenItFalls() {
    JudgedRun run = changed(keepForAnEpoch);
    const Findings findings = run.judge();
    const Finding& found = only(findings, FindingKind::MemorySawtooth);
    QCOMPARE(found.title,
             std::string("Memory sawtooth: each step keeps 5.0 MiB more, up to 60.0 MiB, "
                         "and every 13 steps most of it is freed"));
    QVERIFY2(contains(found.evidence, "it falls in steps 14, 27 and 40"), found.evidence.c_str());
    QCOMPARE(*found.costBytes, 5.0 * static_cast<double>(kMiB));
    QCOMPARE(found.weight, 60.0 / 1024);
    QVERIFY(!findings.driverMemoryGrows());
    // Two epochs, the second not over.
    run.current = [](std::uint32_t step) {
      return (100 + (step <= 22 ? step : step - 22) * 5) * kMiB;
    };
    QCOMPARE(kindsIn(run), KindSet{FindingKind::MemorySawtooth});
    QVERIFY2(contains(run.judge().found[0].evidence, "it falls in step 23,"),
             run.judge().found[0].evidence.c_str());
    // Small beside what is always in use.
    run.current = [](std::uint32_t step) { return 400 * kMiB + (step - 1) % 13 * 5 * kMiB; };
    run.driver = [](auto) { return 500 * kMiB; };
    QVERIFY(kindsIn(run).empty());
    run.driver = [](auto) { return 200 * kMiB; };
    // What is large for one step, or for some, is no sawtooth.
    run.current = [](std::uint32_t step) { return (step % 8 == 0 ? 190 : 100) * kMiB; };
    QVERIFY(kindsIn(run).empty());
    run.current = [](std::uint32_t step) { return (step % 13 < 7 ? 190 : 100) * kMiB; };
    QVERIFY(kindsIn(run).empty());
    // Each tooth leaves a part.
    run.current = [](std::uint32_t step) {
      return 100 * kMiB + (step - 1) % 13 * 5 * kMiB + step / 13 * 40 * kMiB;
    };
    run.driver = [](auto) { return 500 * kMiB; };
    QCOMPARE(kindsIn(run), KindSet{FindingKind::MemoryGrowth});
    QVERIFY2(contains(run.judge().found[0].title, "on average a step leaves 3.1 MiB"),
             run.judge().found[0].title.c_str());
  }

  void jumpsSayHowMuchAndAtWhichSteps() {
    JudgedRun run = changed(growByJumps);
    const Findings findings = run.judge();
    const Finding& found = only(findings, FindingKind::MemoryJumps);
    QCOMPARE(found.title,
             std::string("Memory growth by jumps: 12.0 MiB more stay allocated every 10 "
                         "steps"));
    QVERIFY2(contains(found.evidence, "in steps 10, 20, 30 and 40"), found.evidence.c_str());
    QVERIFY(findings.driverMemoryGrows());
    run.current = [](std::uint32_t step) {
      return 100 * kMiB + ((step >= 8) + (step >= 11) + (step >= 30)) * 12 * kMiB;
    };
    QVERIFY2(contains(run.judge().found.at(0).title, "12.0 MiB more stay allocated at 3 steps"),
             run.judge().found[0].title.c_str());
    // Twice is not yet a habit.
    run.current = [](std::uint32_t step) {
      return 100 * kMiB + ((step >= 8) + (step >= 30)) * 12 * kMiB;
    };
    QVERIFY(kindsIn(run).empty());
    // Some KiB.
    run.current = [](std::uint32_t step) { return 100 * kMiB + step / 10 * 100 * 1024; };
    QVERIFY(kindsIn(run).empty());
  }

  void fragmentationIsNotTheGrowthOfNewShapes() {
    JudgedRun run = changed(fragment);
    const Findings findings = run.judge();
    const Finding& found = only(findings, FindingKind::Fragmentation);
    QCOMPARE(*found.costBytes, static_cast<double>(kMiB));
    QVERIFY2(contains(found.advice, "buckets"), found.advice.c_str());
    QVERIFY2(contains(found.evidence, "of 3 shapes"), found.evidence.c_str());
    run.length = [](std::uint32_t) { return 64; };  // no shape varies
    QCOMPARE(kindsIn(run), KindSet{FindingKind::DriverGrowth});
    // The driver keeps what tensors held at times, and no more.
    const auto driver = run.driver;
    run.current = [driver](std::uint32_t step) {
      return step % 8 == 0 ? driver(step) - 50 * kMiB : 100 * kMiB;
    };
    QVERIFY(!kindsIn(run).contains(FindingKind::DriverGrowth));
    fragment(run);
    run.current = [](std::uint32_t step) { return (100 + step) * kMiB; };  // it is in use
    QCOMPARE(kindsIn(run), KindSet{FindingKind::MemoryGrowth});
  }

  void hiddenGrowthIsWhatTheDriverDoesNotCount() {
    JudgedRun run = changed(growHidden);
    const Findings findings = run.judge();
    const Finding& found = only(findings, FindingKind::HiddenGrowth);
    QCOMPARE(*found.costBytes, static_cast<double>(kMiB));
    QVERIFY2(contains(found.evidence, "driver 200.0 MiB to 200.0 MiB"), found.evidence.c_str());
    // Short steps: the system is read once in seven of them.
    run.footprint = [](std::uint32_t step) { return step % 7 == 0 ? (500 + 4 * step) * kMiB : 0; };
    run.steps = 46;
    QCOMPARE(kindsIn(run), KindSet{FindingKind::HiddenGrowth});
    QVERIFY2(contains(run.judge().found[0].title, "each step adds 4.0 MiB"),
             run.judge().found[0].title.c_str());
    run.steps = 40;  // five readings
    QVERIFY(kindsIn(run).empty());
    // As much as a process takes that starts.
    run.footprint = [](std::uint32_t step) { return 500 * kMiB + step * kMiB / 2; };
    QVERIFY(kindsIn(run).empty());
    // Grows once, and then stays; or grows as the driver does.
    run.footprint = [](std::uint32_t step) { return (step < 15 ? 500 : 800) * kMiB; };
    QVERIFY(kindsIn(run).empty());
    growHidden(run);
    run.driver = [](std::uint32_t step) { return (200 + step) * kMiB; };
    QCOMPARE(kindsIn(run), KindSet{FindingKind::DriverGrowth});
  }

  void driverGrowthAtOneShapeNamesTheOps() {
    JudgedRun run;
    run.driver = [](std::uint32_t step) { return (200 + step) * kMiB; };
    const Findings findings = run.judge();
    const Finding& found = only(findings, FindingKind::DriverGrowth);
    QCOMPARE(found.title, std::string("Driver memory grows by 1.0 MiB a step, although the input "
                                      "keeps its shape"));
    QVERIFY2(contains(found.advice, "--level ops"), found.advice.c_str());
    QVERIFY(findings.driverMemoryGrows());
    // An op whose shape is new in each step, beside one whose shape never changes.
    Definitions shapes;
    for (std::uint32_t step = 1; step <= 20; ++step) {
      shapes.names.push_back({100 + step, "[" + std::to_string(step) + "] float32"});
      for (const NameId op : {kNonzero, kCopy}) {
        run.more.ops.emplace_back((JudgedRun::beginMs(step) + op) * kMs, kMs, std::int64_t{-1},
                                  std::uint64_t{0}, step, op, kNoId,
                                  op == kNonzero ? 100 + step : 101U, kTrainingThread,
                                  std::uint16_t{0}, events::Phase::Forward, std::uint8_t{0});
      }
    }
    run.names = shapes;
    const Findings named = run.judge();
    const Finding& ops = only(named, FindingKind::DriverGrowth);
    QCOMPARE(ops.ops, std::vector<std::string>{"aten::nonzero"});
    QVERIFY2(contains(ops.evidence, "new shape at each recorded step: aten::nonzero"),
             ops.evidence.c_str());
    QVERIFY2(!contains(ops.advice, "--level ops"), ops.advice.c_str());
    // It grows for a while, until all graphs are there; or by less than a graph.
    run.more = {};
    run.driver = [](std::uint32_t step) { return (150 + std::min(step, 20U)) * kMiB; };
    QVERIFY(kindsIn(run).empty());
    run.driver = [](std::uint32_t step) { return 150 * kMiB + step * 20'000; };
    QVERIFY(kindsIn(run).empty());
  }

  void growthSaysWhereItCame() {
    JudgedRun run;
    run.stepMs = 20;
    run.deviceMs = 18;
    run.driver = [](std::uint32_t step) { return (200 + step) * kMiB; };
    run.names.names.push_back({kEvaluation, "evaluation"});
    for (std::uint32_t step = 1; step <= 40; ++step) {
      const std::int64_t ms = JudgedRun::beginMs(step) + 20;
      run.more.namedSpans.emplace_back(ms * kMs, 25 * kMs, step, kEvaluation, kTrainingThread, 0);
      run.more.memorySamples.emplace_back((ms + 20) * kMs, 100 * kMiB, (201 + step) * kMiB,
                                          kRecommended, events::SampleOrigin::Timer);
    }
    const Findings findings = run.judge();
    QVERIFY2(contains(only(findings, FindingKind::DriverGrowth).evidence,
                      "38.0 MiB of it came outside of the steps: evaluation"),
             only(findings, FindingKind::DriverGrowth).evidence.c_str());
  }

  void aCacheThatIsUsedIsNone() {
    JudgedRun run = changed(leaveCache);
    const Findings findings = run.judge();
    const Finding& found = only(findings, FindingKind::CacheAboveLive);
    QCOMPARE(*found.costBytes, 650.0 * static_cast<double>(kMiB));
    QVERIFY2(contains(found.evidence, "the most in use was 700.0 MiB, at step 10"),
             found.evidence.c_str());
    run.current = [](std::uint32_t step) { return (step % 10 == 0 ? 700 : 100) * kMiB; };
    QVERIFY(kindsIn(run).empty());
    run = {};  // 200 MiB for 90 is much, but little of 1 GiB
    run.driver = [](std::uint32_t) { return 190 * kMiB; };
    run.current = [](std::uint32_t) { return 92 * kMiB; };
    QVERIFY(kindsIn(run).empty());
  }

  void cacheSaysWhereItCameFrom() {
    // A large model that was freed before step 1; an evaluation after step 5.
    JudgedRun before;
    before.current = [](auto) { return 100 * kMiB; };
    before.driver = [](auto) { return 750 * kMiB; };
    before.more.memorySamples.emplace_back(kMs, 700 * kMiB, 750 * kMiB, kRecommended,
                                           events::SampleOrigin::Timer);
    const Findings left = before.judge();
    QCOMPARE(kindsOf(left), std::vector<FindingKind>{FindingKind::CacheAboveLive});
    QVERIFY2(contains(left.found[0].evidence, "650.0 MiB of cache were there when step 1 began"),
             left.found[0].evidence.c_str());
    QVERIFY2(contains(left.found[0].advice, "once before the first step"),
             left.found[0].advice.c_str());
    JudgedRun later = before;
    later.more = {};
    later.stepMs = 30;
    later.deviceMs = 28;
    later.driver = [](std::uint32_t step) { return (step <= 5 ? 150 : 750) * kMiB; };
    later.names.names.push_back({kEvaluation, "evaluation"});
    later.more.namedSpans.emplace_back((JudgedRun::beginMs(5) + 31) * kMs, 18 * kMs, 5U,
                                       kEvaluation, kTrainingThread, 0);
    later.more.memorySamples.emplace_back((JudgedRun::beginMs(5) + 48) * kMs, 690 * kMiB,
                                          750 * kMiB, kRecommended, events::SampleOrigin::Timer);
    const Findings evaluated = later.judge();
    QCOMPARE(kindsOf(evaluated), std::vector<FindingKind>{FindingKind::CacheAboveLive});
    QVERIFY2(contains(evaluated.found[0].advice, "(evaluations)"),
             evaluated.found[0].advice.c_str());
  }

  void nearTheLimitSaysInWhichRegion() {
    JudgedRun run;
    run.stepMs = 30;
    run.deviceMs = 28;
    run.driver = [](std::uint32_t) { return 200 * kMiB; };
    run.names.names.push_back({kEvaluation, "evaluation"});
    run.more.namedSpans.emplace_back((JudgedRun::beginMs(5) + 31) * kMs, 18 * kMs, 5U, kEvaluation,
                                     kTrainingThread, 0);
    run.more.memorySamples.emplace_back((JudgedRun::beginMs(5) + 40) * kMs, 900 * kMiB, 990 * kMiB,
                                        kRecommended, events::SampleOrigin::Timer);
    const Findings findings = run.judge();
    QCOMPARE(kindsOf(findings), std::vector<FindingKind>{FindingKind::NearLimit});
    QVERIFY2(contains(findings.found[0].evidence, "not in a step (evaluations)"),
             findings.found[0].evidence.c_str());
    QVERIFY2(!contains(findings.found[0].advice, "accumulated"), findings.found[0].advice.c_str());
  }

  void aHotMachineSaysHowLongAndWhatItChanged() {
    JudgedRun run = changed(heatUp);
    const Findings cool = run.judge();
    const Finding& same = only(cool, FindingKind::ThermalState);
    QVERIFY2(contains(same.title, "serious") && contains(same.title, "for 0.4 s"),
             same.title.c_str());
    QVERIFY2(contains(same.evidence, "fair 0.6 s, serious 0.4 s"), same.evidence.c_str());
    QVERIFY2(contains(same.evidence, "took 50.0 ms then (median of 8) and 50.0 ms otherwise"),
             same.evidence.c_str());
    QCOMPARE(same.weight, 0.0);
    // Steps of 40 ms that take 50 ms while the machine is hot: a fifth of a fifth of the time.
    run.stepMs = 40;
    run.deviceMs = 38;
    run.moreAssemblyMs = [](std::uint32_t step) { return step > 32 ? 10 : 0; };
    const Findings slower = run.judge();
    const Finding& slowed = only(slower, FindingKind::ThermalState);
    QVERIFY2(contains(slowed.evidence, "took 50.0 ms then (median of 8) and 40.0 ms otherwise"),
             slowed.evidence.c_str());
    QVERIFY2(slowed.weight > 0.03 && slowed.weight < 0.05,
             qPrintable(QString::number(slowed.weight)));
    QVERIFY(!slowed.gainMs && !slowed.waitsMs && !slowed.costBytes);
    // Fair is no finding, nor is a moment of serious.
    run = changed([](JudgedRun& warm) {
      warm.thermal = [](std::uint32_t step) {
        return step == 9 ? events::ThermalState::Critical : events::ThermalState::Fair;
      };
    });
    QVERIFY(run.judge().found.empty());
  }

  void lowPowerModeIsANote() {
    JudgedRun run = changed([](JudgedRun& low) {
      low.power = [](std::uint32_t step) {
        return step > 20 ? events::PowerMode::Low : events::PowerMode::Normal;
      };
    });
    const Findings findings = run.judge();
    QCOMPARE(findings.found.size(), std::size_t{1});
    const Finding& found = findings.found[0];
    QCOMPARE(found.kind, FindingKind::LowPowerMode);
    QVERIFY2(contains(found.title, "was on for 1.0 s"), found.title.c_str());
    QVERIFY2(contains(found.evidence, "for 51 % of the time"), found.evidence.c_str());
    QCOMPARE(found.weight, 0.0);
    run.power = [](std::uint32_t) { return events::PowerMode::Low; };
    const Findings whole = run.judge();
    QVERIFY2(contains(whole.found.at(0).title, "is on"), whole.found[0].title.c_str());
    QVERIFY(contains(whole.found[0].advice, "the system's power settings"));
    run.platform = "Linux x86_64";
    QCOMPARE(run.judge().found.at(0).advice, whole.found[0].advice);
    run.platform = "macOS 15.1 arm64";
    const Findings ofMac = run.judge();
    QVERIFY2(contains(ofMac.found.at(0).advice, "(System Settings, Battery)"),
             ofMac.found[0].advice.c_str());
    run.power = [](std::uint32_t) { return events::PowerMode::Normal; };
    QVERIFY(run.judge().found.empty());
  }

  void swapIsPressureToo() {
    JudgedRun run;
    run.footprint = [](std::uint32_t) { return 500 * kMiB; };
    run.swap = [](std::uint32_t step) { return step * 5 * kMiB; };
    const Findings findings = run.judge();
    QCOMPARE(findings.found.size(), std::size_t{1});
    QCOMPARE(findings.found[0].kind, FindingKind::SystemPressure);
    QVERIFY2(contains(findings.found[0].title, "went to swap"), findings.found[0].title.c_str());
    // That something was in swap before the training is no finding, nor is a single sample.
    run.swap = [](std::uint32_t) { return 900 * kMiB; };
    run.pressure = [](std::uint32_t step) {
      return step == 9 ? events::Pressure::Critical : events::Pressure::Normal;
    };
    QVERIFY(kindsIn(run).empty());
  }

  void aNonFiniteLossComesFirst() {
    JudgedRun run = changed(loseLoss);
    run.lossEvery = 5;
    run.current = [](std::uint32_t step) { return 100 * kMiB + step * 20 * kMiB; };
    const Findings findings = run.judge();
    const Finding& found = findings.found.front();
    QCOMPARE(found.kind, FindingKind::NonFiniteLoss);
    QCOMPARE(found.firstStep, 25u);
    QVERIFY2(contains(found.evidence, "4 of 8 losses") && contains(found.evidence, "float32"),
             found.evidence.c_str());
    QVERIFY2(contains(found.advice, "learning rate"), found.advice.c_str());
    run.dtype = "bfloat16";
    QVERIFY2(contains(run.judge().found.front().advice, "keep the softmax"), "bfloat16");
  }

  void float16IsWhatTheStepComputedIn() {
    JudgedRun run = changed(loseLoss);
    run.dtype = "float16";
    const Findings findings = run.judge();
    const Finding& found = only(findings, FindingKind::Float16Unscaled);
    QVERIFY2(contains(found.title, "float16 without loss scaling: the loss was NaN at step 30"),
             found.title.c_str());
    QVERIFY2(contains(found.advice, "bfloat16"), found.advice.c_str());
    // By autocast, and only while it is on: back in float32 before the loss was lost.
    run = changed(autocastToFloat16);
    QCOMPARE(kindsIn(run), KindSet{FindingKind::Float16Unscaled});
    run.more.markers.emplace_back(JudgedRun::beginMs(22) * kMs, 3.0, 1.0, 22U, kNoId,
                                  events::MarkerKind::Precision);
    QCOMPARE(kindsIn(run), KindSet{FindingKind::NonFiniteLoss});
    // Without a lost loss float16 is no finding.
    run = changed(autocastToFloat16);
    run.loss = [](std::uint32_t) { return 1.0F; };
    QVERIFY(kindsIn(run).empty());
  }
};

HIGHWATER_TEST(TestFindingRules, QCoreApplication)
#include "tst_finding_rules.moc"
