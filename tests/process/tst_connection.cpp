#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "process/connection.h"
#include "support/socket_buffers.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::process;

class TestConnection : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  SocketConnection host_;

 private slots:
  void init() {
    host_ = {folder_.filePath("socket").toStdString(), folder_.filePath("token").toStdString()};
    QFile token(folder_.filePath("token"));
    QVERIFY(token.open(QIODevice::WriteOnly | QIODevice::Truncate));
    token.write("secret\n");
    token.close();
    QVERIFY(token.setPermissions(QFileDevice::ReadOwner | QFileDevice::WriteOwner));
  }

  void connectsToALocalSocketWithLargeBuffers() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = host_.socket.string();
    QVERIFY(path.size() < sizeof address.sun_path);
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
    QCOMPARE(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    QCOMPARE(::listen(listener, 1), 0);

    const auto connection = openConnection(host_, -1);
    QVERIFY2(connection.ok(), connection ? "" : connection.error().message.c_str());
    QCOMPARE(connection->token, std::string("secret"));
    QCOMPARE(connection->readFd, connection->writeFd);
    QVERIFY(test::hasGrownBuffers(connection->readFd));
    QVERIFY(connection->readFd >= 100);  // the low numbers are for the program around
    ::close(connection->readFd);
    ::close(listener);
  }

  void saysThatNobodyListens() {
    host_.socket = folder_.filePath("nobody").toStdString();
    const auto connection = openConnection(host_, -1);
    QVERIFY(!connection);
    QVERIFY(connection.error().code == ErrorCode::kNotFound);
  }

  void refusesATokenThatOthersCanRead() {
    QVERIFY(::chmod(host_.tokenFile.c_str(), 0644) == 0);
    const auto connection = openConnection(host_, -1);
    QVERIFY(!connection);
    QVERIFY(connection.error().code == ErrorCode::kNoPermission);
  }
};

HIGHWATER_TEST(TestConnection, QCoreApplication)
#include "tst_connection.moc"
