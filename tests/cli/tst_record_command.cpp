#include <signal.h>

#include "core/exit_codes.h"
#include "run/recording_loader.h"
#include "support/processes.h"
#include "support/run_program.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;

namespace {

class StepCounter final : public MessageSink {
 public:
  void take(std::span<const std::uint8_t>, const Message& message) override {
    if (const auto* batch = std::get_if<EventBatch>(&message)) {
      steps += static_cast<int>(batch->steps.size());
    }
    if (const auto* runEnd = std::get_if<RunEnd>(&message)) end = *runEnd;
  }
  int steps = 0;
  std::optional<RunEnd> end;
};

QByteArray contents(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

}  // namespace

class TestRecordCommand : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<QTemporaryDir> folder_;

  [[nodiscard]] QString path(const char* name) const {
    return folder_->filePath(QLatin1String(name));
  }
  static QStringList fake(const char* mode) {
    return {QStringLiteral("HIGHWATER_WORKER=") + HIGHWATER_FAKE_WORKER,
            QStringLiteral("FAKE_WORKER=") + QLatin1String(mode)};
  }
  [[nodiscard]] StepCounter load(const char* name) const {
    StepCounter counter;
    const auto loaded = run::loadRecording(path(name).toStdString(), counter);
    if (!loaded) qWarning("%s", loaded.error().message.c_str());
    return counter;
  }
  [[nodiscard]] QStringList files() const {
    return QDir(folder_->path()).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot);
  }

 private slots:
  void init() { folder_ = std::make_unique<QTemporaryDir>(); }

  void recordsARun() {
    const Outcome run =
        runHighwater({"record", "--steps", "60", "-o", path("a.highwater")}, fake("sample"));
    QCOMPARE(run.exitCode, int(kExitDone));
    QCOMPARE(run.err, QString());
    QVERIFY2(run.out.startsWith("device simulated mps: there is no Metal"), qPrintable(run.out));
    QVERIFY(run.out.contains("step 60/60"));
    QVERIFY(!run.out.contains(u'\x1b'));  // a pipe is not a terminal
    for (const char* part :
         {"p50", "tokens/s", "held-out accuracy", "driver peak", "a.highwater"}) {
      QVERIFY2(run.out.contains(QLatin1String(part)), part);
    }
    QCOMPARE(files(), QStringList{"a.highwater"});
    const StepCounter counter = load("a.highwater");
    QCOMPARE(counter.steps, 60);
    QVERIFY(counter.end->reason == RunEnd::Reason::kFinished);
  }

  void leavesNoFileWhereNothingBegan_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QStringList>("environment");
    QTest::addColumn<int>("exitCode");
    QTest::addColumn<QString>("names");
    const auto row = [](const char* name, const QStringList& arguments,
                        const QStringList& environment, int code, const QString& names) {
      QTest::newRow(name) << arguments << environment << code << names;
    };
    const QStringList good = fake("sample");
    row("unknown option", {"--bogus"}, good, kExitUsage, "--bogus");
    row("bad data", {}, fake("failure"), kExitUsage, "data.csv has no column \"label\"");
    row("past the position table", {"--set", "9:seq=500"}, fake("train"), kExitUsage,
        "the position table ends at 256");
    row("not a worker", {}, fake("garbage"), kExitFailed, "not a stream of frames");
    row("missing worker", {}, {"HIGHWATER_WORKER=/nowhere/worker"}, kExitFailed, "/nowhere/worker");
  }
  void leavesNoFileWhereNothingBegan() {
    QFETCH(QStringList, arguments);
    QFETCH(QStringList, environment);
    QFETCH(int, exitCode);
    QFETCH(QString, names);
    const Outcome run = runHighwater(
        QStringList{"record", "--steps", "20", "-o", path("a.highwater")} + arguments, environment);
    QCOMPARE(run.exitCode, exitCode);
    QVERIFY2(run.err.contains(names), qPrintable(run.err));
    QVERIFY2(run.err.startsWith("highwater: "), qPrintable(run.err));
    QCOMPARE(files(), QStringList());

    // Likewise with --force: an existing file is kept.
    QFile old(path("a.highwater"));
    QVERIFY(old.open(QIODevice::WriteOnly));
    old.write("precious");
    old.close();
    const Outcome again = runHighwater(
        QStringList{"record", "--force", "--steps", "20", "-o", path("a.highwater")} + arguments,
        environment);
    QCOMPARE(again.exitCode, exitCode);
    QCOMPARE(contents(path("a.highwater")), QByteArray("precious"));
    QCOMPARE(files(), QStringList{"a.highwater"});
  }

  void refusesToOverwrite() {
    QVERIFY(runHighwater({"record", "--steps", "5", "-o", path("a.highwater")}, fake("train"))
                .exitCode == kExitDone);
    const QByteArray before = contents(path("a.highwater"));
    // The error would name this missing worker if it were started.
    const Outcome again = runHighwater({"record", "--steps", "5", "-o", path("a.highwater")},
                                       {"HIGHWATER_WORKER=/nowhere/worker"});
    QCOMPARE(again.exitCode, int(kExitFailed));
    QVERIFY2(again.err.contains("exists; give --force"), qPrintable(again.err));
    QCOMPARE(contents(path("a.highwater")), before);
    QVERIFY(runHighwater({"record", "--force", "--steps", "9", "-o", path("a.highwater")},
                         fake("train"))
                .exitCode == kExitDone);
    QCOMPARE(load("a.highwater").end->message, std::string("9 steps done"));
  }

  void makesANameWhereNoneIsGiven() {
    const auto record = [this](const QStringList& options) {
      QProcess process;
      process.setProcessEnvironment(test::environmentWith(fake("train")));
      process.setWorkingDirectory(folder_->path());
      process.start(QStringLiteral(HIGHWATER_BIN_DIR "/highwater"),
                    QStringList{"record", "--steps", "5"} + options);
      return process.waitForFinished(kWaitMs) ? QString::fromUtf8(process.readAllStandardOutput())
                                              : QString();
    };
    const QString plain = record({});
    QCOMPARE(files().size(), 1);
    QVERIFY2(files()[0].startsWith("issue-classifier-") && files()[0].endsWith(".highwater"),
             qPrintable(files()[0]));
    QVERIFY2(plain.contains("recording to " + files()[0] + '\n'), qPrintable(plain));
    QVERIFY(plain.contains("Recording  " + files()[0] + " ("));
    QVERIFY(!record({"--scenario", "clean"}).isEmpty());
    // The scenario's name says more than that of the workload.
    QCOMPARE(files().size(), 2);
    QVERIFY(files()[0].startsWith("clean-"));
    QVERIFY(!record({}).isEmpty() && !record({}).isEmpty());  // in the same second, as a rule
    QCOMPARE(files().size(), 4);
    // Nothing is promised before the worker has taken the options.
    const QString refused = record({"--device", "no-such"});
    QVERIFY2(!refused.contains("recording to"), qPrintable(refused));
    QCOMPARE(files().size(), 4);
  }

  void exportSparesFilesThatAreNoPictures() {
    QVERIFY(runHighwater({"record", "--steps", "5", "-o", path("a.highwater")}, fake("train"))
                .exitCode == kExitDone);
    QVERIFY(QFile::copy(path("a.highwater"), path("a.png")));
    const QByteArray recording = contents(path("a.png"));
    const Outcome onto = runHighwater({"export", path("a.png"), "--to", path("a.png")});
    QCOMPARE(onto.exitCode, int(kExitFailed));
    QVERIFY2(onto.err.contains("is not a picture"), qPrintable(onto.err));
    QCOMPARE(contents(path("a.png")), recording);
    // An earlier picture is replaced only where that is asked for, as a recording is.
    const QStringList toB{"export", path("a.highwater"), "--to", path("b.png")};
    const Outcome drawn = runHighwater(toB);
    QVERIFY2(drawn.exitCode == kExitDone, qPrintable(drawn.err));
    const QByteArray picture = contents(path("b.png"));
    const Outcome again = runHighwater(toB + QStringList{"--theme", "light"});
    QCOMPARE(again.exitCode, int(kExitFailed));
    QVERIFY2(again.err.contains("exists; give --force to overwrite it, or another name"),
             qPrintable(again.err));
    QCOMPARE(contents(path("b.png")), picture);
    const Outcome forced = runHighwater(toB + QStringList{"--theme", "light", "--force"});
    QVERIFY2(forced.exitCode == kExitDone, qPrintable(forced.err));
    QVERIFY(contents(path("b.png")) != picture);
    // --force is for pictures: a recording stays one.
    const Outcome forcedOnto =
        runHighwater({"export", path("a.png"), "--to", path("a.png"), "--force"});
    QCOMPARE(forcedOnto.exitCode, int(kExitFailed));
    QCOMPARE(contents(path("a.png")), recording);
  }

  void keepsTheRecordingOfARunThatEndedEarly_data() {
    QTest::addColumn<QByteArray>("mode");
    QTest::addColumn<QString>("names");
    QTest::newRow("killed") << QByteArray("kill") << "killed by signal 9 (SIGKILL) in step 5";
    QTest::newRow("exited") << QByteArray("exit7") << "ended with exit code 7";
    QTest::newRow("memory") << QByteArray("outofmemory") << "MPS backend out of memory";
  }
  void keepsTheRecordingOfARunThatEndedEarly() {
    QFETCH(QByteArray, mode);
    QFETCH(QString, names);
    const Outcome run =
        runHighwater({"record", "--steps", "50", "-o", path("a.highwater")}, fake(mode));
    QCOMPARE(run.exitCode, int(kExitEndedEarly));
    QVERIFY2(run.err.contains(names), qPrintable(run.err));
    if (mode == "exit7") QVERIFY2(run.err.contains("  last words\n"), qPrintable(run.err));
    const StepCounter counter = load("a.highwater");
    QVERIFY(counter.end);
    QVERIFY(QString::fromStdString(counter.end->message).contains(names));
    QCOMPARE(counter.steps, mode == "outofmemory" ? 0 : 4);
    QCOMPARE(files(), QStringList{"a.highwater"});
  }

  void stopsOnAnInterrupt() {
    QProcess process;
    process.setProcessEnvironment(test::environmentWith(fake("train")));
    process.setProcessChannelMode(QProcess::MergedChannels);
    process.start(HIGHWATER_BIN_DIR "/highwater",
                  {"record", "--steps", "100000", "-o", path("a.highwater")});
    QTRY_VERIFY(QFile::exists(path("a.highwater")));
    ::kill(static_cast<pid_t>(process.processId()), SIGINT);
    QVERIFY(process.waitForFinished(kWaitMs));
    QCOMPARE(process.exitCode(), int(kExitEndedEarly));
    QVERIFY(process.readAll().contains("stopped on request"));
    QVERIFY(load("a.highwater").end->reason == RunEnd::Reason::kStopped);
  }

  void stopsBeforeTheTrainingBegan() {
    QProcess process;
    process.setProcessEnvironment(test::environmentWith(fake("silent")));
    process.setProcessChannelMode(QProcess::MergedChannels);
    process.start(HIGHWATER_BIN_DIR "/highwater", {"record", "-o", path("a.highwater")});
    QTRY_VERIFY(test::workerOf(process.processId()) > 0);
    ::kill(static_cast<pid_t>(process.processId()), SIGINT);
    QVERIFY(process.waitForFinished(kWaitMs));
    QCOMPARE(process.exitCode(), int(kExitEndedEarly));
    const QByteArray said = process.readAll();
    QVERIFY2(said.contains("stopped on request before the training began"), said.constData());
    QCOMPARE(files(), QStringList());
  }

  void saysThatTheTrainingStandsStill() {
    QProcess process;
    process.setProcessEnvironment(test::environmentWith(
        fake("stuck") + QStringList{QStringLiteral("HIGHWATER_HANG_TIMEOUT_MS=2000")}));
    process.start(HIGHWATER_BIN_DIR "/highwater", {"record", "-o", path("a.highwater")});
    QByteArray said;
    const auto says = [&](const char* what) {
      said += process.readAllStandardError();
      return said.contains(what);
    };
    QTRY_VERIFY(says("Ctrl+C ends the run"));
    ::kill(static_cast<pid_t>(process.processId()), SIGINT);
    QVERIFY(process.waitForFinished(kWaitMs));
    QCOMPARE(process.exitCode(), int(kExitEndedEarly));
    QVERIFY2(says("step 5 has stood in loss read for "), said.constData());
    QCOMPARE(said.count("has stood in"), 1);
    const auto end = load("a.highwater").end;
    QVERIFY(end && end->reason == RunEnd::Reason::kStopped);
    QCOMPARE(end->openOp, std::string("aten::_local_scalar_dense"));
  }

  void aSecondInterruptEndsAtOnce() {
    QProcess process;
    process.setProcessEnvironment(test::environmentWith(fake("deaf")));
    process.start(HIGHWATER_BIN_DIR "/highwater",
                  {"record", "--steps", "100000", "-o", path("a.highwater")});
    QTRY_VERIFY(QFile::exists(path("a.highwater")));
    ::kill(static_cast<pid_t>(process.processId()), SIGINT);
    QByteArray said;
    const auto isStopping = [&] {
      said += process.readAllStandardError();
      return said.contains("stopping after this step");
    };
    QTRY_VERIFY(isStopping());  // the worker is killed after 5 s
    ::kill(static_cast<pid_t>(process.processId()), SIGTERM);
    QVERIFY(process.waitForFinished(kWaitMs));
    QCOMPARE(process.exitCode(), int(kExitEndedEarly));
    QVERIFY(load("a.highwater").end->reason == RunEnd::Reason::kAborted);
  }
};

HIGHWATER_TEST(TestRecordCommand, QCoreApplication)
#include "tst_record_command.moc"
