// `highwater record --on-abort restart` with real workers that are killed.
#include <signal.h>

#include "analysis/live_store.h"
#include "core/exit_codes.h"
#include "run/abort_recovery.h"
#include "run/recording_loader.h"
#include "support/processes.h"
#include "support/run_program.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;

namespace {

QStringList record(const QString& output, const QStringList& more) {
  return QStringList{"record", "--device", "sim", "--seq", "16",  "--batch",
                     "12",     "--seed",   "3",   "-o",    output} +
         more;
}

/// What has been recorded so far.
std::optional<analysis::LiveStore> read(const QString& path) {
  analysis::LiveStore store;
  if (!run::loadReadablePart(path.toStdString(), store)) return std::nullopt;
  return store;
}

std::size_t stepsIn(const QString& path) {
  const auto store = read(path);
  return store ? store->steps().records.size() : 0;
}

bool hasMarker(const analysis::LiveStore& store, const QString& text) {
  for (const events::Marker& marker : store.markers()) {
    if (QString::fromStdString(store.markerText(marker)).contains(text)) return true;
  }
  return false;
}

bool killProcess(qint64 process, int signal = SIGKILL) {
  return process > 0 && ::kill(static_cast<pid_t>(process), signal) == 0;
}

}  // namespace

class TestRestart : public QObject {
  Q_OBJECT

  /// Starts a long run that restarts after an abort and keeps a checkpoint after each step.
  static void startRestarting(QProcess& program, const QString& recording) {
    program.setStandardInputFile(QProcess::nullDevice());
    program.start(QStringLiteral(HIGHWATER_BIN_DIR "/highwater"),
                  record(recording, {"--steps", "100000", "--on-abort", "restart",
                                     "--checkpoint-every", "0"}));
  }

 private slots:
  void initTestCase() { qputenv("OMP_NUM_THREADS", "1"); }

  void continuesAfterAKill() {
    const QTemporaryDir folder;
    const QString first = folder.filePath("run.highwater");
    const QString second = folder.filePath("run-2.highwater");
    QProcess program;
    startRestarting(program, first);
    QVERIFY(program.waitForStarted(kWaitMs));
    QTRY_VERIFY_WITH_TIMEOUT(stepsIn(first) >= 10, kWaitMs);
    QVERIFY(killProcess(workerOf(program.processId())));
    QTRY_VERIFY_WITH_TIMEOUT(stepsIn(second) >= 5, kWaitMs);
    QVERIFY(killProcess(program.processId(), SIGINT));
    QVERIFY(program.waitForFinished(kWaitMs));
    QCOMPARE(program.exitCode(), int(kExitEndedEarly));  // stopped
    const QString errors = QString::fromUtf8(program.readAllStandardError());
    const QString out = QString::fromUtf8(program.readAllStandardOutput());
    QCOMPARE(out.count("device simulated"), 2);
    QVERIFY(out.mid(out.lastIndexOf("device simulated")).contains("\nstep "));  // its progress

    const auto killed = read(first), continued = read(second);
    QVERIFY(killed && continued);
    QCOMPARE(killed->end()->reason, RunEnd::Reason::kCrashed);
    QCOMPARE(killed->end()->signal, SIGKILL);
    QCOMPARE(continued->end()->reason, RunEnd::Reason::kStopped);
    const std::uint32_t from = continued->steps().records.front().step() - 1;
    QVERIFY(from >= 1 && from <= killed->steps().records.back().step() + 1);
    QVERIFY2(errors.contains(QString("continuing from step %1, batch 12 → 6").arg(from)),
             qPrintable(errors));
    const std::uint32_t last = killed->steps().records.back().step();
    const std::uint32_t again = last > from ? last - from : 0;
    const QString said = again == 0   ? QString()
                         : again == 1 ? QString("; 1 step is trained again")
                                      : QString("; %1 steps are trained again").arg(again);
    QVERIFY2(errors.contains("recording to " + second + said + '\n'), qPrintable(errors));
    QCOMPARE(continued->run()->knobs.batchSize, 6u);
    QVERIFY(hasMarker(*continued, QString("continued from step %1 of run.highwater, whose worker "
                                          "was killed by signal 9 (SIGKILL); batch 12 → 6")
                                      .arg(from)));
    QVERIFY(QDir(folder.path()).entryList(QDir::Files).size() == 2);
  }

  void warnsOfALiftedLimit() {
    const QTemporaryDir folder;
    const auto warns = [&](const QString& ratio, const char* name) {
      const Outcome run =
          runHighwater(record(folder.filePath(name),
                              {"--steps", "1", "--high-watermark", ratio, "--low-watermark", "0"}));
      return run.exitCode == kExitDone && run.err.contains("bring the system down");
    };
    QVERIFY(warns("0.0", "b.highwater"));
    QVERIFY(!warns("0.5", "c.highwater"));
    const QString script = folder.filePath("d.highwater");
    const auto ofScript = [&](const QStringList& options, const QStringList& environment) {
      return runHighwater(
                 QStringList{"run", "--record", script} + options + QStringList{"--", "true"},
                 environment)
          .err;
    };
    const QString option = ofScript({"--high-watermark", "0", "--low-watermark", "0"}, {});
    QVERIFY2(option.contains("--high-watermark 0 lifts the memory limit"), qPrintable(option));
    const QString variable = ofScript({}, {"PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0"});
    QVERIFY2(variable.contains("PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 lifts the memory limit"),
             qPrintable(variable));
    QVERIFY(!ofScript({}, {}).contains("lifts"));
    // The CPU has no such limit.
    const Outcome onCpu = runHighwater(
        {"record", "--device", "cpu", "--steps", "1", "-o", folder.filePath("e.highwater")},
        {"PYTORCH_MPS_HIGH_WATERMARK_RATIO=0"});
    QVERIFY2(onCpu.exitCode == kExitDone && !onCpu.err.contains("lifts"), qPrintable(onCpu.err));
  }
};

HIGHWATER_TEST(TestRestart, QCoreApplication)
#include "tst_restart.moc"
