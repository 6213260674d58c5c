#include "core/exit_codes.h"
#include "judged_run.h"
#include "support/test_program.h"

using namespace highwater;
using analysis::Finding;
using analysis::FindingKind;
using analysis::Findings;
using analysis::LiveStore;
using events::MarkerKind;
using test::contains;
using test::kindsOf;

namespace {

constexpr char kRefusal[] =
    "MPS backend out of memory (MPS allocated: 96.00 MiB, other allocations: 4.00 MiB, max "
    "allowed: 108.80 MiB). Tried to allocate 27.00 MiB on private pool.";

/// A run whose batch doubles from 16 to 32 at step 30.
LiveStore runOf(std::uint32_t steps) {
  LiveStore store;
  test::feed(test::makeSampleRun({.steps = steps, .ended = false}), store);
  return store;
}

LiveStore scriptOf(std::uint32_t steps) {
  LiveStore store = runOf(steps);
  RunDescription run;
  run.ownScript = true;
  store.apply(run);
  return store;
}

void mark(LiveStore& store, MarkerKind kind, std::uint32_t step, double before, double after) {
  const std::vector<events::Marker> markers = {
      {store.completeUpToNs(), before, after, step, kNoId, kind}};
  EventBatch batch;
  batch.completeUpToNs = store.completeUpToNs();
  batch.markers = markers;
  store.apply(batch);
}

void end(LiveStore& store, RunEnd::Reason reason, int exitCode, const std::string& message,
         const std::string& openOp = {}) {
  RunEnd end;
  end.reason = reason;
  end.exitCode = exitCode;
  end.message = message;
  end.openOp = openOp;
  store.apply(end);
}

/// Of a script that ended with exit code 1 after three steps.
Findings findingsOfExit(RunEnd::Reason reason, const QString& message, const QString& lastLines) {
  LiveStore store = scriptOf(3);
  RunEnd end;
  end.reason = reason;
  end.exitCode = 1;
  end.message = message.toStdString();
  end.lastLines = lastLines.toStdString();
  store.apply(end);
  return analysis::findProblems(store);
}

}  // namespace

class TestEndFindings : public QObject {
  Q_OBJECT

 private slots:
  void outOfMemoryComesFirst() {
    LiveStore store = runOf(60);
    end(store, RunEnd::Reason::kFailed, kExitEndedEarly, kRefusal);
    const Findings findings = analysis::findProblems(store);
    QVERIFY(findings.found.size() > 1);
    const Finding& first = findings.found.front();
    QCOMPARE(first.kind, FindingKind::OutOfMemory);
    QCOMPARE(findingKey(first.kind), std::string_view("out_of_memory"));
    QCOMPARE(first.title,
             std::string("Out of memory: the run ended in step 60 with batch size 32, sequence "
                         "length 64"));
    QCOMPARE(first.evidence,
             std::string("requested 27.0 MiB, allocated 96.0 MiB, other allocations 4.0 MiB, max "
                         "allowed 108.8 MiB; step 29 fitted with batch size 16, sequence length "
                         "64"));
    QCOMPARE(first.weight, 1.0);
    QVERIFY(contains(first.advice, "--on-out-of-memory halve"));
  }

  void needsNoStep() {
    LiveStore store = runOf(1);
    end(store, RunEnd::Reason::kFailed, kExitEndedEarly, kRefusal);
    const Findings findings = analysis::findProblems(store);
    QCOMPARE(findings.steps, std::uint64_t{0});
    QCOMPARE(kindsOf(findings), std::vector<FindingKind>{FindingKind::OutOfMemory});
    QVERIFY(!contains(findings.found.front().evidence, "fitted"));
  }

  /// tst_refused_dtype has the messages of other dtypes.
  void aRefusedDtypeIsNamed() {
    const std::string message =
        "step 4 failed: Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't "
        "support float64. Please use float32 instead.";
    LiveStore store = runOf(3);
    end(store, RunEnd::Reason::kFailed, kExitFailed, message);
    const Findings findings = analysis::findProblems(store);
    QCOMPARE(kindsOf(findings), std::vector<FindingKind>{FindingKind::RefusedDtype});
    const Finding& found = findings.found.front();
    QCOMPARE(found.title, std::string("MPS has no float64: the run ended in step 3"));
    QCOMPARE(found.evidence, message);
    QVERIFY2(contains(found.advice, "x.to(torch.float32)"), found.advice.c_str());
    // A run that trained to its end may have printed the same words.
    LiveStore finished = runOf(3);
    end(finished, RunEnd::Reason::kFinished, 0, message);
    QVERIFY(analysis::findProblems(finished).found.empty());
  }

