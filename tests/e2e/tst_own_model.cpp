// A TorchScript file of the user's: the example of docs/own-model.md, and files that do not fit.
#include <signal.h>

#include <QRegularExpression>

#include "analysis/live_store.h"
#include "core/exit_codes.h"
#include "e2e/runs.h"
#include "run/recording_loader.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;

namespace {

/// The code block of docs/own-model.md in a language.
QString exampleIn(const QString& language) {
  QFile page(QStringLiteral(HIGHWATER_SOURCE_DIR "/docs/own-model.md"));
  if (!page.open(QIODevice::ReadOnly)) return {};
  const QRegularExpression block(QStringLiteral("```%1\\n(.*?)```").arg(language),
                                 QRegularExpression::DotMatchesEverythingOption);
  return block.match(QString::fromUtf8(page.readAll())).captured(1);
}

/// Models that the tests of errors use, each saved under its own name.
constexpr char kModels[] = R"(
import torch
from torch import nn

class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)
    def forward(self, inputs):
        return {"logits": self.layer(inputs), "loss": self.layer(inputs).square().mean()}

class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(16, 4096)
        self.norm = nn.BatchNorm1d(16)
        self.register_buffer("steps", torch.zeros(1))
    def forward(self, inputs):
        if self.training:
            self.steps.add_(1.0)
        tracked = self.norm.num_batches_tracked
        counted = self.steps.sum()
        if self.training and tracked is not None:
            counted = counted + tracked
        return self.layer(self.norm(inputs)).square().mean() * 0.0 + counted

class Stuck(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)
    def forward(self, inputs):
        rows = 1
        while rows > 0:
            rows += 1
        return self.layer(inputs).sum() + float(rows)

torch.jit.script(Stuck()).save("stuck.pt")
torch.jit.script(Counts()).save("counts.pt")
torch.jit.script(nn.Linear(4, 2)).save("plain.pt")
torch.jit.script(nn.ReLU()).save("bare.pt")
torch.jit.script(Pair()).save("pair.pt")
torch.save(nn.Linear(4, 2).state_dict(), "weights.pt")
)";

}  // namespace

