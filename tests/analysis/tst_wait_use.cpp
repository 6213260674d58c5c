#include "analysis/findings/wait_use.h"
#include "support/test_program.h"
#include "support/text.h"

using namespace highwater;
using namespace highwater::test;
using namespace highwater::analysis;
using events::Phase;
using events::SyncKind;

namespace {

/// A wait of a script between forward and backward, at a line with this text.
WaitCase waitAt(const char* text, SyncKind kind = SyncKind::ScalarRead, std::uint64_t bytes = 4) {
  WaitCase wait;
  wait.op = "aten::_local_scalar_dense";
  wait.kind = kind;
  wait.after = Phase::Forward;
  wait.bytesEach = bytes;
  wait.ownScript = true;
  wait.site.line = "train.py:9";
  wait.site.text = text;
  return wait;
}

WaitCase ofOp(const char* op, SyncKind kind) {
  WaitCase wait = waitAt("", kind);
  wait.op = op;
  return wait;
}

WaitCase inLibrary(const char* library) {
  WaitCase wait = waitAt("scaler.step(optimizer)");
  wait.site.library = library;
  return wait;
}

}  // namespace

class TestWaitUse : public QObject {
  Q_OBJECT

 private slots:
  void theLineSaysWhatItReadsFor_data() {
    QTest::addColumn<WaitCase>("wait");
    QTest::addColumn<QString>("says");
    QTest::addColumn<bool>("isLog");
    const auto row = [](const char* name, const WaitCase& wait, const char* says,
                        bool isLog = false) {
      QTest::newRow(name) << wait << QString::fromUtf8(says) << isLog;
    };
    const char* log = "only every few steps; until then sum up";
    row("print", waitAt("print(step, loss.item())"), log, true);
    row("running sum", waitAt("total += loss.item()"), log, true);
    row("writer", waitAt("writer.add_scalar(\"loss\", loss, step)"), log, true);
    row("kept loss", waitAt("last = loss.item()"), log, true);
    row("condition", waitAt("if loss.item() > 100:"), "torch.where in place of an if");
    row("flag", waitAt("", SyncKind::ScalarRead, 1), "torch.where in place of an if");
    row("size", waitAt("count = int(lengths.max())"), "a fixed size and a mask");
    row("slice", waitAt("loss = out[:count].square().mean()"), "a fixed size and a mask");
    row("unknown", waitAt(""), "if the step needs the value");
    row("scaler", inLibrary("torch/amp/grad_scaler.py:457 GradScaler.step"),
        "bfloat16 needs no scaler");
    WaitCase check = waitAt("if dist.Normal(mean, std).log_prob(x).sum() > 0:");
    check.site.library = "distributions/distribution.py:76 Distribution.__init__";
    row("check of arguments", check, "set_default_validate_args(False)");
    row("bincount", ofOp("aten::bincount", SyncKind::ValueRead), "scatter_add_");
    row("nonzero", ofOp("aten::nonzero", SyncKind::Nonzero), "masked_fill");
    row("cache", ofOp("torch.mps.empty_cache", SyncKind::Synchronize), "once an epoch");
    row("timer", ofOp("torch.mps.synchronize", SyncKind::Synchronize), "To measure times");
    row("made on the CPU", ofOp("aten::copy_", SyncKind::CopyToDevice), "the same in each step");
    row("made of numbers", waitAt("x = torch.tensor(row, device=device)", SyncKind::CopyToDevice),
        "a copy from the CPU each time");
    WaitCase sample = waitAt("return torch.tensor(row, device=device)", SyncKind::CopyToDevice);
    sample.phase = Phase::BatchAssembly;
    sample.aStep = 32;
    row("samples", sample, "move the whole batch in one copy");
    sample.batch = 512;
    row("parts of a batch", sample, "a copy from the CPU each time");
    sample.aStep = 1;
    row("batch", sample, "a copy from the CPU each time");
    row("output", waitAt("out = model(x).cpu()", SyncKind::CopyToHost, 1 << 19),
        "do on the device");
    WaitCase gradient = waitAt("flat = grad.cpu().numpy()", SyncKind::CopyToHost, 1 << 19);
    gradient.phase = Phase::Backward;
    row("a gradient", gradient, "norm(), histc()");
    row("a tensor for a number", waitAt("g = g.sub(w, alpha=scale)"), "multiply by the tensor");
    row("a literal", waitAt("if focal_loss(x, y, alpha=0.25) > best:"), "decide on the device");
    row("a log", waitAt("run.log(name=\"loss\", value=loss)"), log, true);
    WaitCase weights = waitAt("new = p.detach().cpu()", SyncKind::CopyToHost, 1 << 14);
    weights.after = Phase::OptimizerStep;
    weights.allWeights = true;
    row("weights", weights, "AveragedModel");
    weights.phase = Phase::OptimizerStep;
    row("gradients", weights, "copy that once an epoch");
    WaitCase loss = waitAt("out = model(x).cpu()", SyncKind::CopyToHost, 1 << 19);
    loss.copiedBack = true;
    row("loss on the CPU", loss, "compute it on the device");
    WaitCase kept = waitAt("rows = scores.detach().cpu()", SyncKind::CopyToHost, 1 << 22);
    kept.after = Phase::OptimizerStep;
    row("kept", kept, "copy that once an epoch");
    WaitCase late = waitAt("");
    late.after = Phase::OptimizerStep;
    row("after the step, no text", late, log, true);
  }
  void theLineSaysWhatItReadsFor() {
    QFETCH(WaitCase, wait);
    QFETCH(QString, says);
    QFETCH(bool, isLog);
    const WaitUse use = useOf(wait);
    QVERIFY2(contains(std::string(use.advice), says.toStdString()), use.advice.data());
    QCOMPARE(use.isLog, isLog);
    QCOMPARE(use.kind == FindingKind::ChattyLogging, isLog);
  }

  void textOfTensorsIsToldFromReadsOfValues() {
    for (const char* text : {"logger.debug(f\"scale {scale}\")", "print(x)", "s = str(x)"}) {
      QVERIFY2(formats(text), text);
    }
    for (const char* text : {"print(loss.item())", "y = math.log(x[i])", "if x[i] > 0:"}) {
      QVERIFY2(!formats(text), text);
    }
  }

  /// The built-in workload is Highwater's own: no advice on Python.
  void theBuiltInWorkloadHasNoPython() {
    WaitCase wait = waitAt("");
    wait.ownScript = false;
    QVERIFY(!contains(std::string(useOf(wait).advice), "torch"));
    wait.phase = Phase::LossRead;
    QVERIFY(useOf(wait).isLog);
  }
};

HIGHWATER_TEST(TestWaitUse, QCoreApplication)

#include "tst_wait_use.moc"