  void aMissingOpIsNamed() {
    const std::string message =
        "NotImplementedError: The operator 'aten::_pdist_forward' is not currently implemented for "
        "the MPS device. As a temporary fix, you can set the environment variable "
        "`PYTORCH_ENABLE_MPS_FALLBACK=1` to use the CPU as a fallback for this op. (train.py:24)";
    LiveStore store = scriptOf(3);
    end(store, RunEnd::Reason::kFailed, kExitFailed, message + ", caused by KeyError: 'a (b:1)'");
    const Findings findings = analysis::findProblems(store);
    QCOMPARE(kindsOf(findings), std::vector<FindingKind>{FindingKind::MissingOp});
    const Finding& found = findings.found.front();
    QCOMPARE(found.title,
             std::string("MPS has no aten::_pdist_forward: the run ended after step 3"));
    QCOMPARE(found.line, std::string("train.py:24"));
    QCOMPARE(found.ops, std::vector<std::string>{"aten::_pdist_forward"});
    QVERIFY(contains(found.advice, "PYTORCH_ENABLE_MPS_FALLBACK=1"));
  }

  void anEvaluationMayRunOutOfMemory() {
    LiveStore store = scriptOf(3);
    const std::string message = std::string("RuntimeError: ") + kRefusal + " (eval.py:7)";
    store.apply(Failure{Failure::Kind::kFailed, message, true});
    end(store, RunEnd::Reason::kFailed, kExitFailed, message);
    const Finding found = analysis::findProblems(store).found.front();
    QCOMPARE(found.title,
             std::string("Out of memory: the run ended in an evaluation after step 3"));
    QCOMPARE(found.line, std::string("eval.py:7"));
    QVERIFY2(contains(found.advice, "only their sums"), found.advice.c_str());
    QVERIFY2(!contains(found.advice, "accumulated"), found.advice.c_str());
    RunDescription run;
    run.ownScript = true;
    run.signs = {{std::string(kEvaluationGradientsSign), "eval.py:5"}};
    store.apply(run);
    const Finding told = analysis::findProblems(store).found.front();
    QVERIFY2(told.advice.starts_with("evaluate under torch.no_grad()"), told.advice.c_str());
    QVERIFY2(contains(told.advice, "eval.py:5"), told.advice.c_str());
  }

  void aTensorMayBeTooLargeForABuffer() {
    LiveStore store = scriptOf(3);
    const std::string message =
        "RuntimeError: Invalid buffer size: 9.75 GB (model.py:29, called at train.py:45)";
    end(store, RunEnd::Reason::kFailed, kExitFailed, message);
    const Finding found = analysis::findProblems(store).found.front();
    QCOMPARE(found.title, std::string("A tensor of 9.75 GiB is larger than one buffer may be: the "
                                      "run ended after step 3"));
    QCOMPARE(found.line, std::string("model.py:29"));
    QVERIFY2(contains(found.evidence, "train.py:45"), found.evidence.c_str());
  }

  void theLongestSequenceMayBeTheCause_data() {
    QTest::addColumn<std::uint32_t>("steps");
    QTest::addColumn<std::uint32_t>("length");
    QTest::addColumn<bool>("isCause");
    QTest::newRow("far longer") << 8U << 1000U << true;
    QTest::newRow("a little longer") << 8U << 70U << false;
    QTest::newRow("few steps to compare with") << 2U << 1000U << false;
    QTest::newRow("unknown") << 8U << 0U << false;
  }
  void theLongestSequenceMayBeTheCause() {
    QFETCH(std::uint32_t, steps);
    QFETCH(std::uint32_t, length);
    QFETCH(bool, isCause);
    LiveStore store = scriptOf(steps);
    RunDescription run = *store.run();
    run.openBatchSize = 16;
    run.openSequenceLength = length;
    store.apply(run);
    end(store, RunEnd::Reason::kFailed, kExitFailed, kRefusal);
    const Finding found = analysis::findProblems(store).found.front();
    QVERIFY2(contains(found.title, "sequence length " + std::to_string(length)) || length == 0,
             found.title.c_str());
    QCOMPARE(contains(found.advice, "a few long samples"), isCause);
    QCOMPARE(contains(found.evidence, "the steps before had sequence length"), isCause);
  }

