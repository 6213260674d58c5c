// `highwater record` and `highwater report` with the real worker on the simulated device.
#include <signal.h>

#include "analysis/live_store.h"
#include "core/clock.h"
#include "core/exit_codes.h"
#include "e2e/runs.h"
#include "run/recording_loader.h"
#include "support/processes.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;

class TestRecord : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<QTemporaryDir> folder_;

  [[nodiscard]] QString path(const char* name) const {
    return folder_->filePath(QLatin1String(name));
  }
  [[nodiscard]] QStringList files() const {
    return QDir(folder_->path()).entryList(QDir::Files | QDir::Hidden);
  }
  /// A long run some of whose steps are in the file.
  std::unique_ptr<QProcess> startLongRun() const {
    auto process = std::make_unique<QProcess>();
    process->setProcessChannelMode(QProcess::MergedChannels);
    process->start(HIGHWATER_BIN_DIR "/highwater",
                   {"record", "--device", "sim", "--steps", "100000", "--batch", "4", "--seq", "16",
                    "-o", path("a.highwater")});
    const bool began = QTest::qWaitFor(
        [&] {
          analysis::LiveStore store;
          return run::loadReadablePart(path("a.highwater").toStdString(), store).ok() &&
                 store.steps().records.size() >= 3;
        },
        kWaitMs);
    if (!began) qWarning("%s", process->readAll().constData());
    return began ? std::move(process) : nullptr;
  }

 private slots:
  void init() { folder_ = std::make_unique<QTemporaryDir>(); }

  void recordsAndReportsARun() {
    const QString file = path("a.highwater");
    const Outcome run =
        runHighwater({"record", "--device", "sim", "--steps", "60", "--batch", "16", "--seq", "64",
                      "--set", "30:batch=32", "--loss-every", "5", "-o", file});
    QVERIFY2(run.exitCode == kExitDone, qPrintable(run.err));
    QVERIFY2(run.out.contains("simulated"), qPrintable(run.out));
    QCOMPARE(files(), QStringList{"a.highwater"});

    const Outcome outcome = runHighwater({"report", file, "--json"});
    QCOMPARE(outcome.exitCode, int(kExitDone));
    const QJsonObject report = jsonOf(outcome);
    QCOMPARE(report["schema"].toInt(), 3);
    QCOMPARE(report["device"].toString(), QString("mps"));
    QCOMPARE(report["simulated"].toBool(), true);
    QCOMPARE(report["steps"].toInt(), 60);
    QVERIFY(report["step_ms"]["p50"].toDouble() > 0);
    QVERIFY(report["step_ms"]["p95"].toDouble() >= report["step_ms"]["p50"].toDouble());
    QVERIFY(report["tokens_per_s"].toDouble() > 0);
    QVERIFY(report["loss"]["last"].toDouble() < report["loss"]["first"].toDouble());
    QVERIFY(report["held_out_accuracy"].toDouble() > 0.34);
    QVERIFY(report["memory"]["current_peak"].toInteger() > 0);
    QVERIFY(report["memory"]["driver_peak"].toInteger() >=
            report["memory"]["current_peak"].toInteger());
    QVERIFY(report["memory"]["recommended"].toInteger() > 0);
    for (const char* phase :
         {"batch_assembly", "device_move", "forward", "loss_read", "backward", "optimizer_step"}) {
      QVERIFY2(report["phases"][QLatin1String(phase)].toDouble() > 0, phase);
    }
    int lossReads = 0;
    for (const QJsonValue& sync : report["sync_points"].toArray()) {
      QVERIFY(sync["count"].toInt() > 0 && sync["total_ms"].toDouble() > 0);
      if (sync["op"] == "aten::_local_scalar_dense") lossReads += sync["count"].toInt();
    }
    QVERIFY(lossReads >= 12);
    QVERIFY(report["fallbacks"].isArray());
    QCOMPARE(report["dropped"].toInt(-1), 0);
    QCOMPARE(report["end"]["reason"].toString(), QString("finished"));
    bool foundBatchMarker = false;
    for (const QJsonValue& marker : report["markers"].toArray()) {
      if (marker["kind"] != "batch_size") continue;
      foundBatchMarker = true;
      QCOMPARE(marker["step"].toInt(), 30);
      QVERIFY(marker["text"].toString().contains("32"));
    }
    QVERIFY(foundBatchMarker);

    analysis::LiveStore store;
    QVERIFY(run::loadRecording(file.toStdString(), store));
    for (const events::StepRecord& step : store.steps().records) {
      QCOMPARE(step.batch_size(), step.step() < 30 ? 16u : 32u);
      QCOMPARE(step.loss_read() != 0, step.step() == 1 || step.step() % 5 == 0);
    }
  }

  void survivesTheDeathOfTheWorker() {
    const auto process = startLongRun();
    QVERIFY(process);
    const qint64 worker = workerOf(process->processId());
    QVERIFY(worker > 0);
    const std::int64_t killedAtNs = unixNs();
    QCOMPARE(::kill(static_cast<pid_t>(worker), SIGKILL), 0);
    QVERIFY(process->waitForFinished(kWaitMs));
    QCOMPARE(process->exitCode(), int(kExitEndedEarly));
    const QByteArray said = process->readAll();
    QVERIFY2(said.contains("killed by signal 9 (SIGKILL) in step"), said.constData());

    QCOMPARE(files(), QStringList{"a.highwater"});
    analysis::LiveStore store;
    QVERIFY(run::loadRecording(path("a.highwater").toStdString(), store));
    QVERIFY(!store.steps().records.empty());
    QVERIFY(store.end()->reason == RunEnd::Reason::kCrashed);
    QCOMPARE(store.end()->signal, 9);
    const std::int64_t lastNs = store.hello()->clock.unixEpochNs + store.completeUpToNs();
    qInfo("recorded up to %.0f ms before the kill", double(killedAtNs - lastNs) / 1e6);
    // At most 250 ms on an idle machine. This limit only detects a recording without its end.
    QVERIFY(killedAtNs - lastNs < 20'000'000'000);
  }

  void takesTheWorkerWithIt() {
    const auto process = startLongRun();
    QVERIFY(process);
    const qint64 worker = workerOf(process->processId());
    QVERIFY(worker > 0 && !isGone(worker));
    const std::int64_t killedAtNs = unixNs();
    process->kill();
    QVERIFY(process->waitForFinished(kWaitMs));
    QTRY_VERIFY_WITH_TIMEOUT(isGone(worker), kWaitMs);

    // The file was never closed, and opens.
    analysis::LiveStore store;
    const auto loaded = run::loadRecording(path("a.highwater").toStdString(), store);
    QVERIFY2(loaded.ok(), loaded ? "" : loaded.error().message.c_str());
    QVERIFY(!store.steps().records.empty());
    QVERIFY(!store.end());
    const std::int64_t lastNs = store.hello()->clock.unixEpochNs + store.completeUpToNs();
    qInfo("recorded up to %.0f ms before the kill", double(killedAtNs - lastNs) / 1e6);
    const Outcome report = runHighwater({"report", path("a.highwater")});
    QCOMPARE(report.exitCode, int(kExitDone));
    QVERIFY(report.out.simplified().contains("killed or crashed: no end was written"));
  }

  void refusesAnOpThatPyTorchDoesNotKnow() {
    const auto record = [this](const char* op) {
      return runHighwater({"record", "--device", "sim", "--steps", "2", "--accept-fallback",
                           QString("%1=once an epoch").arg(op), "-o", path("a.highwater")});
    };
    const Outcome typo = record("aten::embeding_renorm_");
    QCOMPARE(typo.exitCode, int(kExitUsage));
    QVERIFY2(typo.err.contains("has no op \"aten::embeding_renorm_\"; did you mean "
                               "aten::embedding_renorm_"),
             qPrintable(typo.err));
    // With its overload, as doctor prints it.
    QVERIFY(record("linalg_svd.U").err.contains("did you mean aten::linalg_svd"));
    QVERIFY(files().isEmpty());
    const Outcome known = record("embedding_renorm_");
    QVERIFY2(known.exitCode == kExitDone, qPrintable(known.err));
  }

  void saysWhatToDoAboutAMissingOp() {
    const Outcome run =
        runHighwater({"record", "--device", "sim", "--steps", "2", "--scenario", "clean",
                      "--sim-missing-ops", "gelu", "-o", path("a.highwater")});
    QCOMPARE(run.exitCode, int(kExitFailed));
    for (const char* part :
         {"The operator 'aten::gelu' is not currently implemented for the MPS device; ",
          "--fallback", "PYTORCH_ENABLE_MPS_FALLBACK=1",
          "highwater doctor --workload --scenario clean"}) {
      QVERIFY2(run.err.contains(QLatin1String(part)), qPrintable(run.err));
    }
  }

  void endsAStalledRun() {
    const Outcome run = runHighwater({"record", "--device", "sim", "--steps", "9", "--sim-hang-at",
                                      "300", "--end-stalled", "-o", path("a.highwater")},
                                     {"HIGHWATER_HANG_TIMEOUT_MS=5000"});
    QCOMPARE(run.exitCode, int(kExitEndedEarly));
    for (const QString& part :
         {QString(" has stood in "), QString(" after 5000 ms without progress"),
          "'highwater report " + path("a.highwater"), QString("raise HIGHWATER_HANG_TIMEOUT_MS")}) {
      QVERIFY2(run.err.contains(part), qPrintable(run.err));
    }
    QCOMPARE(runHighwater({"report", path("a.highwater")}).exitCode, int(kExitDone));
  }
};

HIGHWATER_TEST(TestRecord, QCoreApplication)
#include "tst_record.moc"
