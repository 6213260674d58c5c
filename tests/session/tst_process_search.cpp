#include "session/process_search.h"
#include "support/test_program.h"

using namespace highwater::session;
using highwater::test::kWaitMs;

class TestProcessSearch : public QObject {
  Q_OBJECT

 private slots:
  void findsAnEntryOfABlock() {
    const std::string block("A=1\0B=22\0C=3\0", 13);
    QVERIFY(holdsEntry(block, "A=1") && holdsEntry(block, "B=22") && holdsEntry(block, "C=3"));
    QVERIFY(!holdsEntry(block, "B=2") && !holdsEntry(block, "=3") && !holdsEntry({}, "A=1"));
  }

  void findsProcessesByTheirEnvironment() {
    const std::string entry =
        "HIGHWATER_TEST_ENTRY=" + std::to_string(QCoreApplication::applicationPid());
    QVERIFY(processesWithEnvironment(entry).empty());
    QProcess child;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("HIGHWATER_TEST_ENTRY", QString::number(QCoreApplication::applicationPid()));
    environment.insert("FAKE_WORKER", "silent");
    child.setProcessEnvironment(environment);
    child.start(QStringLiteral(HIGHWATER_FAKE_WORKER), {"--fd", "0"});
    QVERIFY(child.waitForStarted(kWaitMs));
    QCOMPARE(processesWithEnvironment(entry),
             std::vector<pid_t>{static_cast<pid_t>(child.processId())});
    child.kill();
    QVERIFY(child.waitForFinished(kWaitMs));
    QVERIFY(processesWithEnvironment(entry).empty());
  }
};

HIGHWATER_TEST(TestProcessSearch, QCoreApplication)
#include "tst_process_search.moc"
