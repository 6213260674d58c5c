#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <QDirIterator>
#include <QFileInfo>
#include <QRegularExpression>

#include "session/local_endpoint.h"
#include "session/script_process.h"
#include "session/session.h"
#include "session_probe.h"
#include "support/socket_buffers.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::session;
using namespace highwater::test;

namespace {

int modeOf(const QString& path) {
  struct stat status {};
  if (::stat(QFile::encodeName(path).constData(), &status) != 0) return -1;
  return static_cast<int>(status.st_mode & 0777);
}

bool makeFile(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::WriteOnly);
}

/// The paths of all that is in these folders.
QStringList filesIn(const QStringList& folders) {
  QStringList files;
  for (const QString& folder : folders) {
    for (const QString& name : QDir(folder).entryList(QDir::Files)) files << folder + '/' + name;
  }
  return files;
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

  /// A folder with empty files, as the endpoint of a killed process leaves it. Returns its path.
  QString leave(const QString& name, const QStringList& files, mode_t mode = 0700) {
    const QString folder = place_.filePath(name);
    if (!QDir().mkpath(folder)) return {};
    for (const QString& file : files) {
      if (!makeFile(folder + '/' + file)) return {};
    }
    return ::chmod(QFile::encodeName(folder).constData(), mode) == 0 ? folder : QString();
  }

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
    // What a Mac does before it removes a file that was not read for days.
    QCOMPARE(::flock(file.handle(), LOCK_EX | LOCK_NB), -1);

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
    const QString left = leave("highwater-Left01", {"owner", "token"});
    QVERIFY(QFile::link("4711", left + "/watched"));
    // Folders of the user, which have the name of ours.
    const QStringList others = {leave("highwater-Other1", {"notes"}),
                                leave("highwater-backup", {"owner", "important"}),
                                leave("highwater-shared", {"owner"}, 0755)};
    const QString folder = place_.filePath("elsewhere");
    QVERIFY(QDir().mkpath(folder) && makeFile(folder + "/owner"));
    QVERIFY(QFile::link(folder, place_.filePath("highwater-Linked")));
    const QStringList kept = filesIn(others + QStringList{folder});
    QCOMPARE(kept.size(), 5);

    QVERIFY(LocalEndpoint::listen());
    QVERIFY(!QFileInfo::exists(left));
    QCOMPARE(filesIn(others + QStringList{folder}), kept);
    QVERIFY(QFileInfo::exists((*living)->socketPath()));
    QVERIFY(QFileInfo::exists((*living)->tokenFile()));
    for (const QString& other : others) QVERIFY(QDir(other).removeRecursively());
  }

  void leavesWhatOthersPutBesideItsSocket() {
    auto endpoint = LocalEndpoint::listen();
    QVERIFY(endpoint);
    const QString folder = QFileInfo((*endpoint)->socketPath()).path();
    QVERIFY(QFile::link("4711", folder + "/watched"));
    QVERIFY(makeFile(folder + "/results") && QDir(folder).mkdir("torch"));
    endpoint->reset();
    QCOMPARE(QDir(folder).entryList(QDir::AllEntries | QDir::System | QDir::NoDotAndDotDot),
             QStringList({"results", "torch"}));
    QVERIFY(LocalEndpoint::listen());
    QVERIFY(QFileInfo::exists(folder + "/results"));
    QVERIFY(QDir(folder).removeRecursively());
  }

  void knowsTheSignsOfThePythonPackage() {
    auto endpoint = LocalEndpoint::listen();
    QVERIFY(endpoint);
    const QString folder = QFileInfo((*endpoint)->socketPath()).path();
    QDirIterator sources(QStringLiteral(HIGHWATER_SOURCE_DIR "/src/python"), {"*.py", "*.cpp"},
                         QDir::Files, QDirIterator::Subdirectories);
    const QRegularExpression noted(QStringLiteral("(?:note|_leave|leaveSign)\\(\"([^\"]+)\""));
    QStringList signs;
    while (sources.hasNext()) {
      QFile source(sources.next());
      QVERIFY(source.open(QIODevice::ReadOnly));
      auto found = noted.globalMatch(QString::fromUtf8(source.readAll()));
      while (found.hasNext()) signs << found.next().captured(1);
    }
    QVERIFY(signs.contains("watched") && signs.contains("python") && signs.contains("closed"));
    for (const QString& sign : signs) (void)QFile::link("-", folder + '/' + sign);
    endpoint->reset();
    QVERIFY2(!QFileInfo::exists(folder),
             qPrintable(QDir(folder).entryList(QDir::AllEntries | QDir::System).join(' ')));
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
    process->kill();
    process->waitForFinished(kWaitMs);
  }

  void turnsAWrongTokenAway() {
    CountingSink sink;
    const QString connect =
        QStringLiteral(HIGHWATER_FAKE_WORKER
                       " --connect $HIGHWATER_SCRIPT_SOCKET --token-file $HIGHWATER_SCRIPT_TOKEN");
    ScriptOptions script;
    script.command = {"sh", "-c", connect};
    script.environment = {"FAKE_WORKER=badtoken"};
    Session session(script);
    session.addSink(&sink);
    session.start();
    QTRY_COMPARE(session.state(), Session::State::kEnded);
    QVERIFY(session.end()->reason == RunEnd::Reason::kProtocolViolation);
    QVERIFY2(QString::fromStdString(session.end()->message).contains("wrong token"),
             session.end()->message.c_str());
    QCOMPARE(sink.messages, 1);  // RunEnd only
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
};

HIGHWATER_TEST(TestLocalEndpoint, QCoreApplication)
#include "tst_local_endpoint.moc"
