#include "support/run_program.h"
#include "support/test_program.h"

using highwater::test::runProgram;

/// Runs the checks of the simulated device (check_*.cpp), each in its own process: the library
/// reads its environment when it is loaded, and torch and Qt headers do not mix.
class SimmpsDevice : public QObject {
  Q_OBJECT

 private:
  /// Runs checks one after another in one process; stops at the first that fails, and names it.
  static highwater::test::Outcome check(const QStringList& names, const QStringList& environment) {
    highwater::test::Outcome outcome =
        runProgram(SIMMPS_CHECK, QStringList{SIMMPS_LIBRARY} + names, environment);
    outcome.out += outcome.err;
    return outcome;
  }

 private slots:
  /// Whoever runs the tests may have set them.
  void initTestCase() {
    for (const char* own : {"HIGHWATER_SIM_RECOMMENDED_MAX", "HIGHWATER_SIM_QUEUE",
                            "PYTORCH_MPS_HIGH_WATERMARK_RATIO", "PYTORCH_MPS_LOW_WATERMARK_RATIO",
                            "PYTORCH_ENABLE_MPS_FALLBACK"}) {
      qunsetenv(own);
    }
  }

  void holds_data() {
    QTest::addColumn<QStringList>("names");
    QTest::addColumn<QStringList>("environment");
    const QString limit = "HIGHWATER_SIM_RECOMMENDED_MAX=64MiB";
    const auto add = [](const QStringList& names, const QStringList& environment = {}) {
      QTest::addRow("%s %s", qPrintable(names.first()), qPrintable(environment.join(' ')))
          << names << environment;
    };
    // What leaves nothing behind shares a process, whose start takes longer than the check.
    for (const char* mode : {"HIGHWATER_SIM_QUEUE=async", "HIGHWATER_SIM_QUEUE=sync",
                             "HIGHWATER_SIM_COMMIT=deferred", "HIGHWATER_SIM_COMMIT=deferred:7"}) {
      add({"workloadOpsMatchTheCpu", "attentionMatchesTheCpu", "randomNumbersMatchTheCpu",
           "copiesKeepValues"},
          {mode});
      // To the last bit only where no sum is split among threads: with two they differed in one of
      // 640 runs on a busy machine, by how LayerNorm's backward adds up.
      add({"classifierLossesMatchTheCpu", "clippedLossesMatchTheCpu"}, {mode, "OMP_NUM_THREADS=1"});
    }
    add({"cnnLossesMatchTheCpu", "lstmLossesMatchTheCpu"});
    add({"cnnLossesMatchTheCpu", "lstmLossesMatchTheCpu"}, {"OMP_NUM_THREADS=1"});
    add({"optimizersMatchTheCpu", "embeddingWithMaxNormMatchesTheCpu", "outTensorsAreSized",
         "hostScalarsPassThroughTheDevice", "indicesMayBeOnTheHost", "someOpsAlwaysFallBack",
         "missingOpIsNotImplemented"});
    add({"sizesThatDoNotFitAreRefusedAtOnce", "argumentsAreRefusedAtOnce",
         "attentionRefusesWhatTheCpuRefuses", "float64IsRefused", "mixedDevicesAreRefused",
         "convolutionIsOnOneDevice", "deviceErrorsNameTheirOp"});
    add({"exceptionsOfAnyTypeNameTheirOp"});
    add({"countersAreExact"}, {limit});
    add({"deviceStatisticsKeepPeaks"});
    add({"graphsAreInDriverOnly"}, {limit, "HIGHWATER_SIM_GRAPH_CACHE=5MiB"});
    add({"fusedOpsHaveOneGraph"}, {"HIGHWATER_SIM_GRAPH_CACHE=1MiB"});
    add({"nthAllocationIsRefused"}, {"HIGHWATER_SIM_OOM_AT=2"});
    add({"outOfMemoryHasPyTorchsText"}, {limit});
    add({"outOfMemoryMayBeAPlainError"}, {limit, "HIGHWATER_SIM_OOM_ERROR=plain"});
    add({"outOfMemoryWithoutLimit"}, {limit, "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0"});
    add({"outOfMemoryComesOutOfBackward"}, {limit});
    add({"missingOpIsNotImplemented"}, {"PYTORCH_ENABLE_MPS_FALLBACK=0"});
    add({"missingOpFallsBack"}, {"PYTORCH_ENABLE_MPS_FALLBACK=1"});
    const QString taken = "HIGHWATER_SIM_MISSING_OPS=gelu,aten::native_layer_norm";
    add({"opsCanBeRemoved"}, {taken});
    add({"removedOpsFallBack"}, {taken, "PYTORCH_ENABLE_MPS_FALLBACK=1"});
    add({"deviceWorkIsNotObserved"});
    add({"eventsFollowTheQueue"});
    add({"eventsFollowTheQueue"}, {"HIGHWATER_SIM_NOTICES=late"});
    add({"heapsMayPassTheHighWatermark"}, {limit, "HIGHWATER_SIM_LIMIT=requests"});
    add({"releaseWaitsForTheQueue"});
  }
  void holds() {
    QFETCH(QStringList, names);
    QFETCH(QStringList, environment);
    const highwater::test::Outcome outcome = check(names, environment);
    QVERIFY2(outcome.exitCode == 0, qPrintable(outcome.out));
  }