  void theLogitsOfAVocabularyAreNamed_data() {
    QTest::addColumn<QString>("requested");
    QTest::addColumn<bool>("isNamed");
    QTest::newRow("8 x 1024 x 50257") << "1.53 GiB" << true;
    QTest::newRow("16 heads' scores") << "512.00 MiB" << false;
    QTest::newRow("hidden layer") << "128.00 MiB" << false;
  }
  void theLogitsOfAVocabularyAreNamed() {
    QFETCH(QString, requested);
    QFETCH(bool, isNamed);
    LiveStore store = scriptOf(0);
    RunDescription run = *store.run();
    run.openBatchSize = 8;
    run.openSequenceLength = 1024;
    store.apply(run);
    end(store, RunEnd::Reason::kFailed, kExitFailed,
        "RuntimeError: MPS backend out of memory (MPS allocated: 17.00 GiB, other allocations: "
        "1.00 "
        "GiB, max allowed: 18.13 GiB). Tried to allocate " +
            requested.toStdString() +
            " on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for "
            "memory allocations (may cause system failure).");
    const Finding found = analysis::findProblems(store).found.front();
    QCOMPARE(contains(found.evidence, "as the logits of so many words"), isNamed);
    QCOMPARE(contains(found.advice, "in parts of the batch or the sequence"), isNamed);
  }

  void aStepMayHoldManyForwardPasses_data() {
    QTest::addColumn<int>("moreInEach");  // than the one of scriptOf()
    QTest::addColumn<int>("moreInFirst");
    QTest::addColumn<bool>("hasBackward");
    QTest::addColumn<QString>("advice");
    const QString often =
        "since the last step the model was called 4 times with gradients and no backward came, far "
        "more than a step has; each call keeps what its backward needs as long as its output "
        "lives: ";
    QTest::newRow("four where others have one") << 0 << 0 << false << often + "if each has a loss";
    QTest::newRow("as in the first step, where a pool was scored")
        << 0 << 3 << false << often + "if these calls train nothing";
    QTest::newRow("with a backward") << 0 << 0 << true << "use a smaller batch";
    QTest::newRow("a model that is called in parts") << 1 << 1 << false << "use a smaller batch";
  }

  void aStepMayHoldManyForwardPasses() {
    QFETCH(int, moreInEach);
    QFETCH(int, moreInFirst);
    QFETCH(bool, hasBackward);
    QFETCH(QString, advice);
    LiveStore store = scriptOf(3);
    const std::int64_t fromNs = endNsOf(store.steps().records.back());
    test::OwnedBatch batch;
    for (const events::StepRecord& step : store.steps().records) {
      for (int i = 0; i < (step.step() == 1 ? moreInFirst : moreInEach); ++i) {
        batch.phases.emplace_back(step.begin_ns() + i, 1, step.step(), kTrainingThread,
                                  events::Phase::Forward);
      }
    }
    for (int i = 0; i < 4; ++i) {
      batch.phases.emplace_back(fromNs + (2 * i + 1) * kMs, kMs, 4, kTrainingThread,
                                events::Phase::Forward);
    }
    if (hasBackward) {
      batch.phases.emplace_back(fromNs + 20 * kMs, kMs, 4, kTrainingThread,
                                events::Phase::Backward);
    }
    store.apply(batch.view());
    end(store, RunEnd::Reason::kFailed, kExitFailed, kRefusal);
    const Finding found = analysis::findProblems(store).found.front();
    QVERIFY2(found.advice.starts_with(advice.toStdString()), found.advice.c_str());
  }

  void theFirstOptimizerStepMayNotFit() {
    LiveStore store = scriptOf(0);
    RunDescription run = *store.run();
    run.openInOptimizer = true;
    run.optimizer = "AdamW";
    run.parameters = std::uint64_t{1} << 28;
    run.dtype = "float32";
    store.apply(run);
    end(store, RunEnd::Reason::kFailed, kExitFailed, kRefusal);
    const Finding found = analysis::findProblems(store).found.front();
    QVERIFY2(contains(found.title, "in the optimizer's step (AdamW)"), found.title.c_str());
    QVERIFY2(contains(found.advice, "1.00 GiB of weights in float32"), found.advice.c_str());
    QVERIFY2(!contains(found.advice, "smaller batch"), found.advice.c_str());
  }

