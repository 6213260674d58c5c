// The user's own program under `highwater run`: it behaves as without, and its training is
// recorded.
#include <csignal>

#include "analysis/findings/findings.h"
#include "analysis/live_store.h"
#include "e2e/runs.h"
#include "e2e/wait_accounts.h"
#include "run/recording_loader.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;

namespace {

const QString kPython = QStringLiteral(HIGHWATER_PYTHON);
const QString kOwnScript = QStringLiteral(HIGHWATER_SOURCE_DIR "/tests/e2e/own_script.py");
const QStringList kFallback = {"PYTORCH_ENABLE_MPS_FALLBACK=1"};

}  // namespace

class TestScript : public QObject {
  Q_OBJECT

 private slots:
  void recordsAnUnchangedScript() {
    const Outcome plain = runProgram(kPython, {kOwnScript});
    QCOMPARE(plain.exitCode, 0);
    const QString ledger = folder_.filePath("ledger.jsonl");
    const Outcome watched =
        runScript({"--sim-ledger", ledger}, {kPython, "-W", "ignore", kOwnScript});
    QVERIFY2(watched.exitCode == 0, qPrintable(watched.err));
    QCOMPARE(watched.out, plain.out);  // losses to the bit
    QVERIFY2(watched.err.contains("Recording"), qPrintable(watched.err));

    analysis::LiveStore store;
    QVERIFY(run::loadRecording(recording_.toStdString(), store));
    const auto& steps = store.steps().records;
    QCOMPARE(steps.size(), 12U);
    for (const events::StepRecord& each : steps) {
      QCOMPARE(each.batch_size(), each.step() % 6 == 0 ? 8U : 16U);
    }
    for (const events::Marker& each : store.markers()) {
      QVERIFY(each.kind() != events::MarkerKind::BatchSize);  // an epoch's last batch is no change
    }
    QCOMPARE(QString::fromStdString(store.run()->workload), QStringLiteral("own_script.py"));
    QVERIFY(store.hello()->device.simulated);

    // Waits and fallbacks are those of the device's own account.
    const test::Account probe = test::byProbe(store), truth = test::byLedger(ledger, store);
    test::WaitComparison comparison;
    const QByteArray difference = comparison.add(probe, truth);
    QVERIFY2(difference.isEmpty(),
             (difference + "\nprobe  " + text(probe) + "\nledger " + text(truth)).constData());
    QCOMPARE(probe.fallbacks.at("aten::multi_margin_loss"), 12);
    QCOMPARE(probe.fallbacks.at("aten::multi_margin_loss_backward"), 12);

    // Each names the line of the script.
    const std::string lossLine =
        "own_script.py:" + std::to_string(lineWith("multi_margin_loss", kOwnScript));
    const std::string readLine =
        "own_script.py:" + std::to_string(lineWith("loss.item()", kOwnScript));
    const std::string scoreLine =
        "own_script.py:" + std::to_string(lineWith("\"score\"", kOwnScript));
    int losses = 0, reads = 0, scores = 0;
    for (const events::FallbackEvent& each : store.fallbacks()) {
      losses += store.callStack(each.call_site()).find(lossLine) != std::string::npos;
    }
    for (const events::SyncPoint& each : store.syncPoints()) {
      const std::string place = store.callStack(each.call_site());
      const bool isRead = place.find(readLine) != std::string::npos;
      const bool isScore = place.find(scoreLine) != std::string::npos;
      reads += isRead;
      scores += isScore;
      if (isRead) QCOMPARE(each.deliberate(), 0);
      if (isScore) QCOMPARE(each.deliberate(), 1);  // it reads after the model's call
    }
    QCOMPARE(losses, 12);
    QCOMPARE(reads, 4);
    QVERIFY(scores > 0);
    const auto inHead = std::count_if(
        store.phases().begin(), store.phases().end(),
        [](const events::PhaseSpan& each) { return each.phase() == events::Phase::Forward; });
    QCOMPARE(inHead, 12);
  }

