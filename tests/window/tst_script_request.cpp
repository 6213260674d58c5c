// What the form makes of the user's words, with real files.
#include <QDir>
#include <QFile>
#include <QProcess>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

#include "run/recordings_folder.h"
#include "support/own_home.h"
#include "support/test_program.h"
#include "window/start/script_request.h"

using namespace highwater;
using highwater::test::kWaitMs;
using window::checkScript;
using window::ScriptField;
using window::ScriptFields;
using window::ScriptRequest;

class TestScriptRequest : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<QTemporaryDir> folder_;

  QString file(const QString& name, const QByteArray& content = {}, bool executable = false) const {
    const QString path = folder_->filePath(name);
    QDir().mkpath(QFileInfo(path).path());
    QFile made(path);
    if (!made.open(QIODevice::WriteOnly) || made.write(content) != content.size()) return {};
    if (executable) made.setPermissions(made.permissions() | QFile::ExeOwner);
    return path;
  }
  /// A form with a script that is there.
  [[nodiscard]] ScriptFields form(const QString& script) const {
    ScriptFields fields;
    fields.script = script;
    fields.workingFolder = folder_->path();
    fields.python = folder_->filePath("env/bin/python");
    fields.recording = QStringLiteral("run-01");
    return fields;
  }
  [[nodiscard]] QString python() const { return folder_->filePath("env/bin/python"); }
  static QString problem(const ScriptFields& fields, ScriptField field) {
    const ScriptRequest request = checkScript(fields);
    const auto found = request.problems.find(field);
    return found == request.problems.end() ? QString() : found->second;
  }

 private slots:
  void initTestCase() { test::useOwnHome(); }
  void init() {
    folder_ = std::make_unique<QTemporaryDir>();
    file("train.py");
    file("env/bin/python", "#!/bin/sh\n", true);
    file("env/bin/torchrun", "#!/bin/sh\n", true);
    QDir(run::recordingsFolder()).removeRecursively();
    QVERIFY(QDir().mkpath(run::recordingsFolder()));
  }

  void aFileRunsUnderPython() {
    ScriptFields fields = form("train.py");
    fields.arguments = QStringLiteral("--name 'a b'");
    const ScriptRequest request = checkScript(fields);
    QVERIFY(request.ok());
    QCOMPARE(request.options.command, QStringList({python(), "train.py", "--name", "a b"}));
    QCOMPARE(request.options.workingFolder, folder_->path());
    QCOMPARE(request.options.probeLevel, QString("monitor"));
    QVERIFY(!request.options.simulated);
    QCOMPARE(request.recording, QString("run-01"));
    // As a full path it is the same.
    QCOMPARE(checkScript(form(folder_->filePath("train.py"))).options.command[1],
             QString("train.py"));
  }

  void aFileMayHaveBlanksInItsName() {
    file("my script.py");
    QCOMPARE(checkScript(form("my script.py")).options.command,
             QStringList({python(), "my script.py"}));
    QCOMPARE(checkScript(form("'my script.py' --x")).options.command,
             QStringList({python(), "my script.py", "--x"}));
  }

  void aModuleRunsUnderPython() {
    QCOMPARE(checkScript(form("-m package.train --x 1")).options.command,
             QStringList({python(), "-m", "package.train", "--x", "1"}));
    QVERIFY(problem(form("-m"), ScriptField::kScript).contains("-m package.train"));
    QVERIFY(!problem(form("-m a-b.py"), ScriptField::kScript).isEmpty());
    QVERIFY(!problem(form("-u train.py"), ScriptField::kScript).isEmpty());
  }

  void aLauncherIsThatOfTheEnvironment() {
    const ScriptRequest request = checkScript(form("torchrun --nproc_per_node 1 train.py"));
    QVERIFY(request.ok() && !request.needsPython);
    QCOMPARE(request.options.command, QStringList({folder_->filePath("env/bin/torchrun"),
                                                   "--nproc_per_node", "1", "train.py"}));
    // One that is not there is looked for on the PATH.
    QCOMPARE(checkScript(form("env A=b true")).options.command[0],
             QStandardPaths::findExecutable("env"));
    QVERIFY(problem(form("no-such-launcher x"), ScriptField::kScript).contains("no-such-launcher"));
    // A launcher needs no Python of the form's.
    ScriptFields fields = form("env true");
    fields.python.clear();
    QVERIFY(checkScript(fields).ok());
  }

  void aProgramRunsByItself() {
    const QString program = file("run.sh", "#!/bin/sh\n", true);
    QCOMPARE(checkScript(form("run.sh 1")).options.command, QStringList({program, "1"}));
    file("plain.txt");
    QVERIFY(problem(form("plain.txt"), ScriptField::kScript).contains("plain.txt"));
  }

  void saysWhatIsMissing() {
    QVERIFY(problem(form("missing.py"), ScriptField::kScript).contains("missing.py"));
    QVERIFY(problem(form("env/bin"), ScriptField::kScript).contains("folder"));
    QVERIFY(!problem(form(""), ScriptField::kScript).isEmpty());
    ScriptFields fields = form("train.py");
    fields.workingFolder = folder_->filePath("nowhere");
    QVERIFY(problem(fields, ScriptField::kWorkingFolder).contains("nowhere"));
    fields.workingFolder = folder_->filePath("train.py");
    QVERIFY(problem(fields, ScriptField::kWorkingFolder).contains("not a folder"));
    fields = form("train.py");
    fields.python = folder_->filePath("no/python");
    QVERIFY(problem(fields, ScriptField::kPython).contains("no/python"));
    fields.python.clear();
    QVERIFY(!problem(fields, ScriptField::kPython).isEmpty());
    fields = form("train.py");
    fields.arguments = QStringLiteral("--name \"a");
    QVERIFY(problem(fields, ScriptField::kArguments).contains("is not closed"));
  }

  void saysThatAnIsolatedPythonIgnoresHighwater() {
    for (const char* script : {"python -I train.py", "python -uE train.py", "python -S -m x"}) {
      QVERIFY2(problem(form(script), ScriptField::kScript).contains("ignores"), script);
    }
    for (const char* script : {"python train.py -I", "python -u train.py", "python -m x -S"}) {
      QVERIFY2(checkScript(form(script)).ok(), script);
    }
  }

  void aRecordingIsNeverOverwritten() {
    ScriptFields fields = form("train.py");
    fields.recording = run::freeRecordingName("train");
    QCOMPARE(fields.recording, QString("train-01"));
    QVERIFY(checkScript(fields).ok());
    QFile made(run::recordingFile(fields.recording));
    QVERIFY(made.open(QIODevice::WriteOnly));
    QVERIFY(!problem(fields, ScriptField::kRecording).isEmpty());
    QCOMPARE(run::freeRecordingName("train"), QString("train-02"));
    for (const char* name : {"", "a/b", "..", ".hidden"}) {
      fields.recording = QLatin1String(name);
      QVERIFY2(!problem(fields, ScriptField::kRecording).isEmpty(), name);
    }
    fields.recording = QStringLiteral("other.highwater");
    QCOMPARE(checkScript(fields).recording, QString("other"));
  }

  void namesRecordingsAfterTheScript() {
    const auto stem = [this](const char* script) { return window::recordingStemOf(form(script)); };
    QCOMPARE(stem("train.py"), QString("train"));
    QCOMPARE(stem("-m package.train"), QString("package.train"));
    QCOMPARE(stem("torchrun --nproc_per_node 1 train.py"), QString("train"));
    QCOMPARE(stem("accelerate launch -m pretrain"), QString("pretrain"));
    QCOMPARE(stem("'"), QString("script"));
  }

  void checksTheEnvironment() {
    ScriptFields fields = form("train.py");
    fields.simulated = true;
    fields.fallback = QStringLiteral("1");
    fields.highWatermark = QStringLiteral("1.4");
    fields.lowWatermark = QStringLiteral("0");
    fields.simulatedMemory = QStringLiteral("8 GiB");
    fields.otherVariables = QStringLiteral("A=1 'B=two words'");
    const ScriptRequest request = checkScript(fields);
    QVERIFY(request.ok() && request.options.simulated);
    QCOMPARE(request.options.environment,
             QStringList({"PYTORCH_ENABLE_MPS_FALLBACK=1", "PYTORCH_MPS_HIGH_WATERMARK_RATIO=1.4",
                          "PYTORCH_MPS_LOW_WATERMARK_RATIO=0",
                          "HIGHWATER_SIM_RECOMMENDED_MAX=8 GiB", "A=1", "B=two words"}));
    fields.highWatermark = QStringLiteral("3");
    fields.lowWatermark = QStringLiteral("x");
    fields.simulatedMemory = QStringLiteral("much");
    fields.otherVariables = QStringLiteral("A=1 B");
    for (const ScriptField field : {ScriptField::kHighWatermark, ScriptField::kLowWatermark,
                                    ScriptField::kSimulatedMemory, ScriptField::kOtherVariables}) {
      QVERIFY(!problem(fields, field).isEmpty());
    }
    // Not of the simulated device: its memory does not matter.
    fields.simulated = false;
    QVERIFY(problem(fields, ScriptField::kSimulatedMemory).isEmpty());
  }

  void theWorkingFolderIsTheScripts() {
    ScriptFields fields;
    fields.script = folder_->filePath("train.py");
    QCOMPARE(window::workingFolderOf(fields), folder_->path());
    fields.script = QStringLiteral("-m train");
    QCOMPARE(window::workingFolderOf(fields), QDir::currentPath());
  }

  /// A shell runs the line with a stand-in for highwater, which tells what it got.
  /// Nothing of this machine's files is asked for, as they are not the other one's.
  void aScriptOfAnotherMachineIsCheckedThere() {
    ScriptFields fields = form("'my train.py' --epochs 2");
    fields.host = QStringLiteral("user@studio");
    fields.workingFolder = QStringLiteral("~/a project");
    fields.python = QStringLiteral("python3");
    fields.otherVariables = QStringLiteral("'A=x y'");
    const ScriptRequest request = checkScript(fields);
    QVERIFY(request.ok());
    QCOMPARE(request.options.host, QStringLiteral("user@studio"));
    QCOMPARE(request.options.command, QStringList({"python3", "my train.py", "--epochs", "2"}));
    QCOMPARE(window::terminalCommand(request).section(QStringLiteral(" run "), 1),
             QStringLiteral("--on 'user@studio:~/a project' -- env 'A=x y' python3 'my train.py' "
                            "--epochs 2"));
    fields.script = QStringLiteral("torchrun train.py");
    QCOMPARE(checkScript(fields).options.command, QStringList({"torchrun", "train.py"}));
    for (const char* host : {"-oProxyCommand=x", "two words", "studio:project"}) {
      fields.host = QLatin1String(host);
      QVERIFY2(!problem(fields, ScriptField::kHost).isEmpty(), host);
    }
  }
  void theLineForATerminalIsTheSame() {
    file("tools/highwater", "#!/bin/sh\nprintf '%s\\0' \"$PWD\" \"$A\" \"$@\"\n", true);
    QVERIFY(QDir(folder_->path()).mkdir("it's mine"));
    file("it's mine/train me.py");
    ScriptFields fields = form("train me.py");
    fields.workingFolder = folder_->filePath("it's mine");
    fields.arguments = QStringLiteral("--name \"$HOME it's\"");
    fields.level = QStringLiteral("ops");
    fields.simulated = true;
    fields.otherVariables = QStringLiteral("'A=x y'");
    const ScriptRequest request = checkScript(fields);
    QVERIFY(request.ok());
    QProcess shell;
    auto environment = QProcessEnvironment::systemEnvironment();
    environment.insert("PATH", folder_->filePath("tools") + ':' + environment.value("PATH"));
    shell.setProcessEnvironment(environment);
    shell.start("/bin/sh", {"-c", window::terminalCommand(request)});
    QVERIFY(shell.waitForFinished(kWaitMs));
    QStringList said = QString::fromUtf8(shell.readAllStandardOutput()).split(QChar::Null);
    said.removeLast();
    QCOMPARE(said, QStringList({fields.workingFolder, "x y", "run", "--device", "sim", "--level",
                                "ops", "--"}) +
                       request.options.command);
  }
};

HIGHWATER_TEST(TestScriptRequest, QCoreApplication)
#include "tst_script_request.moc"