  void aRefusedDtypeMayBeInTheLastLines() {
    const Findings findings = findingsOfExit(
        RunEnd::Reason::kExited, "python exited with 1",
        "Traceback (most recent call last):\n"
        "  File \"torch/amp/grad_scaler.py\", line 335, in unscale_\nTypeError: Cannot convert a "
        "MPS Tensor to float64 dtype as the MPS framework doesn't support float64. Please use "
        "float32 instead.");
    QCOMPARE(kindsOf(findings), std::vector<FindingKind>{FindingKind::RefusedDtype});
    QVERIFY(contains(findings.found[0].evidence, "python exited with 1; Cannot convert"));
    QVERIFY(contains(findings.found[0].advice, "update PyTorch"));
  }

  void onlyTheLastErrorEndsARun_data() {
    QTest::addColumn<QString>("refusal");
    QTest::addColumn<FindingKind>("kind");
    QTest::newRow("dtype") << "TypeError: Cannot convert a MPS Tensor to float64 dtype as the MPS "
                              "framework doesn't support float64. Please use float32 instead."
                           << FindingKind::RefusedDtype;
    QTest::newRow("memory") << "RuntimeError: MPS backend out of memory (MPS allocated: 1.50 GiB). "
                               "Tried to allocate 1.00 GiB on private pool."
                            << FindingKind::OutOfMemory;
  }
  void onlyTheLastErrorEndsARun() {
    QFETCH(QString, refusal);
    QFETCH(FindingKind, kind);
    const QString traceback = "Traceback (most recent call last):\n  File \"train.py\", line 7\n";
    const QString other = "KeyError: 'labels'";
    const QString handledFirst = "warning: " + refusal + "\n" + traceback + refusal + "\n";
    const auto found = [](RunEnd::Reason reason, const QString& message, const QString& lines) {
      return kindsOf(findingsOfExit(reason, message, lines));
    };
    const std::vector<FindingKind> none, one{kind};
    using Reason = RunEnd::Reason;
    const QString silent = "python exited with 1 without saying why";
    // The refusal was handled, and the program died of another exception.
    QCOMPARE(found(Reason::kFailed, other + " (train.py:7)", handledFirst + traceback + other),
             none);
    QCOMPARE(found(Reason::kExited, silent, handledFirst + traceback + other), none);
    QCOMPARE(found(Reason::kExited, silent, "warning: " + refusal), none);
    // The other way round.
    const QString refusedLast = traceback + other + "\n" + traceback + refusal;
    QCOMPARE(found(Reason::kFailed, refusal + " (train.py:7)", refusedLast), one);
    QCOMPARE(found(Reason::kExited, silent, refusedLast), one);
  }

  void aRefusalMayBeTheCauseOfTheLastError_data() {
    QTest::addColumn<QString>("beforeIt");
    QTest::addColumn<QString>("between");
    QTest::addColumn<bool>("isCause");
    const QString cause =
        "\nThe above exception was the direct cause of the following exception:\n\n";
    const QString context =
        "\nDuring handling of the above exception, another exception occurred:\n\n";
    const QString traceback = "Traceback (most recent call last):\n  File \"train.py\", line 7\n";
    QTest::newRow("raised from it") << traceback << cause << true;
    QTest::newRow("raised from what was raised from it")
        << traceback << cause + traceback + "ValueError: no batch\n" + cause << true;
    QTest::newRow("the beginning of its traceback is lost") << "  File \"train.py\", line 9\n"
                                                            << cause << true;
    // The program had caught it.
    QTest::newRow("another error while it was handled") << traceback << context << false;
    QTest::newRow("handled before the cause")
        << traceback << context + traceback + "ValueError: no batch\n" + cause << false;
    QTest::newRow("printed before") << traceback << "\n" << false;
  }
  void aRefusalMayBeTheCauseOfTheLastError() {
    QFETCH(QString, beforeIt);
    QFETCH(QString, between);
    QFETCH(bool, isCause);
    const QString last =
        "Traceback (most recent call last):\n  File \"train.py\", line 12\nRuntimeError: epoch "
        "failed";
    const auto found = [&](const QString& refusal) {
      return findingsOfExit(RunEnd::Reason::kExited, "python exited with 1",
                            beforeIt + refusal + '\n' + between + last)
          .found;
    };
    const auto memory = found(
        "RuntimeError: MPS backend out of memory (MPS allocated: 1.50 GiB). Tried to allocate 1.00 "
        "GiB on private pool.");
    const auto dtype = found(
        "TypeError: Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't "
        "support float64. Please use float32 instead.");
    QCOMPARE(memory.size(), std::size_t{isCause});
    QCOMPARE(dtype.size(), std::size_t{isCause});
    if (!isCause) return;
    QCOMPARE(memory[0].kind, FindingKind::OutOfMemory);
    QVERIFY2(contains(memory[0].evidence, "requested 1.00 GiB"), memory[0].evidence.c_str());
    QCOMPARE(dtype[0].kind, FindingKind::RefusedDtype);
  }