  void namesModulesThatComeAndThrow() {
    const QString script = folder_.filePath("modules.py");
    QFile file(script);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(R"(
import torch
from torch import nn

class Throws(nn.Module):
    def forward(self, x):
        x.relu()
        raise KeyError("own")

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.throws = Throws()
    def forward(self, x):
        x = self.first(x)
        try:
            self.throws(x)
        except KeyError as error:
            self.heard = str(error)
        return self.late(x) if hasattr(self, "late") else x

net = Net().to("mps")
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    if step == 2:
        # Was not there when the model was first called.
        net.late = nn.Sequential(nn.Linear(3, 2, device="mps"))
    optimizer.zero_grad()
    net(torch.ones(2, 3, device="mps")).sum().backward()
    optimizer.step()
print(net.heard)
)");
    file.close();
    const Outcome watched = runScript({"--level", "ops"}, {kPython, "-W", "ignore", script});
    QVERIFY2(watched.exitCode == 0, qPrintable(watched.err));
    QCOMPARE(watched.out.trimmed(), QString("'own'"));
    analysis::LiveStore store;
    QVERIFY(run::loadRecording(recording_.toStdString(), store));
    QCOMPARE(store.steps().records.size(), 4U);
    std::map<std::string, int> linears, activations;
    for (const events::OpSpan& each : store.ops().records) {
      const std::string name = store.name(each.op());
      if (name == "aten::linear") ++linears[store.modulePath(each.module_id())];
      if (name == "aten::relu") ++activations[store.modulePath(each.module_id())];
    }
    const std::map<std::string, int> expectedLinears{{"Net.first", 4}, {"Net.late.0", 2}};
    QCOMPARE(linears, expectedLinears);
    QCOMPARE(activations["Net.throws"], 4);
  }

  /// As on a machine without MPS: times, and no device memory.
  void recordsWithoutADevice() {
    const Outcome watched =
        runHighwater({"run", "--record", recording_, "--force", "--", kPython, kOwnScript});
    QVERIFY2(watched.exitCode == 0, qPrintable(watched.err));
    analysis::LiveStore store;
    QVERIFY(run::loadRecording(recording_.toStdString(), store));
    QCOMPARE(store.steps().records.size(), 12U);
    QCOMPARE(store.hello()->device.selected, std::string("cpu"));
    // Linux has no MPS, and somebody who looks for it should hear of the simulated device.
    const QString hint = "this machine has no MPS; highwater run --device sim simulates it";
    QVERIFY2(watched.err.contains("\nThe training ran on the CPU: " + hint),
             qPrintable(watched.err));
    const QString script = folder_.filePath("asks_for_mps.py");
    QFile file(script);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("import torch\ntorch.ones(1).to('mps')\n");
    file.close();
    const Outcome failed =
        runHighwater({"run", "--record", recording_, "--force", "--", kPython, script});
    QVERIFY2(failed.exitCode == 1 && failed.err.contains(hint), qPrintable(failed.err));
  }

  void tellsHowTheScriptEnded() {
    const QString script = folder_.filePath("raises.py");
    QFile file(script);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(R"(
import torch
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(10):
    for part in range(4):
        model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
raise ValueError("no more data")
)");
    file.close();
    const Outcome watched =
        runHighwater({"run", "--record", recording_, "--force", "--", kPython, script});
    QCOMPARE(watched.exitCode, 1);
    analysis::LiveStore store;
    QVERIFY(run::loadRecording(recording_.toStdString(), store));
    QCOMPARE(store.end()->reason, RunEnd::Reason::kFailed);
    QCOMPARE(store.end()->message, std::string("ValueError: no more data (raises.py:9)"));
    for (const events::StepRecord& each : store.steps().records) QCOMPARE(each.tokens(), 8U);
  }

  /// MPS has no float64. The finding says so, with the line; and so does a program that fails
  /// before it trains, of which there is no recording.
  void namesADtypeThatMpsRefuses() {
    const QString script = folder_.filePath("doubles.py");
    QFile file(script);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(R"(
import sys
import torch
model = torch.nn.Linear(4, 4).to(getattr(torch, sys.argv[1])).to("mps")
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(10):
    x = torch.ones(2, 4)
    if step == 8:
        x = x.double()
    model(x.to("mps")).sum().backward()
    optimizer.step()
)");
    file.close();
    const QString recording = folder_.filePath("doubles.highwater");
    const Outcome watched = runHighwater({"run", "--device", "sim", "--record", recording, "--",
                                          kPython, "-W", "ignore", script, "float32"});
    QCOMPARE(watched.exitCode, 1);
    analysis::LiveStore store;
    QVERIFY(run::loadRecording(recording.toStdString(), store));
    const auto findings = analysis::findProblems(store).found;
    // Of eight tiny steps more may be said, by how fast the machine was.
    QVERIFY(!findings.empty());
    QCOMPARE(findings[0].kind, analysis::FindingKind::RefusedDtype);
    QVERIFY2(findings[0].evidence.find("(doubles.py:10)") != std::string::npos,
             findings[0].evidence.c_str());
    QVERIFY(QFile::remove(recording));
    const Outcome early = runHighwater({"run", "--device", "sim", "--record", recording, "--",
                                        kPython, "-W", "ignore", script, "float64"});
    QCOMPARE(early.exitCode, 1);
    QVERIFY2(early.err.contains("MPS has no float64: convert to float32"), qPrintable(early.err));
    QVERIFY(!QFile::exists(recording));
  }

