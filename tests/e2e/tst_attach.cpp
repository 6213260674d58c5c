// A real worker that was started elsewhere and comes through the named local socket.
#include <QProcess>
#include <QSignalSpy>
#include <QTest>

#include "analysis/live_store.h"
#include "session/local_endpoint.h"
#include "session/session.h"
#include "support/run_program.h"
#include "support/test_program.h"

using namespace highwater;
using highwater::session::LaunchOptions;
using highwater::session::LocalEndpoint;
using highwater::session::Session;
using highwater::test::kWaitMs;

class TestAttach : public QObject {
  Q_OBJECT

 private slots:
  void runsAWorkerThatConnects() {
    auto endpoint = LocalEndpoint::listen();
    QVERIFY(endpoint);
    QSignalSpy connected(endpoint->get(), &LocalEndpoint::connected);
    QProcess worker;
    worker.setProcessChannelMode(QProcess::MergedChannels);
    worker.start(HIGHWATER_BIN_DIR "/highwater-worker",
                 {"--connect", (*endpoint)->socketPath(), "--token-file", (*endpoint)->tokenFile(),
                  "--device", "cpu", "--steps", "100000", "--batch", "4", "--seq", "16"});
    QVERIFY2(connected.wait(kWaitMs), worker.readAll().constData());

    analysis::LiveStore store;
    Session session(*(*endpoint)->take(), LaunchOptions{});
    session.addSink(&store);
    session.start();
    QTRY_COMPARE_WITH_TIMEOUT(session.state(), Session::State::kRunning, kWaitMs);
    QCOMPARE(session.workerProcessId(), worker.processId());
    QVERIFY(session.hello()->token.size() == 64);
    QTRY_VERIFY_WITH_TIMEOUT(store.steps().records.size() >= 3, kWaitMs);
    session.request(SetKnobs{8, {}, {}, 0});
    QTRY_VERIFY_WITH_TIMEOUT(store.steps().records.back().batch_size() == 8, kWaitMs);
    session.stop();
    QTRY_COMPARE_WITH_TIMEOUT(session.state(), Session::State::kEnded, kWaitMs);
    QVERIFY2(session.end()->reason == RunEnd::Reason::kStopped, session.end()->message.c_str());
    QVERIFY(worker.state() == QProcess::NotRunning || worker.waitForFinished(kWaitMs));
    QCOMPARE(worker.exitCode(), 0);
  }
};

HIGHWATER_TEST(TestAttach, QCoreApplication)
#include "tst_attach.moc"
