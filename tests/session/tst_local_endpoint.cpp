#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <QFile>
#include <QFileInfo>
#include <QProcess>
#include <QSignalSpy>
#include <QTest>

#include "session/local_endpoint.h"
#include "session/session.h"
#include "session_probe.h"

using namespace highwater;
using namespace highwater::session;
using highwater::test::CountingSink;

namespace {

int modeOf(const QString& path) {
  struct stat status {};
  if (::stat(QFile::encodeName(path).constData(), &status) != 0) return -1;
  return static_cast<int>(status.st_mode & 0777);
}

/// A process that was started elsewhere.
std::unique_ptr<QProcess> startFake(const LocalEndpoint& endpoint, const QString& mode) {
  auto process = std::make_unique<QProcess>();
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  environment.insert("FAKE_WORKER", mode);
  process->setProcessEnvironment(environment);
  process->start(QStringLiteral(HIGHWATER_FAKE_WORKER),
                 {"--connect", endpoint.socketPath(), "--token-file", endpoint.tokenFile()});
  return process;
}

}  // namespace

class TestLocalEndpoint : public QObject {
  Q_OBJECT

 private slots:
  void belongsToThisUserAlone() {
    auto endpoint = LocalEndpoint::listen();
    QVERIFY(endpoint);
    const QString socket = (*endpoint)->socketPath();
    const QString token = (*endpoint)->tokenFile();
    QVERIFY(QFile::encodeName(socket).size() < 100);
    QCOMPARE(modeOf(QFileInfo(socket).path()), 0700);
    QCOMPARE(modeOf(socket), 0600);
    QCOMPARE(modeOf(token), 0600);
    QFile file(token);
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QByteArray first = file.readAll();
    QCOMPARE(first.size(), 64);

    auto second = LocalEndpoint::listen();
    QVERIFY(second);
    QFile other((*second)->tokenFile());
    QVERIFY(other.open(QIODevice::ReadOnly));
    QVERIFY(other.readAll() != first);

    endpoint->reset();
    QVERIFY(!QFileInfo::exists(socket));
    QVERIFY(!QFileInfo::exists(token));
  }

  void takesAProcessThatWasStartedElsewhere() {
    auto endpoint = LocalEndpoint::listen();
    QVERIFY(endpoint);
    QSignalSpy connected(endpoint->get(), &LocalEndpoint::connected);
    QVERIFY(!(*endpoint)->take());
    const auto process = startFake(**endpoint, "train");
    QVERIFY(connected.wait(10'000));
    auto connection = (*endpoint)->take();
    QVERIFY(connection);

    CountingSink sink;
    Session session(std::move(*connection), LaunchOptions{});
    session.addSink(&sink);
    session.start();
    QTRY_COMPARE_WITH_TIMEOUT(session.state(), Session::State::kRunning, 10'000);
    QCOMPARE(session.workerProcessId(), process->processId());
    session.stop();
    QTRY_COMPARE_WITH_TIMEOUT(session.state(), Session::State::kEnded, 10'000);
    QVERIFY(session.end()->reason == RunEnd::Reason::kStopped);
    QVERIFY(process->state() == QProcess::NotRunning || process->waitForFinished());
    QCOMPARE(process->exitCode(), 0);
  }

  void turnsAWrongTokenAway() {
    auto endpoint = LocalEndpoint::listen();
    QVERIFY(endpoint);
    QSignalSpy connected(endpoint->get(), &LocalEndpoint::connected);
    const auto process = startFake(**endpoint, "badtoken");
    QVERIFY(connected.wait(10'000));
    CountingSink sink;
    Session session(*(*endpoint)->take(), LaunchOptions{});
    session.addSink(&sink);
    session.start();
    QTRY_COMPARE_WITH_TIMEOUT(session.state(), Session::State::kEnded, 10'000);
    QVERIFY(session.end()->reason == RunEnd::Reason::kProtocolViolation);
    QVERIFY2(QString::fromStdString(session.end()->message).contains("wrong token"),
             session.end()->message.c_str());
    QCOMPARE(sink.messages, 1);  // RunEnd only
    QVERIFY(process->state() == QProcess::NotRunning || process->waitForFinished());
  }

  void acceptsNobodyElse() {
    auto endpoint = LocalEndpoint::listen();
    QVERIFY(endpoint);
    QSignalSpy connected(endpoint->get(), &LocalEndpoint::connected);
    const auto first = startFake(**endpoint, "silent");
    QVERIFY(connected.wait(10'000));
    const auto second = startFake(**endpoint, "silent");
    QVERIFY(second->waitForFinished(10'000));
    QCOMPARE(second->exitCode(), 1);
    QVERIFY(second->readAllStandardError().contains("connect"));
    first->kill();
    first->waitForFinished();
  }

  void aProcessElsewhereLivesOn() {
    auto endpoint = LocalEndpoint::listen();
    QVERIFY(endpoint);
    QSignalSpy connected(endpoint->get(), &LocalEndpoint::connected);
    const auto process = startFake(**endpoint, "silent");
    QVERIFY(connected.wait(10'000));
    {
      Session session(*(*endpoint)->take(), LaunchOptions{});
      session.start();
      session.abort();
      QVERIFY(session.end()->reason == RunEnd::Reason::kAborted);
    }
    process->terminate();
    QVERIFY(process->state() == QProcess::NotRunning || process->waitForFinished());
    QCOMPARE(process->exitStatus(), QProcess::CrashExit);
    QCOMPARE(process->exitCode(), SIGTERM);  // and not SIGKILL, from the session
  }
};

QTEST_GUILESS_MAIN(TestLocalEndpoint)
#include "tst_local_endpoint.moc"
