#include <QProcess>
#include <QTemporaryDir>
#include <QtTest>

#include "support/test_program.h"

/// Runs the checks of the simulated device (check_*.cpp), each in its own process: the library
/// reads its environment when it is loaded, and torch and Qt headers do not mix.
class SimmpsDevice : public QObject {
  Q_OBJECT

 private:
  struct Outcome {
    int exitCode = -1;
    QString output;
  };

  Outcome check(const QString& name, const QStringList& environment) {
    QProcess process;
    QProcessEnvironment variables = QProcessEnvironment::systemEnvironment();
    for (const char* own : {"HIGHWATER_SIM_RECOMMENDED_MAX", "HIGHWATER_SIM_QUEUE",
                            "PYTORCH_MPS_HIGH_WATERMARK_RATIO", "PYTORCH_MPS_LOW_WATERMARK_RATIO",
                            "PYTORCH_ENABLE_MPS_FALLBACK"}) {
      variables.remove(own);
    }
    for (const QString& each : environment) {
      variables.insert(each.section('=', 0, 0), each.section('=', 1));
    }
    process.setProcessEnvironment(variables);
    process.setProcessChannelMode(QProcess::MergedChannels);
    QStringList arguments{SIMMPS_LIBRARY};
    if (!name.isEmpty()) arguments << name;
    process.start(SIMMPS_CHECK, arguments);
    if (!process.waitForFinished(100000)) return {-1, "did not end: " + process.errorString()};
    return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1,
            QString::fromUtf8(process.readAll()).trimmed()};
  }

 private slots:
  void holds_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QStringList>("environment");
    const QString limit = "HIGHWATER_SIM_RECOMMENDED_MAX=64MiB";
    const auto add = [](const char* name, const QStringList& environment = {}) {
      QTest::addRow("%s %s", name, qPrintable(environment.join(' '))) << name << environment;
    };
    for (const char* mode : {"HIGHWATER_SIM_QUEUE=async", "HIGHWATER_SIM_QUEUE=sync",
                             "HIGHWATER_SIM_COMMIT=deferred", "HIGHWATER_SIM_COMMIT=deferred:7"}) {
      add("workloadOpsMatchTheCpu", {mode});
      add("attentionMatchesTheCpu", {mode});
      add("randomNumbersMatchTheCpu", {mode});
      add("copiesKeepValues", {mode});
      add("classifierLossesMatchTheCpu", {mode});
      add("clippedLossesMatchTheCpu", {mode});
    }
    for (const QStringList& threads : {QStringList(), QStringList("OMP_NUM_THREADS=1")}) {
      add("cnnLossesMatchTheCpu", threads);
      add("lstmLossesMatchTheCpu", threads);
    }
    add("classifierLossesMatchTheCpu", {"OMP_NUM_THREADS=1"});
    add("optimizersMatchTheCpu");
    add("embeddingWithMaxNormMatchesTheCpu");
    add("outTensorsAreSized");
    add("sizesThatDoNotFitAreRefusedAtOnce");
    add("argumentsAreRefusedAtOnce");
    add("attentionRefusesWhatTheCpuRefuses");
    add("float64IsRefused");
    add("mixedDevicesAreRefused");
    add("indicesMayBeOnTheHost");
    add("convolutionIsOnOneDevice");
    add("deviceErrorsNameTheirOp");
    add("exceptionsOfAnyTypeNameTheirOp");
    add("eventsWaitForEarlierJobsOnly", {"HIGHWATER_SIM_LAUNCH_DELAY=300ms"});
    add("seedsHoldAfterAFailure");
    add("countersAreExact", {limit});
    add("hostScalarsPassThroughTheDevice");
    add("deviceStatisticsKeepPeaks");
    add("graphsAreInDriverOnly", {limit, "HIGHWATER_SIM_GRAPH_CACHE=5MiB"});
    add("fusedOpsHaveOneGraph", {"HIGHWATER_SIM_GRAPH_CACHE=1MiB"});
    add("nthAllocationIsRefused", {"HIGHWATER_SIM_OOM_AT=2"});
    add("outOfMemoryHasPyTorchsText", {limit});
    add("outOfMemoryMayBeAPlainError", {limit, "HIGHWATER_SIM_OOM_ERROR=plain"});
    add("outOfMemoryWithoutLimit", {limit, "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0"});
    add("outOfMemoryComesOutOfBackward", {limit});
    add("missingOpIsNotImplemented");
    add("missingOpIsNotImplemented", {"PYTORCH_ENABLE_MPS_FALLBACK=0"});
    add("missingOpFallsBack", {"PYTORCH_ENABLE_MPS_FALLBACK=1"});
    const QString taken = "HIGHWATER_SIM_MISSING_OPS=gelu,aten::native_layer_norm";
    add("opsCanBeRemoved", {taken});
    add("removedOpsFallBack", {taken, "PYTORCH_ENABLE_MPS_FALLBACK=1"});
    add("someOpsAlwaysFallBack");
    add("deviceWorkIsNotObserved");
    add("eventsFollowTheQueue");
    add("eventsFollowTheQueue", {"HIGHWATER_SIM_NOTICES=late"});
    add("heapsMayPassTheHighWatermark", {limit, "HIGHWATER_SIM_LIMIT=requests"});
    add("releaseWaitsForTheQueue");
  }
  void holds() {
    QFETCH(QString, name);
    QFETCH(QStringList, environment);
    const Outcome outcome = check(name, environment);
    QVERIFY2(outcome.exitCode == 0, qPrintable(outcome.output));
  }

  void loadsAndReportsItsVersion() {
    const Outcome outcome = check({}, {});
    QCOMPARE(outcome.exitCode, 0);
    QVERIFY2(outcome.output.startsWith("highwater-simmps "), qPrintable(outcome.output));
  }

  void refusesToBeASecondDevice() {
    QTemporaryDir folder;
    const QString copy = folder.filePath("libanother.so");
    const QString device = "libhighwater_simmps_device.so";
    QVERIFY(QFile::copy(SIMMPS_LIBRARY, copy));
    QVERIFY(QFile::copy(QFileInfo(SIMMPS_LIBRARY).dir().filePath(device), folder.filePath(device)));
    const Outcome outcome = check("secondDeviceIsRefused", {"SIMMPS_COPY=" + copy});
    QVERIFY2(outcome.exitCode == 0, qPrintable(outcome.output));
  }

  void refusesToLoadAfterMpsWasAskedFor() {
    QTemporaryDir folder;
    QFile ledger(folder.filePath("ledger"));
    const QByteArray kept = "{\"event\":\"header\"}\nof an earlier run\n";
    QVERIFY(ledger.open(QIODevice::ReadWrite) && ledger.write(kept) == kept.size() &&
            ledger.flush());
    const Outcome outcome = check("--ask-first", {"HIGHWATER_SIM_LEDGER=" + ledger.fileName()});
    QCOMPARE(outcome.exitCode, 1);
    QVERIFY2(outcome.output.contains("load it first"), qPrintable(outcome.output));
    QVERIFY(ledger.seek(0));
    QCOMPARE(ledger.readAll(), kept);
  }

  void refusesBadSettings_data() {
    QTest::addColumn<QString>("setting");
    QTest::addColumn<QString>("allowed");
    QTest::newRow("recommended") << "HIGHWATER_SIM_RECOMMENDED_MAX=many"
                                 << "16 MiB to 1024 GiB";
    QTest::newRow("high") << "PYTORCH_MPS_HIGH_WATERMARK_RATIO=2.5"
                          << "0.0 (no limit) to 2.0";
    QTest::newRow("low") << "PYTORCH_MPS_LOW_WATERMARK_RATIO=1.8"
                         << "0.0 (off) to 1.7";
    QTest::newRow("queue") << "HIGHWATER_SIM_QUEUE=maybe"
                           << "sync or async";
    QTest::newRow("commit") << "HIGHWATER_SIM_COMMIT=deferred:0"
                            << "eager, deferred, or deferred:N with N from 1 to 4096";
    QTest::newRow("ledger") << "HIGHWATER_SIM_LEDGER=/no/such/folder/ledger"
                            << "give a file in a folder that exists";
    QTest::newRow("unknown op") << "HIGHWATER_SIM_MISSING_OPS=relu,gellu"
                                << "\"aten::gellu\" is not allowed; give names of aten ops";
    QTest::newRow("composite op") << "HIGHWATER_SIM_MISSING_OPS=einsum"
                                  << "this one is composed of other ops";
  }
  void refusesBadSettings() {
    QFETCH(QString, setting);
    QFETCH(QString, allowed);
    const Outcome outcome = check({}, {setting});
    QCOMPARE(outcome.exitCode, 1);
    QVERIFY2(outcome.output.contains("refused: " + setting.section('=', 0, 0) + ": "),
             qPrintable(outcome.output));
    QVERIFY2(outcome.output.contains(allowed), qPrintable(outcome.output));
    QVERIFY2(!outcome.output.contains("there is MPS"), qPrintable(outcome.output));
  }
};

HIGHWATER_TEST(SimmpsDevice, QCoreApplication)
#include "tst_simmps_device.moc"
