// Ctrl+C at every moment of a start. A terminal sends it to all processes of the group.
#include <signal.h>
#include <unistd.h>

#include <QElapsedTimer>
#include <QThread>

#include "core/exit_codes.h"
#include "support/processes.h"
#include "support/run_program.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;

namespace {

constexpr int kMoments = 12;

/// Starts highwater as the first process of a group of its own, as a shell does.
class ProcessGroup {
 public:
  enum class Interrupts { kHeard, kIgnored };

  ProcessGroup(const QStringList& arguments, const QString& folder,
               Interrupts interrupts = Interrupts::kHeard) {
    process_.setWorkingDirectory(folder);
    process_.setProcessEnvironment(environmentWith({"QT_QPA_PLATFORM=offscreen"}));
    process_.setStandardInputFile(QProcess::nullDevice());
    process_.setProcessChannelMode(QProcess::MergedChannels);
    process_.setChildProcessModifier([interrupts] {
      ::setpgid(0, 0);
      if (interrupts == Interrupts::kIgnored) ::signal(SIGINT, SIG_IGN);
    });
    process_.start(QStringLiteral(HIGHWATER_BIN_DIR "/highwater"), arguments);
    if (process_.waitForStarted(kWaitMs)) id_ = static_cast<pid_t>(process_.processId());
  }
  ~ProcessGroup() {
    // A group without a number would be the test's own.
    if (id_ > 0 && !hasEnded()) ::kill(-id_, SIGKILL);
  }

  [[nodiscard]] bool hasStarted() const { return id_ > 0; }
  void interrupt() const {
    if (id_ > 0) ::kill(-id_, SIGINT);
  }
  /// The exit code as a shell reports it: 128 + N after signal N; -1: it did not end.
  int wait() {
    if (!hasEnded() && !process_.waitForFinished(kWaitMs)) return -1;
    return process_.exitStatus() == QProcess::CrashExit ? 128 + process_.exitCode()
                                                        : process_.exitCode();
  }
  [[nodiscard]] bool hasEnded() {
    process_.waitForFinished(0);
    return process_.state() == QProcess::NotRunning;
  }
  /// Whether the user's program runs.
  [[nodiscard]] bool hasProgram() const {
    for (const QString& line : ps({"-A", "-o", "pgid=,stat=,comm="}).split(u'\n')) {
      const QStringList words = line.simplified().split(u' ');
      if (words.size() < 3 || words[0].toLongLong() != id_ || words[1].startsWith(u'Z')) continue;
      if (words[2].endsWith("sh") || words[2].endsWith("sleep")) return true;
    }
    return false;
  }
  /// Whether its window has been shown.
  [[nodiscard]] bool hasWindow() {
    // What the platform "offscreen" says when the window is shown in front of others.
    return output().contains("does not support raise()");
  }
  /// What it has printed so far.
  [[nodiscard]] const QString& output() {
    process_.waitForReadyRead(0);
    output_ += QString::fromUtf8(process_.readAll());
    return output_;
  }

 private:
  QProcess process_;
  QString output_;
  pid_t id_ = 0;
};

/// The time from the start of the command until the user's program or, without one, the worker
/// runs, in us; -1: it does not.
qint64 timeToStartUs(const QStringList& arguments) {
  const QTemporaryDir folder;
  QElapsedTimer elapsed;
  elapsed.start();
  ProcessGroup group(arguments, folder.path());
  const QString started = folder.filePath("started");
  // The worker runs when the command says which device it has chosen.
  const auto runs = [&] { return QFile::exists(started) || group.output().contains("device cpu"); };
  if (!group.hasStarted() || !QTest::qWaitFor(runs, kWaitMs)) return -1;
  return elapsed.nsecsElapsed() / 1000;
}

}  // namespace

class TestInterrupts : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { qputenv("OMP_NUM_THREADS", "1"); }

  void endsTheStart_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<int>("endedEarly");
    const int interrupted = 128 + SIGINT;
    // Longer than the test waits for an end.
    const QStringList program{"--", "sh", "-c", "touch started; exec sleep 600"};
    QTest::newRow("record") << QStringList{"record", "--device", "cpu", "--steps", "100000"}
                            << int(kExitEndedEarly);
    QTest::newRow("run, recorded")
        << QStringList{"run", "--record", "run.highwater", "--force"} + program << interrupted;
    QTest::newRow("run, in a window") << QStringList{"run"} + program << interrupted;
  }

  /// The command ends by the signal, as any program does before its main(), or as documented. A
  /// window may stay open after its program has ended.
  void endsTheStart() {
    QFETCH(QStringList, arguments);
    QFETCH(int, endedEarly);
    const bool inWindow = arguments.first() == "run" && !arguments.contains("--record");
    const qint64 startUs = timeToStartUs(arguments);
    QVERIFY(startUs > 0);
    for (int moment = 0; moment < kMoments; ++moment) {
      const QTemporaryDir folder;
      ProcessGroup group(arguments, folder.path());
      QVERIFY(group.hasStarted());
      const qint64 us = startUs * 3 / 2 * moment / kMoments;
      QThread::usleep(static_cast<unsigned long>(us));  // the moment that is tested
      group.interrupt();
      if (inWindow) {
        QTRY_VERIFY2_WITH_TIMEOUT(group.hasEnded() || (group.hasWindow() && !group.hasProgram()),
                                  qPrintable(QString("after %1 us").arg(us)), kWaitMs);
        if (!group.hasEnded()) continue;
      }
      const int code = group.wait();
      QVERIFY2(code == 128 + SIGINT || code == endedEarly,
               qPrintable(
                   QString("after %1 us: exit code %2, %3").arg(us).arg(code).arg(group.output())));
      QTRY_VERIFY(!group.hasProgram());
    }
  }

  /// A program that ignores Ctrl+C goes on: its window is shown nevertheless.
  void showsTheWindowOfAProgramThatGoesOn() {
    const QStringList command{"run", "--", "sh", "-c", "touch started; exec sleep 600"};
    const qint64 startUs = timeToStartUs(command);
    QVERIFY(startUs > 0);
    // Where in the start the handlers are there and the program is not differs from start to start.
    constexpr int kFiner = 30;
    for (int moment = kFiner - 1; moment > 0; --moment) {
      const QTemporaryDir folder;
      ProcessGroup group(command, folder.path(), ProcessGroup::Interrupts::kIgnored);
      QVERIFY(group.hasStarted());
      QThread::usleep(static_cast<unsigned long>(startUs * moment / kFiner));
      group.interrupt();
      const QString started = folder.filePath("started");
      QTRY_VERIFY_WITH_TIMEOUT(group.hasEnded() || QFile::exists(started), kWaitMs);
      if (group.hasEnded()) continue;
      // The window that is held back comes after five seconds, any other at once.
      const bool isHidden = !QTest::qWaitFor([&] { return group.hasWindow(); }, 4000);
      QTRY_VERIFY_WITH_TIMEOUT(group.hasWindow(), kWaitMs);
      QVERIFY(group.hasProgram());
      if (isHidden) return;
    }
    QSKIP("no interrupt came while the program was started: the machine is too busy");
  }
};

HIGHWATER_TEST(TestInterrupts, QCoreApplication)
#include "tst_interrupts.moc"