  void loadsAndReportsItsVersion() {
    const highwater::test::Outcome outcome = check({}, {});
    QCOMPARE(outcome.exitCode, 0);
    QVERIFY2(outcome.out.startsWith("highwater-simmps "), qPrintable(outcome.out));
  }

  void refusesToBeASecondDevice() {
    QTemporaryDir folder;
    const QString copy = folder.filePath("libanother.so");
    const QString device = "libhighwater_simmps_device.so";
    QVERIFY(QFile::copy(SIMMPS_LIBRARY, copy));
    QVERIFY(QFile::copy(QFileInfo(SIMMPS_LIBRARY).dir().filePath(device), folder.filePath(device)));
    const highwater::test::Outcome outcome =
        check({"secondDeviceIsRefused"}, {"SIMMPS_COPY=" + copy});
    QVERIFY2(outcome.exitCode == 0, qPrintable(outcome.out));
  }

  void refusesToLoadAfterMpsWasAskedFor() {
    QTemporaryDir folder;
    QFile ledger(folder.filePath("ledger"));
    const QByteArray kept = "{\"event\":\"header\"}\nof an earlier run\n";
    QVERIFY(ledger.open(QIODevice::ReadWrite) && ledger.write(kept) == kept.size() &&
            ledger.flush());
    const highwater::test::Outcome outcome =
        check({"--ask-first"}, {"HIGHWATER_SIM_LEDGER=" + ledger.fileName()});
    QCOMPARE(outcome.exitCode, 1);
    QVERIFY2(outcome.out.contains("load it first"), qPrintable(outcome.out));
    QVERIFY(ledger.seek(0));
    QCOMPARE(ledger.readAll(), kept);
  }

  void refusesBadSettings_data() {
    QTest::addColumn<QString>("setting");
    QTest::addColumn<QString>("allowed");
    QTest::newRow("recommended") << "HIGHWATER_SIM_RECOMMENDED_MAX=many"
                                 << "16 MiB to 1024 GiB";
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
    const highwater::test::Outcome outcome = check({}, {setting});
    QCOMPARE(outcome.exitCode, 1);
    QVERIFY2(outcome.out.contains("refused: " + setting.section('=', 0, 0) + ": "),
             qPrintable(outcome.out));
    QVERIFY2(outcome.out.contains(allowed), qPrintable(outcome.out));
    QVERIFY2(!outcome.out.contains("there is MPS"), qPrintable(outcome.out));
  }
};

HIGHWATER_TEST(SimmpsDevice, QCoreApplication)
#include "tst_simmps_device.moc"