  void aHangNamesItsOp() {
    LiveStore store = runOf(3);
    end(store, RunEnd::Reason::kHung, 0, "highwater-worker stopped responding", "aten::copy_");
    const Findings findings = analysis::findProblems(store);
    QCOMPARE(kindsOf(findings), std::vector<FindingKind>{FindingKind::Hung});
    QCOMPARE(findings.found[0].title, std::string("Hung: the run stood still in step 3 in "
                                                  "aten::copy_"));
    QVERIFY(contains(findings.found[0].evidence, "stopped responding; batch size 16"));
  }

  /// A wait for a batch that is larger than those before it, as where a sweep is stopped.
  void aLongStepIsNoHang() {
    for (const bool stoodStill : {false, true}) {
      LiveStore store = runOf(3);
      test::OwnedBatch batch;
      const std::int64_t second = 1'000'000'000, from = store.completeUpToNs();
      batch.steps = {events::StepRecord(from, second, 1, 1, -1, 4, 64, 64, 4096, 0, 0, 1)};
      const std::int64_t open = stoodStill ? 5 * second : 3 * second;
      const std::int64_t now = from + second + open;
      batch.openSpans.emplace_back(from + second, now, 5, test::kCopy, 1, 0,
                                   events::Phase::Forward);
      batch.heartbeats.emplace_back(now, 5, 0);
      batch.completeUpToNs = now;
      store.apply(batch.view());
      end(store, RunEnd::Reason::kAborted, 0, "ended by highwater", "aten::copy_");
      QCOMPARE(!analysis::findProblems(store).found.empty(), stoodStill);
    }
  }

  void otherEndsAreNoFinding_data() {
    QTest::addColumn<int>("reason");
    QTest::addColumn<int>("exitCode");
    using Reason = RunEnd::Reason;
    QTest::newRow("finished") << int(Reason::kFinished) << 0;
    QTest::newRow("stopped") << int(Reason::kStopped) << 0;
    QTest::newRow("failed") << int(Reason::kFailed) << int(kExitFailed);
    QTest::newRow("crashed") << int(Reason::kCrashed) << 0;
    QTest::newRow("window closed") << int(Reason::kAborted) << 0;
  }
  void otherEndsAreNoFinding() {
    QFETCH(int, reason);
    QFETCH(int, exitCode);
    LiveStore store = runOf(3);
    end(store, static_cast<RunEnd::Reason>(reason), exitCode, "as it was");
    QVERIFY(analysis::findProblems(store).found.empty());
  }

  void countsRecoveries() {
    LiveStore store = runOf(3);
    QVERIFY(analysis::findProblems(store).found.empty());
    for (int i = 0; i < 3; ++i) mark(store, MarkerKind::OutOfMemory, 2, 28311552, 114085068);
    mark(store, MarkerKind::Recovered, 2, 64, 8);
    mark(store, MarkerKind::OutOfMemory, 3, 28311552, 114085068);
    mark(store, MarkerKind::Recovered, 3, 32, 16);
    const Findings findings = analysis::findProblems(store);
    QCOMPARE(kindsOf(findings), std::vector<FindingKind>{FindingKind::Recovered});
    const Finding& note = findings.found.front();
    QCOMPARE(note.title, std::string("Out of memory 4 times, and the training went on"));
    QCOMPARE(note.count, std::uint64_t{2});
    QCOMPARE(note.weight, 0.0);
    QVERIFY2(contains(note.evidence, "memory ran out 4 times") &&
                 contains(note.evidence, "batch size 64 \u2192 8"),
             note.evidence.c_str());
  }

  void aRecoveryThatFailedIsOutOfMemory() {
    LiveStore store = runOf(3);
    mark(store, MarkerKind::OutOfMemory, 4, 28311552, 0);
    std::string message = "step 4 ran out of memory with batch size 1, sequence length 64: ";
    message += kRefusal;
    end(store, RunEnd::Reason::kFailed, kExitEndedEarly, message);
    const Findings findings = analysis::findProblems(store);
    QCOMPARE(kindsOf(findings), std::vector<FindingKind>{FindingKind::OutOfMemory});
    QVERIFY(contains(findings.found[0].title, "in step 4"));
  }
};

HIGHWATER_TEST(TestEndFindings, QCoreApplication)
#include "tst_end_findings.moc"
