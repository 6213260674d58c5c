#include <sys/stat.h>

#include <QFileInfo>

#include "core/exit_codes.h"
#include "support/run_program.h"
#include "support/test_program.h"

using namespace highwater;
using highwater::test::runHighwater;

class TestDoctor : public QObject {
  Q_OBJECT

 private slots:
  void asksTheWorker() {
    const QStringList fake = {QStringLiteral("HIGHWATER_WORKER=") + HIGHWATER_FAKE_WORKER};
    const auto text = runHighwater({"doctor"}, fake);
    QCOMPARE(text.exitCode, int(kExitDone));
    for (const char* part :
         {"MPS built", "MPS available", "simulated mps", "PyTorch", "recommended max",
          "high watermark", "13.60 GiB (1.70", "PYTORCH_ENABLE_MPS_FALLBACK", "macOS 14", "python3",
          "install libopenblas0-pthread"}) {
      QVERIFY2(text.out.contains(QLatin1String(part)), part);
    }
    const auto outcome = runHighwater({"doctor", "--json"}, fake);
    QCOMPARE(outcome.exitCode, int(kExitDone));
    const QJsonObject report = QJsonDocument::fromJson(outcome.out.toUtf8()).object();
    QCOMPARE(report["schema"].toInt(), 1);
    QCOMPARE(report["device"]["selected"].toString(), QString("mps"));
    QCOMPARE(report["device"]["simulated"].toBool(), true);
    QCOMPARE(report["device"]["mps_built"].toBool(true), false);
    QCOMPARE(report["memory"]["recommended"].toInteger(), qint64{8} << 30);
    QCOMPARE(report["system"]["macos_minimum"].toString(), QString("14"));
    QVERIFY(report["worker"]["answered"].toBool());
    QVERIFY(report["worker"]["error"].isNull());
    QCOMPARE(report["versions"]["torch"].toString(), QString("2.13.0"));
    QCOMPARE(report["versions"]["blas"].toString(),
             QString("reference BLAS (/usr/lib/blas/libblas.so.3)"));
    bool foundFallback = false;
    for (const QJsonValue& entry : report["environment"].toArray()) {
      if (entry["name"] != "PYTORCH_ENABLE_MPS_FALLBACK") continue;
      foundFallback = true;
      QCOMPARE(entry["value"].toString(), QString("1"));
      QVERIFY(entry["meaning"].toString().contains("CPU"));
    }
    QVERIFY(foundFallback);
  }

  void asksAnInterpreter() {
    const QTemporaryDir folder;
    const auto missing = runHighwater({"doctor", "--python", folder.filePath("python")});
    QCOMPARE(missing.exitCode, int(kExitUsage));
    QVERIFY2(missing.err.contains("there is no interpreter"), qPrintable(missing.err));
    const auto other = runHighwater({"doctor", "--python", "/bin/sh"});
    QCOMPARE(other.exitCode, int(kExitFailed));
    QVERIFY2(other.err.contains("does not work as a Python 3 interpreter"), qPrintable(other.err));
    QCOMPARE(runHighwater({"doctor", "--python", "x", "--selftest"}).exitCode, int(kExitUsage));
#ifdef HIGHWATER_PYTHON
    const auto good = runHighwater({"doctor", "--python", HIGHWATER_PYTHON});
    QVERIFY2(good.exitCode == int(kExitDone), qPrintable(good.err));
    QVERIFY2(good.out.contains("came with Highwater"), qPrintable(good.out));
    // A package in front of the real one, as an old installation may be.
    QVERIFY(QDir(folder.path()).mkdir("torch"));
    QFile package(folder.filePath("torch/__init__.py")),
        version(folder.filePath("torch/version.py"));
    QVERIFY(package.open(QIODevice::WriteOnly) && version.open(QIODevice::WriteOnly));
    version.write("__version__ = '2.5.1'\ngit_version = 'abc'\n");
    version.close();
    const auto old = runHighwater({"doctor", "--json", "--python", HIGHWATER_PYTHON},
                                  {"PYTHONPATH=" + folder.path()});
    QCOMPARE(old.exitCode, int(kExitFailed));
    QVERIFY2(old.err.contains("PyTorch 2.5.1 is too old"), qPrintable(old.err));
    const QJsonObject report = QJsonDocument::fromJson(old.out.toUtf8()).object();
    QVERIFY2(report["problem"].toString().contains("too old"), qPrintable(old.out));
#endif
  }

