// record, report and accept on a recording that another process is writing.
#include <signal.h>

#include <QFileInfo>

#include "core/exit_codes.h"
#include "support/recording_file.h"
#include "support/run_program.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;

namespace {

QStringList fake(const char* mode) {
  return {QStringLiteral("HIGHWATER_WORKER=") + HIGHWATER_FAKE_WORKER,
          QStringLiteral("FAKE_WORKER=") + QLatin1String(mode)};
}

}  // namespace

class TestRecordingInUse : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<QTemporaryDir> folder_;
  QString path_;

  /// Starts a run that ends only on request, and waits until its recording has steps. nullptr: it
  /// has none in time.
  std::unique_ptr<QProcess> startLongRun() const {
    auto process = std::make_unique<QProcess>();
    process->setProcessEnvironment(test::environmentWith(fake("train")));
    process->start(HIGHWATER_BIN_DIR "/highwater", {"record", "--steps", "1000000", "-o", path_});
    const auto hasSteps = [this] {
      return QFile::exists(path_) && reportOf()["steps"].toInt() > 0;
    };
    return QTest::qWaitFor(hasSteps, kWaitMs) ? std::move(process) : nullptr;
  }
  [[nodiscard]] QJsonObject reportOf() const {
    return QJsonDocument::fromJson(runHighwater({"report", path_, "--json"}).out.toUtf8()).object();
  }
  [[nodiscard]] QStringList files() const {
    return QDir(folder_->path()).entryList(QDir::Files | QDir::Hidden);
  }
  static bool interrupt(QProcess& process) {
    ::kill(static_cast<pid_t>(process.processId()), SIGINT);
    return process.waitForFinished(kWaitMs);
  }

 private slots:
  void init() {
    folder_ = std::make_unique<QTemporaryDir>();
    path_ = folder_->filePath("a.highwater");
  }

  void aSecondRunIsRefused() {
    const auto first = startLongRun();
    QVERIFY(first);
    // The error would name this missing worker if it were started.
    for (const QStringList& force : {QStringList(), QStringList{"--force"}}) {
      const Outcome second =
          runHighwater(QStringList{"record", "--steps", "5", "-o", path_} + force,
                       QStringList{"HIGHWATER_WORKER=/nowhere/worker"});
      QCOMPARE(second.exitCode, int(kExitFailed));
      QVERIFY2(second.err.contains("a.highwater\" is being written by a running process; wait"),
               qPrintable(second.err));
    }
    const Outcome accept =
        runHighwater({"accept", path_, "--fallback", "gelu", "--reason", "rare"});
    QCOMPARE(accept.exitCode, int(kExitFailed));
    QVERIFY2(accept.err.contains("is being written"), qPrintable(accept.err));
    QVERIFY(interrupt(*first));
    QCOMPARE(first->exitCode(), int(kExitEndedEarly));
    const QJsonObject report = reportOf();
    QCOMPARE(report["end"]["reason"].toString(), QString("stopped"));
    QCOMPARE(files(), QStringList{"a.highwater"});
  }

  void theReportTellsARunThatGoesOnFromOneThatWasKilled() {
    const auto run = startLongRun();
    QVERIFY(run);
    QVERIFY(test::reportText(path_).contains("not yet: the recording is being written"));
    const QJsonObject report = reportOf();
    QVERIFY(report["being_written"].toBool() && report["end"].isNull());
    run->kill();
    QVERIFY(run->waitForFinished(kWaitMs));
    QVERIFY(test::reportText(path_).contains("killed or crashed: no end was written"));
    QVERIFY(!reportOf()["being_written"].toBool());
  }

  void aReplacedRecordingEndsItsRun() {
    const auto run = startLongRun();
    QVERIFY(run);
    const QString other = test::recordIn(*folder_, "b.highwater", test::makeSampleRun());
    QCOMPARE(::rename(qPrintable(other), qPrintable(path_)), 0);
    QVERIFY(run->waitForFinished(kWaitMs));
    QCOMPARE(run->exitCode(), int(kExitFailed));
    const QByteArray said = run->readAllStandardError();
    QVERIFY2(said.contains("another file has its name now"), said.constData());
    QCOMPARE(reportOf()["steps"].toInt(), 60);
    QVERIFY(reportOf()["damage"].toArray().isEmpty());
  }
};

HIGHWATER_TEST(TestRecordingInUse, QCoreApplication)
#include "tst_recording_in_use.moc"