  /// A scheduler that ends `highwater run` means the training.
  void passesSignalsOn() {
    const QString began = folder_.filePath("began");
    QProcess process;
    process.start(QStringLiteral(HIGHWATER_BIN_DIR "/highwater"),
                  {"run", "--record", recording_, "--force", "--", kPython, "-c",
                   "import sys, time; open(sys.argv[1], 'w').close(); time.sleep(600)", began});
    QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(began), kWaitMs);
    process.terminate();
    QVERIFY(process.waitForFinished(kWaitMs));
    QCOMPARE(process.exitStatus(), QProcess::CrashExit);
    QCOMPARE(process.exitCode(), SIGTERM);
  }

  void saysWhatItLookedFor_data() {
    QTest::addColumn<QStringList>("command");
    QTest::addColumn<QString>("words");
    const QString build =
        "import torch; torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], 0.1); print(1)";
    QTest::newRow("no Python") << QStringList{"echo", "1"} << "no Python process";
    QTest::newRow("isolated") << QStringList{kPython, "-I", "-c", "print(1)"} << "-I, -E or -S";
    QTest::newRow("no torch") << QStringList{kPython, "-c", "print(1)"} << "did not import torch";
    QTest::newRow("no PyTorch") << QStringList{kPython, "-c",
                                               "import sys; sys.path.clear()\n"
                                               "try: import torch\n"
                                               "except ImportError: print(1)"}
                                << "has no PyTorch";
    QTest::newRow("import that fails") << QStringList{kPython, "-c",
                                                      "import sys; sys.modules['torch._C'] = None\n"
                                                      "try: import torch\n"
                                                      "except ImportError: print(1)"}
                                       << "import torch failed: ModuleNotFoundError";
    QTest::newRow("no optimizer") << QStringList{kPython, "-W", "ignore", "-c",
                                                 "import torch; print(1)"}
                                  << "no torch.optim optimizer was built";
    QTest::newRow("no step") << QStringList{kPython, "-W", "ignore", "-c", build} << "none stepped";
  }

  void saysWhatItLookedFor() {
    QFETCH(QStringList, command);
    QFETCH(QString, words);
    const QString none = folder_.filePath("none.highwater");
    const Outcome watched = runHighwater(QStringList{"run", "--record", none, "--"} + command);
    QCOMPARE(watched.exitCode, 0);
    QCOMPARE(watched.out, QStringLiteral("1\n"));
    QVERIFY2(watched.err.contains(words), qPrintable(watched.err));
    QVERIFY(!QFile::exists(none));
  }

  void namesAFileThatIsNotThere() {
    const QString none = folder_.filePath("none.highwater");
    const Outcome refused =
        runHighwater({"run", "--record", none, "--", kPython, "-u", "-W", "ignore", "nosuch.py"});
    QCOMPARE(refused.exitCode, 2);
    QVERIFY2(refused.err.contains("there is no file nosuch.py in "), qPrintable(refused.err));
  }

  void endsBeforeTheProgramWhereAVariableIsWrong_data() {
    QTest::addColumn<QString>("setting");
    for (const char* each : {"HIGHWATER_HANG_TIMEOUT_MS=soon", "HIGHWATER_SIM_THERMAL=hot",
                             "HIGHWATER_SIM_SLOWDWON=2"}) {
      QTest::newRow(each) << each;
    }
  }

  void endsBeforeTheProgramWhereAVariableIsWrong() {
    QFETCH(const QString, setting);
    const QString file = folder_.filePath("refused.highwater"),
                  began = folder_.filePath("refused began");
    const Outcome refused =
        runHighwater({"run", "--device", "sim", "--record", file, "--", "touch", began}, {setting});
    QCOMPARE(refused.exitCode, 2);
    QVERIFY2(refused.err.contains(setting.section('=', 0, 0)), qPrintable(refused.err));
    QVERIFY(!QFile::exists(began) && !QFile::exists(file));
  }

  /// The second run is refused before its program begins.
  void refusesAFileThatAnotherRunWrites() {
    const QString began = folder_.filePath("first began"),
                  second = folder_.filePath("second began");
    const QString touch = "import sys, time; open(sys.argv[1], 'w').close(); time.sleep(600)";
    const QString file = folder_.filePath("shared.highwater");
    QProcess process;
    process.start(QStringLiteral(HIGHWATER_BIN_DIR "/highwater"),
                  {"run", "--record", file, "--", kPython, "-c", touch, began});
    QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(began), kWaitMs);
    const Outcome refused =
        runHighwater({"run", "--record", file, "--force", "--", kPython, "-c", touch, second});
    QCOMPARE(refused.exitCode, 1);
    QVERIFY2(refused.err.contains("shared.highwater"), qPrintable(refused.err));
    QVERIFY(!QFile::exists(second));
    process.terminate();
    QVERIFY(process.waitForFinished(kWaitMs));
    QVERIFY(!QFile::exists(file));  // nothing was recorded
  }

  void refusesBadInput_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("words");
    const QString file = folder_.filePath("other.highwater");
    QTest::newRow("no such program")
        << QStringList{"run", "--record", file, "--", "no-such-python", "train.py"}
        << "no-such-python";
    QTest::newRow("a script for a program")
        << QStringList{"run", "--record", file, kOwnScript} << "-- python3 " + kOwnScript;
    QTest::newRow("no such script")
        << QStringList{"run", "--record", file, "absent.py"} << "no script absent.py";
    QTest::newRow("a folder") << QStringList{"run", "--record", file, "--", folder_.path()}
                              << "is a folder";
    QTest::newRow("force without a recording")
        << QStringList{"run", "--force", "--", kPython, kOwnScript} << "--record";
    QTest::newRow("no such folder")
        << QStringList{"run", "--record", "/no/such/folder/a.highwater", "--", kPython, kOwnScript}
        << "/no/such/folder";
    const auto simulated = [&](const QString& option, const QString& value) {
      return QStringList{"run",  "--device", "sim", "--record",   file,
                         option, value,      "--",  "/bin/touch", file};
    };
    QTest::newRow("a wrong setting of the device")
        << simulated("--sim-slowdown", "0") << "--sim-slowdown";
    QTest::newRow("a wrong watermark") << simulated("--high-watermark", "3") << "--high-watermark";
  }

  void refusesBadInput() {
    QFETCH(QStringList, arguments);
    QFETCH(QString, words);
    const Outcome refused = runHighwater(arguments);
    QVERIFY2(refused.exitCode == 1 || refused.exitCode == 2, qPrintable(refused.err));
    QVERIFY2(refused.err.contains(words), qPrintable(refused.err));
    QVERIFY(!QFile::exists(folder_.filePath("other.highwater")));
  }

  /// The window's process is killed while the script trains: the script ends as without.
  void survivesItsHost() {
    const QString done = folder_.filePath("done");
    const QString script = folder_.filePath("long.py");
    QFile file(script);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(R"(
import os, sys, time, torch
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
host = os.getppid()
step = 0
while step < 200:
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    step += 1
    if step == 20:
        os.kill(host, 9)
        while os.getppid() == host:
            time.sleep(0.01)
open(sys.argv[1], "w").write(str(step))
)");
    file.close();
    QProcess process;
    process.start(QStringLiteral(HIGHWATER_BIN_DIR "/highwater"),
                  {"run", "--record", recording_, "--force", "--", kPython, script, done});
    QVERIFY(process.waitForFinished(kWaitMs));
    QCOMPARE(process.exitStatus(), QProcess::CrashExit);
    const auto written = [&done] {
      QFile result(done);
      return result.open(QIODevice::ReadOnly) ? result.readAll() : QByteArray();
    };
    QTRY_COMPARE_WITH_TIMEOUT(written(), QByteArray("200"), kWaitMs);
  }

  /// mse_loss resizes an output of its own on the CPU, which warns there.
  void theSimulationPrintsNothing() {
    const Outcome watched = runScript({}, {kPython, "-c", R"(
import torch
x = torch.ones(4, 3, device="mps", requires_grad=True)
torch.nn.functional.mse_loss(x, torch.zeros(4, 3, device="mps")).backward()
torch.mps.synchronize()
)"});
    QVERIFY2(watched.exitCode == 0, qPrintable(watched.err));
    QVERIFY2(!watched.err.contains("Warning"), qPrintable(watched.err));
  }

 private:
  [[nodiscard]] Outcome runScript(const QStringList& options, const QStringList& command) {
    return runHighwater(QStringList{"run", "--device", "sim", "--record", recording_, "--force"} +
                            options + QStringList{"--"} + command,
                        kFallback);
  }

  QTemporaryDir folder_;
  QString recording_ = folder_.filePath("run.highwater");
};

HIGHWATER_TEST(TestScript, QCoreApplication)
#include "tst_script.moc"
