// Ctrl+C at every moment of a start. A terminal sends it to all processes of the group.
#include <signal.h>
#include <unistd.h>

#include <QTemporaryDir>
#include <QTest>
#include <QThread>

#include "core/exit_codes.h"
#include "support/processes.h"
#include "support/run_program.h"

using namespace highwater;
using namespace highwater::test;

namespace {

constexpr int kEndMs = 20'000;
// The start of Qt and of the program takes 10 to 100 ms.
constexpr int kMoments = 40, kStepUs = 2000;

/// Starts highwater as the first process of a group of its own, as a shell does.
class ProcessGroup {
 public:
  ProcessGroup(const QStringList& arguments, const QString& folder) {
    process_.setWorkingDirectory(folder);
    process_.setProcessEnvironment(environmentWith({"QT_QPA_PLATFORM=offscreen"}));
    process_.setStandardInputFile(QProcess::nullDevice());
    process_.setProcessChannelMode(QProcess::MergedChannels);
    process_.setChildProcessModifier([] { ::setpgid(0, 0); });
    process_.start(QStringLiteral(HIGHWATER_BIN_DIR "/highwater"), arguments);
    process_.waitForStarted();
    id_ = static_cast<pid_t>(process_.processId());
  }
  ~ProcessGroup() { ::kill(-id_, SIGKILL); }

  void interrupt() const { ::kill(-id_, SIGINT); }
  /// The exit code as a shell reports it: 128 + N after signal N; -1: it did not end.
  int wait() {
    if (!hasEnded() && !process_.waitForFinished(kEndMs)) return -1;
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
  [[nodiscard]] QString output() { return QString::fromUtf8(process_.readAll()); }

 private:
  QProcess process_;
  pid_t id_ = 0;
};

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
    const QStringList program{"--", "sh", "-c", "touch started; exec sleep 60"};
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
    for (int moment = 0; moment < kMoments; ++moment) {
      const QTemporaryDir folder;
      ProcessGroup group(arguments, folder.path());
      QThread::usleep(static_cast<unsigned long>(moment * kStepUs));  // the moment that is tested
      group.interrupt();
      const QString started = folder.filePath("started");
      if (inWindow) {
        QTRY_VERIFY2_WITH_TIMEOUT(
            group.hasEnded() || (QFile::exists(started) && !group.hasProgram()),
            qPrintable(QString("after %1 us").arg(moment * kStepUs)), kEndMs);
        if (!group.hasEnded()) continue;
      }
      const int code = group.wait();
      QVERIFY2(code == 128 + SIGINT || code == endedEarly,
               qPrintable(QString("after %1 us: exit code %2, %3")
                              .arg(moment * kStepUs)
                              .arg(code)
                              .arg(group.output())));
      QTRY_VERIFY(!group.hasProgram());
    }
  }
};

QTEST_GUILESS_MAIN(TestInterrupts)
#include "tst_interrupts.moc"