  void testsItsFileFirst() {
    const QTemporaryDir folder;
    const QString kept = folder.filePath("kept.json");
    QFile file(kept);
    QVERIFY(file.open(QIODevice::WriteOnly) && file.write("{\"a\": 1}") == 8);
    file.close();
    // The error would name this missing worker if it were started.
    const QStringList none = {"HIGHWATER_WORKER=/nowhere/highwater-worker"};
    for (const char* question : {"--selftest", "--workload", ""}) {
      QStringList line = {"doctor", "--json", folder.filePath("none/report.json")};
      if (*question != '\0') line << QLatin1String(question);
      const auto refused = runHighwater(line, none);
      QCOMPARE(refused.exitCode, int(kExitFailed));
      QVERIFY2(refused.err.contains("none/report.json cannot be written: "),
               qPrintable(refused.err));
      QVERIFY2(!refused.err.contains("/nowhere") && refused.out.isEmpty(),
               qPrintable(refused.err + refused.out));
    }
    const auto failed = runHighwater({"doctor", "--selftest", "--json", kept}, none);
    QVERIFY2(failed.err.contains("/nowhere"), qPrintable(failed.err));
    // Its report is the one that is wanted: it says why nothing could be checked.
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QJsonObject report = QJsonDocument::fromJson(file.readAll()).object();
    QVERIFY(report["problem"].toString().contains("/nowhere"));
    QVERIFY(report["checks"].toArray().isEmpty() && !report["complete"].toBool());
    QCOMPARE(QDir(folder.path()).entryList(QDir::Files | QDir::Hidden), QStringList{"kept.json"});
  }

  void overwritesOnlyJson() {
    const QTemporaryDir folder;
    const QString path = folder.filePath("run.highwater");
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly) && file.write("SQLite format 3") == 15);
    file.close();
    const auto refused = runHighwater({"doctor", "--json", path}, {});
    QCOMPARE(refused.exitCode, int(kExitFailed));
    QVERIFY2(refused.err.contains("run.highwater exists and is not JSON"), qPrintable(refused.err));
    QVERIFY(file.open(QIODevice::ReadOnly));
    QCOMPARE(file.readAll(), QByteArray("SQLite format 3"));
  }

  void replacesNoDevice() {
    const QTemporaryDir folder;
    const QString pipe = folder.filePath("pipe");
    QCOMPARE(::mkfifo(pipe.toLocal8Bit().constData(), 0600), 0);
    const auto refused = runHighwater({"doctor", "--json", pipe}, {});
    QCOMPARE(refused.exitCode, int(kExitFailed));
    QVERIFY2(refused.err.contains("pipe is not a regular file"), qPrintable(refused.err));
    QVERIFY(!QFileInfo(pipe).isFile());
  }

  void worksWithoutAWorker() {
    const QStringList none = {"HIGHWATER_WORKER=/nowhere/highwater-worker"};
    const auto text = runHighwater({"doctor"}, none);
    QCOMPARE(text.exitCode, int(kExitFailed));
    QVERIFY(text.out.contains("no answer: HIGHWATER_WORKER names /nowhere/highwater-worker"));
    QVERIFY(text.out.contains("PYTORCH_MPS_HIGH_WATERMARK_RATIO"));
    QVERIFY(text.err.contains("/nowhere/highwater-worker"));
    const auto outcome = runHighwater({"doctor", "--json"}, none);
    QCOMPARE(outcome.exitCode, int(kExitFailed));
    const QJsonObject report = QJsonDocument::fromJson(outcome.out.toUtf8()).object();
    QVERIFY(report["device"].isNull());
    QVERIFY(!report["worker"]["answered"].toBool(true));
    QVERIFY(report["worker"]["error"].toString().contains("/nowhere"));
    QVERIFY(report["versions"]["qt"].toString().startsWith("6."));
  }
};

HIGHWATER_TEST(TestDoctor, QCoreApplication)
#include "tst_doctor.moc"
