// `record` and a picture on a full disk, beyond the limit of a file's size, with a long name, and
// without a reader of its output.

#include "core/exit_codes.h"
#include "support/run_program.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;

namespace {

QStringList fakeWorker(const char* mode) {
  return {QStringLiteral("HIGHWATER_WORKER=") + HIGHWATER_FAKE_WORKER,
          QStringLiteral("FAKE_WORKER=") + QLatin1String(mode)};
}

Outcome runShell(const QString& program, const QStringList& arguments) {
  return runProgram(program, arguments, fakeWorker("train"));
}

}  // namespace

class TestFullDisk : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;
  const QString program_ = QStringLiteral(HIGHWATER_BIN_DIR "/highwater");

 private slots:
  void saysWhereTheEndIs() {
    const QString disk = folder_.filePath("disk"), copy = folder_.filePath("copy");
    QVERIFY(QDir().mkpath(disk) && QDir().mkpath(copy));
    const Outcome probe =
        runShell("unshare", {"-m", "mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", disk});
    if (probe.exitCode != 0) QSKIP(qPrintable("tmpfs cannot be mounted here: " + probe.err));
    const QString script =
        "mount -t tmpfs -o size=300k tmpfs '" + disk + "' && cd '" + disk + "' && '" + program_ +
        "' record --steps 1000000 -o a.highwater; code=$?; cp -p * '" + copy + "'; exit $code";
    const Outcome run = runShell("unshare", {"-m", "sh", "-c", script});
    QCOMPARE(run.exitCode, int(kExitFailed));
    QVERIFY2(run.err.contains("disk is full"), qPrintable(run.err));
    const bool withWal = QFile::exists(copy + "/a.highwater-wal");
    QVERIFY(withWal);
    QVERIFY2(run.err.contains("its end is in \"a.highwater-wal\"; keep both files"),
             qPrintable(run.err));
    QVERIFY2(run.err.contains("of the training lost"), qPrintable(run.err));
    const Outcome report = runHighwater({"report", copy + "/a.highwater"});
    QVERIFY2(report.exitCode == kExitDone, qPrintable(report.err));
  }

  /// A write() of which a part still fits has no error yet.
  void aPictureThatFitsInPartSaysWhy() {
    const QString recording = folder_.filePath("pictured.highwater");
    const QString disk = folder_.filePath("pictures");
    QVERIFY(QDir().mkpath(disk));
    const Outcome made =
        runHighwater({"record", "--steps", "5", "-o", recording}, fakeWorker("train"));
    QVERIFY2(made.exitCode == kExitDone, qPrintable(made.err));
    const QString script = "mount -t tmpfs -o size=20k tmpfs '" + disk + "' || exit 77; '" +
                           program_ + "' export '" + recording + "' --to '" + disk + "/a.png'";
    const Outcome run = runShell("unshare", {"-m", "sh", "-c", script});
    if (run.exitCode == 77) QSKIP(qPrintable("tmpfs cannot be mounted here: " + run.err));
    QCOMPARE(run.exitCode, int(kExitFailed));
    QVERIFY2(run.err.contains("a.png cannot be written: No space left on device"),
             qPrintable(run.err));
  }

  void theLimitOfAFilesSizeIsAnErrorToo() {
    const QString path = folder_.filePath("limited.highwater");
    const Outcome run = runShell("bash", {"-c", "ulimit -f 200; exec '" + program_ +
                                                    "' record --steps 1000000 -o '" + path + "'"});
    QCOMPARE(run.exitCode, int(kExitFailed));
    QVERIFY2(run.err.contains("could not be written"), qPrintable(run.err));
    QVERIFY2(run.err.contains("limit of a file's size"), qPrintable(run.err));
    QVERIFY2(run.err.contains("of the training lost"), qPrintable(run.err));
    const Outcome report = runHighwater({"report", path});
    QVERIFY2(report.exitCode == kExitDone, qPrintable(report.err));
  }

  void refusesANameTooLongForSQLite_data() {
    QTest::addColumn<int>("length");
    QTest::addColumn<bool>("fits");
    QTest::newRow("247") << 247 << true;
    QTest::newRow("248") << 248 << false;
    QTest::newRow("255") << 255 << false;
    QTest::newRow("300") << 300 << false;
  }
  void refusesANameTooLongForSQLite() {
    QFETCH(int, length);
    QFETCH(bool, fits);
    QTemporaryDir folder;
    const QString path = folder.filePath(QString(length, u'n'));
    const QStringList arguments = {"record", "--steps", "5", "-o", path};
    if (fits) {
      QCOMPARE(runHighwater(arguments, fakeWorker("train")).exitCode, int(kExitDone));
      // Through the hidden file beside it.
      const Outcome again = runHighwater(arguments + QStringList{"--force"}, fakeWorker("train"));
      QVERIFY2(again.exitCode == kExitDone, qPrintable(again.err));
      return;
    }
    // No worker is started: this one would be missing.
    const Outcome run = runHighwater(arguments, {"HIGHWATER_WORKER=/nowhere/worker"});
    QCOMPARE(run.exitCode, int(kExitFailed));
    QVERIFY2(run.err.contains("the name of the recording is too long"), qPrintable(run.err));
    QVERIFY(QDir(folder.path()).isEmpty());
  }

  void aReaderThatLeavesIsNoFailure() {
    const QString path = folder_.filePath("head.highwater");
    const Outcome run = runShell("bash", {"-c", "'" + program_ + "' record --steps 200 -o '" +
                                                    path + "' | head -1; exit ${PIPESTATUS[0]}"});
    QVERIFY2(run.exitCode == kExitDone, qPrintable(run.err));
    QCOMPARE(run.err, QString());
    QCOMPARE(run.out.count(u'\n'), 1);
  }

  void aFullOutputIsAFailure() {
    if (!QFile::exists("/dev/full")) QSKIP("there is no /dev/full");
    const Outcome run = runShell("sh", {"-c", "'" + program_ + "' record --steps 5 -o '" +
                                                  folder_.filePath("full") + "' > /dev/full"});
    QCOMPARE(run.exitCode, int(kExitFailed));
  }
};

HIGHWATER_TEST(TestFullDisk, QCoreApplication)
#include "tst_full_disk.moc"
