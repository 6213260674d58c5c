#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QProcess>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include "session/local_endpoint.h"
#include "session/session.h"
#include "session_probe.h"
#include "support/socket_buffers.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::session;
using highwater::test::CountingSink;
using highwater::test::kWaitMs;

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

 private:
  QTemporaryDir place_;

 private slots:
  /// Whoever listens removes what is left behind in the folder of endpoints: here, of this test.
  void initTestCase() {
    qunsetenv("XDG_RUNTIME_DIR");
    qputenv("TMPDIR", place_.path().toLocal8Bit());
  }

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

  void removesWhatKilledProcessesLeft() {
    auto living = LocalEndpoint::listen();
    QVERIFY(living);
    const QDir folder = QFileInfo((*living)->socketPath()).dir();
    const auto make = [&folder](const QString& name, const QString& file) {
      QDir made(folder.absoluteFilePath("../" + name));
      if (!made.mkpath(".")) return QString();
      QFile inside(made.filePath(file));
      return inside.open(QIODevice::WriteOnly) ? made.absolutePath() : QString();
    };
    // As the endpoint of a killed process leaves it, and a folder that is somebody else's.
    const QString left = make("highwater-Left01", "owner");
    const QString other = make("highwater-Other1", "notes");
    QVERIFY(!left.isEmpty() && !other.isEmpty());
    QVERIFY(LocalEndpoint::listen());
    QVERIFY(!QFileInfo::exists(left));
    QVERIFY(QFileInfo::exists(other));
    QVERIFY(QDir(other).removeRecursively());
    QVERIFY(QFileInfo::exists((*living)->socketPath()));
    QVERIFY(QFileInfo::exists((*living)->tokenFile()));
  }

  void readsTheSignsBesideItsSocket() {
    auto endpoint = LocalEndpoint::listen();
    QVERIFY(endpoint);
    const QString folder = QFileInfo((*endpoint)->socketPath()).path();
    QVERIFY(!(*endpoint)->hasSign("no-torch"));
    QCOMPARE((*endpoint)->textOfSign("no-torch"), QString());
    QVERIFY(QFile::link("/usr/bin/python3.99", folder + "/no-torch"));
    QVERIFY((*endpoint)->hasSign("no-torch"));
    QCOMPARE((*endpoint)->textOfSign("no-torch"), QStringLiteral("/usr/bin/python3.99"));
    endpoint->reset();
    QVERIFY(!QFileInfo::exists(folder));
  }

  void takesAProcessThatWasStartedElsewhere() {
    auto endpoint = LocalEndpoint::listen();
    QVERIFY(endpoint);
    QSignalSpy connected(endpoint->get(), &LocalEndpoint::connected);
    QVERIFY(!(*endpoint)->take());
    const auto process = startFake(**endpoint, "train");
    QVERIFY(connected.wait(kWaitMs));
    auto connection = (*endpoint)->take();
    QVERIFY(connection);
    QVERIFY(test::hasGrownBuffers(connection->socket.get()));

    CountingSink sink;
    Session session(std::move(*connection), LaunchOptions{});
    session.addSink(&sink);
    session.start();
    QTRY_COMPARE(session.state(), Session::State::kRunning);
    QCOMPARE(session.workerProcessId(), process->processId());
    session.stop();
    QTRY_COMPARE(session.state(), Session::State::kEnded);
    QVERIFY(session.end()->reason == RunEnd::Reason::kStopped);
    QVERIFY(process->state() == QProcess::NotRunning || process->waitForFinished(kWaitMs));
    QCOMPARE(process->exitCode(), 0);
  }

  void turnsAWrongTokenAway() {
    auto endpoint = LocalEndpoint::listen();
    QVERIFY(endpoint);
    QSignalSpy connected(endpoint->get(), &LocalEndpoint::connected);
    const auto process = startFake(**endpoint, "badtoken");
    QVERIFY(connected.wait(kWaitMs));
    CountingSink sink;
    Session session(*(*endpoint)->take(), LaunchOptions{});
    session.addSink(&sink);
    session.start();
    QTRY_COMPARE(session.state(), Session::State::kEnded);
    QVERIFY(session.end()->reason == RunEnd::Reason::kProtocolViolation);
    QVERIFY2(QString::fromStdString(session.end()->message).contains("wrong token"),
             session.end()->message.c_str());
    QCOMPARE(sink.messages, 1);  // RunEnd only
    QVERIFY(process->state() == QProcess::NotRunning || process->waitForFinished(kWaitMs));
  }

  void acceptsNobodyElse() {
    auto endpoint = LocalEndpoint::listen();
    QVERIFY(endpoint);
    QSignalSpy connected(endpoint->get(), &LocalEndpoint::connected);
    const auto first = startFake(**endpoint, "silent");
    QVERIFY(connected.wait(kWaitMs));
    const auto second = startFake(**endpoint, "silent");
    QVERIFY(second->waitForFinished(kWaitMs));
    QCOMPARE(second->exitCode(), 1);
    QVERIFY(second->readAllStandardError().contains("connect"));
    first->kill();
    first->waitForFinished(kWaitMs);
  }

  void aProcessElsewhereLivesOn() {
    auto endpoint = LocalEndpoint::listen();
    QVERIFY(endpoint);
    QSignalSpy connected(endpoint->get(), &LocalEndpoint::connected);
    const auto process = startFake(**endpoint, "silent");
    QVERIFY(connected.wait(kWaitMs));
    {
      Session session(*(*endpoint)->take(), LaunchOptions{});
      session.start();
      session.abort();
      QVERIFY(session.end()->reason == RunEnd::Reason::kAborted);
    }
    process->terminate();
    QVERIFY(process->state() == QProcess::NotRunning || process->waitForFinished(kWaitMs));
    QCOMPARE(process->exitStatus(), QProcess::CrashExit);
    QCOMPARE(process->exitCode(), SIGTERM);  // and not SIGKILL, from the session
  }
};

HIGHWATER_TEST(TestLocalEndpoint, QCoreApplication)
#include "tst_local_endpoint.moc"
