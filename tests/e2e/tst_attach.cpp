// A real worker that was started elsewhere and comes through the named local socket.
#include <QProcess>
#include <QSignalSpy>
#include <QTest>

#include "analysis/live_store.h"
#include "session/local_endpoint.h"
#include "session/session.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::session;

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
    QVERIFY2(connected.wait(60'000), worker.readAll().constData());

    analysis::LiveStore store;
    Session session(*(*endpoint)->take(), LaunchOptions{});
    session.addSink(&store);
    session.start();
    QTRY_COMPARE_WITH_TIMEOUT(session.state(), Session::State::kRunning, 60'000);
    QCOMPARE(session.workerProcessId(), worker.processId());
    QVERIFY(session.hello()->token.size() == 64);
    QTRY_VERIFY_WITH_TIMEOUT(store.steps().records.size() >= 3, 60'000);
    session.request(SetKnobs{8, {}, {}, 0});
    QTRY_VERIFY_WITH_TIMEOUT(store.steps().records.back().batch_size() == 8, 60'000);
    session.stop();
    QTRY_COMPARE_WITH_TIMEOUT(session.state(), Session::State::kEnded, 60'000);
    QVERIFY2(session.end()->reason == RunEnd::Reason::kStopped, session.end()->message.c_str());
    QVERIFY(worker.state() == QProcess::NotRunning || worker.waitForFinished(20'000));
    QCOMPARE(worker.exitCode(), 0);
  }
};

HIGHWATER_TEST(TestAttach, QCoreApplication)
#include "tst_attach.moc"
