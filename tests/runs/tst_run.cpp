// The recording of a run, and what follows it, as a command asks for them.

#include "run/run.h"
#include "session/session_probe.h"
#include "support/recording_file.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::run;

namespace {

/// A run of the fake worker in one of its modes, recorded to a file of its own folder.
struct RunBench {
  explicit RunBench(const char* mode, std::uint32_t steps = 0,
                    session::AfterAbort afterAbort = session::AfterAbort::kAsk)
      : run(optionsOf(mode, steps, afterAbort)) {
    run.recordTo({.path = path().toStdString()});
  }

  static session::LaunchOptions optionsOf(const char* mode, std::uint32_t steps,
                                          session::AfterAbort afterAbort) {
    session::LaunchOptions options = test::fakeWorker(mode, steps);
    options.afterAbort = afterAbort;
    return options;
  }
  [[nodiscard]] QString path() const { return folder.filePath("a.highwater"); }
  [[nodiscard]] QStringList files() const { return QDir(folder.path()).entryList(QDir::Files); }
  [[nodiscard]] bool trains() const { return run.state() == session::Session::State::kRunning; }

  QTemporaryDir folder;
  Run run;
};

}  // namespace

class TestRun : public QObject {
  Q_OBJECT

 private slots:
  void recordsOnceItTrains() {
    RunBench bench("sample", 60);
    QSignalSpy ended(&bench.run, &Run::ended);
    QVERIFY(bench.run.runWorkload());
    QVERIFY(!bench.run.recording() && bench.files().isEmpty());
    QTRY_COMPARE(ended.size(), 1);
    QCOMPARE(bench.run.store().steps().records.size(), 60u);
    QCOMPARE(bench.files(), QStringList{"a.highwater"});
    const QString line = QString::fromStdString(bench.run.recordingLine());
    QVERIFY2(line.startsWith(bench.path() + " (") && line.endsWith(")"), qPrintable(line));
  }

  void tellsOfAFileThatExists() {
    RunBench bench("train");
    QFile old(bench.path());
    QVERIFY(old.open(QIODevice::WriteOnly));
    QSignalSpy problems(&bench.run, &Run::problem);
    QVERIFY(bench.run.runWorkload());
    QTRY_COMPARE(problems.size(), 1);
    QVERIFY(problems[0][0].toString().contains("exists"));
    QVERIFY(bench.trains() && !bench.run.recording());
    bench.run.abandon();
    QCOMPARE(bench.run.recordingLine(), std::string());
    QCOMPARE(bench.files(), QStringList{"a.highwater"});
  }

  void drops() {
    RunBench bench("train");
    QVERIFY(bench.run.runWorkload());
    QTRY_VERIFY(bench.run.recording());
    bench.run.dropRecording();
    bench.run.abandon();
    QCOMPARE(bench.run.recordingLine(), std::string());
    QVERIFY(bench.files().isEmpty());
  }

  void saysWhereItsFileIsGone_data() {
    QTest::addColumn<bool>("isReplaced");
    QTest::newRow("deleted") << false;
    QTest::newRow("replaced") << true;
  }
  void saysWhereItsFileIsGone() {
    QFETCH(bool, isReplaced);
    RunBench bench("train");
    QVERIFY(bench.run.runWorkload());
    QTRY_VERIFY(!bench.run.store().steps().records.empty());
    QVERIFY(QFile::remove(bench.path()));
    if (isReplaced) {
      QFile other(bench.path());
      QVERIFY(other.open(QIODevice::WriteOnly) && other.write("other") == 5);
    }
    bench.run.abandon();
    const std::string path = bench.path().toStdString();
    QCOMPARE(bench.run.recordingLine(), isReplaced
                                            ? "none: " + path + " is another file by now"
                                            : "none: there is no file " + path + " any more");
    QVERIFY(!bench.run.recordingProblem().empty());
    if (isReplaced) QCOMPARE(QFile(bench.path()).size(), 5);
  }

  void saysWhyItIsNotContinued() {
    RunBench bench("abort", 0, session::AfterAbort::kRestart);
    QSignalSpy ended(&bench.run, &Run::ended);
    QVERIFY(bench.run.runWorkload());
    QTRY_COMPARE(ended.size(), 1);
    QCOMPARE(bench.run.whyNotContinued(), QString("there is no checkpoint to continue from"));
    QVERIFY(!bench.run.continuesAtOnce() && !bench.run.continuation());
    // None of it is said of a recording that is opened then.
    const QString other =
        test::recordIn(bench.folder, "b.highwater", test::makeSampleRun({.steps = 5}));
    QVERIFY(bench.run.open(other.toStdString()));
    QVERIFY(bench.run.whyNotContinued().isEmpty() && bench.run.recordingProblem().empty());
    const QString line = QString::fromStdString(bench.run.recordingLine());
    QVERIFY2(line.startsWith(other + " (") && line.endsWith(")"), qPrintable(line));
  }
};

HIGHWATER_TEST(TestRun, QCoreApplication)
#include "tst_run.moc"
