#include "analysis/run_end_text.h"
#include "support/test_program.h"

using namespace highwater;
using Reason = RunEnd::Reason;

class TestRunEndText : public QObject {
  Q_OBJECT

 private slots:
  void namesWhatEndedTheProcess_data() {
    QTest::addColumn<int>("reason");
    QTest::addColumn<int>("exitCode");
    QTest::addColumn<int>("signal");
    QTest::addColumn<QString>("message");
    QTest::addColumn<QString>("text");
    QTest::newRow("finished") << int(Reason::kFinished) << 0 << 0 << "40 steps done"
                              << "";
    QTest::newRow("exited") << int(Reason::kExited) << 7 << 0 << "train.py ended"
                            << "exit code 7";
    QTest::newRow("disconnected") << int(Reason::kExited) << 0 << 0 << "it closed"
                                  << "";
    QTest::newRow("killed") << int(Reason::kCrashed) << 0 << 9
                            << "train.py was killed by signal 9 (SIGKILL) in step 5"
                            << "SIGKILL";
    // Of another system, where 10 is SIGBUS.
    QTest::newRow("of a Mac") << int(Reason::kCrashed) << 0 << 10
                              << "train.py was killed by signal 10 (SIGBUS)"
                              << "SIGBUS";
    QTest::newRow("without a name") << int(Reason::kCrashed) << 0 << 40 << "killed by signal 40"
                                    << "signal 40";
    QTest::newRow("another number") << int(Reason::kCrashed) << 0 << 9 << "signal 15 (SIGTERM)"
                                    << "signal 9";
    QTest::newRow("cut") << int(Reason::kCrashed) << 0 << 9 << "by signal 9 (SIGKI"
                         << "signal 9";
    QTest::newRow("stopped") << int(Reason::kStopped) << 0 << 9 << "killed by signal 9 (SIGKILL)"
                             << "";
  }
  void namesWhatEndedTheProcess() {
    QFETCH(const int, reason);
    QFETCH(const int, exitCode);
    QFETCH(const int, signal);
    QFETCH(const QString, message);
    QFETCH(const QString, text);
    RunEnd end;
    end.reason = static_cast<Reason>(reason);
    end.exitCode = exitCode;
    end.signal = signal;
    end.message = message.toStdString();
    QCOMPARE(QString::fromStdString(analysis::processExitText(end)), text);
  }
};

HIGHWATER_TEST(TestRunEndText, QCoreApplication)
#include "tst_run_end_text.moc"