class TestOwnModel : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;

  [[nodiscard]] QString path(const QString& name) const { return folder_.filePath(name); }
  void write(const QString& name, const QString& text) const {
    QFile file(path(name));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(text.toUtf8());
  }
  void python(const QString& code) const {
    write("make_models.py", code);  // torch.jit.script reads the sources of what it compiles
    QProcess process;
    process.setWorkingDirectory(folder_.path());
    process.start(QStringLiteral(HIGHWATER_PYTHON), {"-W", "ignore", "make_models.py"});
    QVERIFY(process.waitForFinished(kWaitMs));
    QVERIFY2(process.exitCode() == 0, process.readAllStandardError().constData());
  }
  [[nodiscard]] Outcome record(const QString& model, const QStringList& options = {},
                               const QStringList& environment = {}) const {
    return runHighwater(QStringList{"record", "--device", "sim", "--workload", path(model), "-o",
                                    path("run.highwater"), "--force"} +
                            options,
                        environment);
  }

 private slots:
  void initTestCase() { python(kModels); }

  void saysThatAModelDoesNotReturn() {
    write("stuck.json", R"({"inputs": [{"shape": ["batch", 4], "dtype": "float32"}],
                            "loss": "of_model"})");
    const QString said = "the training has stood in the load and first call of stuck.pt for ";
    QProcess program;
    program.setProcessEnvironment(test::environmentWith({"HIGHWATER_HANG_TIMEOUT_MS=3000"}));
    program.setStandardInputFile(QProcess::nullDevice());
    program.start(QStringLiteral(HIGHWATER_BIN_DIR "/highwater"),
                  {"record", "--device", "sim", "--workload", path("stuck.pt"), "-o",
                   path("stuck.highwater")});
    QByteArray errors;
    const auto hasSaid = [&] { return (errors += program.readAllStandardError()).contains('\n'); };
    QTRY_VERIFY_WITH_TIMEOUT(hasSaid(), kWaitMs);
    QVERIFY2(errors.contains(said.toUtf8()) && errors.contains("; Ctrl+C ends the run\n"),
             errors.constData());
    QCOMPARE(::kill(static_cast<pid_t>(program.processId()), SIGINT), 0);
    QVERIFY(program.waitForFinished(kWaitMs));
    QVERIFY(!QFile::exists(path("stuck.highwater")));
  }

  void trainsTheExampleOfTheDocs() {
    python(exampleIn("python"));
    write("tagger.json", exampleIn("json"));
    // The example's command, with the test's paths.
    QStringList options = exampleIn("sh").section(u'\n', 0, 0).split(u' ');
    QVERIFY(options.removeOne("highwater") && options.removeOne("record"));
    for (const QString& own : {QStringLiteral("--workload"), QStringLiteral("-o")}) {
      const auto at = options.indexOf(own);
      QVERIFY(at >= 0);
      options.remove(at, 2);
    }
    const Outcome run = record("tagger.pt", options);
    QVERIFY2(run.exitCode == 0, qPrintable(run.err));

    analysis::LiveStore store;
    QVERIFY(run::loadRecording(path("run.highwater").toStdString(), store));
    QCOMPARE(QString::fromStdString(store.run()->model), QStringLiteral("Tagger"));
    QVERIFY(store.run()->parameters > 64'000);
    QCOMPARE(store.run()->maxSequenceLength, 256U);
    const auto& steps = store.steps().records;
    QCOMPARE(steps.size(), 20U);
    for (const events::StepRecord& each : steps) {
      QCOMPARE(each.batch_size(), each.step() < 8 ? 8U : 16U);
      QCOMPARE(each.sequence_length(), each.step() < 12 ? 32U : 64U);
    }
    QVERIFY(steps.front().loss_read() && steps.back().loss_read());
    QVERIFY(steps.front().loss() > 0);
    // The inputs are random: only memory of the targets' frequencies can be learned.
    QVERIFY(steps.back().loss() < 2 * steps.front().loss());
    QVERIFY(store.hello()->device.simulated);
    QVERIFY(steps.back().peak_current_bytes() > steps.front().peak_current_bytes());
    QVERIFY(!store.phases().empty());
    const QString report = test::reportText(path("run.highwater"));
    QVERIFY2(report.contains("tagger.pt, model Tagger, float32"), qPrintable(report));
    QVERIFY2(report.contains("random values, batch size 8, sequence length 32 at step 1"),
             qPrintable(report));
  }

  /// The loss counts the forward passes, by a buffer of its own and by the one of BatchNorm.
  void aDroppedStepAdvancesNoBuffer() {
    write("counts.json",
          R"({"inputs": [{"shape": ["batch", 16], "dtype": "float32"}], "loss": "of_model"})");
    const Outcome run = record(
        "counts.pt", {"--steps", "12", "--batch", "8", "--seq", "1", "--loss-every", "1",
                      "--sim-recommended-max", "16MiB", "--on-out-of-memory", "halve", "--set",
                      "3:batch=4096", "--set", "6:batch=4000", "--set", "9:batch=3000"});
    QVERIFY2(run.exitCode == 0, qPrintable(run.err));
    analysis::LiveStore store;
    QVERIFY(run::loadRecording(path("run.highwater").toStdString(), store));
    int refusals = 0;
    for (const events::Marker& each : store.markers()) {
      if (each.kind() == events::MarkerKind::OutOfMemory) ++refusals;
    }
    QVERIFY2(refusals >= 3, qPrintable(QString::number(refusals)));
    QCOMPARE(store.steps().records.size(), 12U);
    for (const events::StepRecord& each : store.steps().records) {
      // The loss is computed before BatchNorm counts the step.
      QCOMPARE(each.loss(), static_cast<float>(2 * each.step() - 1));
    }
  }
  void takesAnOutputByItsKeyAndTheModelsOwnLoss() {
    for (const char* json :
         {R"({"inputs": [{"shape": ["batch", 4], "dtype": "float32"}], "output": "logits",
              "target": {"shape": ["batch"], "dtype": "int64", "high": 2}, "loss": "cross_entropy"})",
          R"({"inputs": [{"shape": ["batch", 4], "dtype": "float32"}], "output": "loss",
              "loss": "of_model", "optimizer": "sgd"})"}) {
      write("pair.json", json);
      const Outcome run = record("pair.pt", {"--steps", "3"});
      QVERIFY2(run.exitCode == 0, qPrintable(run.err));
    }
  }

  void comparesTheDevices() {
    write("plain.json", R"({"inputs": [{"shape": ["batch", 4], "dtype": "float32"}],
        "target": {"shape": ["batch"], "dtype": "int64", "high": 2}, "loss": "cross_entropy"})");
    const Outcome run =
        runHighwater({"benchmark", "--device", "sim", "--json", "--only", "step,drift", "--rounds",
                      "1", "--workload", path("plain.pt")});
    QVERIFY2(run.exitCode == 0, qPrintable(run.err));
    const QJsonObject json = jsonOf(run);
    QCOMPARE(json["timings"].toArray().size(), 1);
    const QJsonObject drift = json["drift"].toObject();
    QVERIFY2(drift["no_float64"].isNull(), qPrintable(drift["no_float64"].toString()));
    QCOMPARE(drift["loss"].toArray().size(), 4);
    const QString verdict = drift["verdict"].toString();
    QVERIFY2(verdict == "equal" || verdict == "rounding", qPrintable(verdict));
    QCOMPARE(drift["outputs"].toArray().size(), 1);
    QCOMPARE(drift["gradients"].toArray().size(), 1);
  }

  void saysWhatWouldFallBack() {
    write("plain.json", R"({"inputs": [{"shape": ["batch", 4], "dtype": "float32"}],
        "target": {"shape": ["batch", 2], "dtype": "float32"}, "loss": "mse_loss"})");
    const Outcome fine =
        runHighwater({"doctor", "--device", "sim", "--workload", path("plain.pt")});
    QVERIFY2(fine.exitCode == 0 && fine.out.contains("plain.pt"), qPrintable(fine.out + fine.err));
  }

  void refuses_data() {
    QTest::addColumn<QString>("model");
    QTest::addColumn<QString>("json");
    QTest::addColumn<QStringList>("options");
    QTest::addColumn<QString>("message");
    const QString input = R"({"inputs": [{"shape": ["batch", %1], "dtype": "float32"}],
        "target": {"shape": ["batch", %2], "dtype": "float32"}, "loss": "%3"})";
    const QString good = input.arg("4", "2", "mse_loss");
    const QStringList none;
    QTest::newRow("no TorchScript") << "weights.pt" << good << none << "is no TorchScript file";
    QTest::newRow("nothing to train") << "bare.pt" << good << none << "no parameters to train";
    QTest::newRow("shapes")
        << "plain.pt" << input.arg("3", "2", "mse_loss") << none
        << "does not take the inputs of \"plain.json\", here of the shapes [2, 3]: mat1 and mat2";
    QTest::newRow("target") << "plain.pt" << input.arg("4", "3", "mse_loss") << none
                            << "the target has the shape [2, 3]";
    QTest::newRow("loss") << "plain.pt" << input.arg("4", "2", "cross_entropy") << none
                          << "does not fit the model's output of the shape [2, 2]";
    QTest::newRow("output") << "pair.pt" << good << none << "the model's output is no tensor";
    QTest::newRow("preset") << "plain.pt" << good << QStringList{"--preset", "base"}
                            << "--preset is of the workload issue-classifier";
    QTest::newRow("a length later") << "plain.pt" << good << QStringList{"--set", "2:seq=5"}
                                    << "sequence length 5 is out of range";
    QTest::newRow("no such workload") << "model.onnx" << good << none << "whose name ends in .pt";
  }

  void refuses() {
    QFETCH(QString, model);
    QFETCH(QString, json);
    QFETCH(QStringList, options);
    QFETCH(QString, message);
    const QString description = model.section(u'.', 0, 0) + ".json";
    QFile::remove(path(description));
    if (!json.isEmpty()) write(description, json);
    const Outcome run = record(model, QStringList{"--steps", "2"} + options);
    QVERIFY(run.exitCode != 0);
    QVERIFY2(run.err.contains(message), qPrintable(run.err));
  }
};

HIGHWATER_TEST(TestOwnModel, QCoreApplication)
#include "tst_own_model.moc"
