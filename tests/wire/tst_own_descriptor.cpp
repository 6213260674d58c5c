#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <QTemporaryFile>
#include <cerrno>

#include "support/test_program.h"
#include "wire/own_descriptor.h"

using highwater::wire::moveToHighNumber;
using highwater::wire::OwnDescriptor;

namespace {

/// Both ends of a socket, which are closed at the end of a test if they are still open.
struct Pair {
  std::array<int, 2> ends{-1, -1};
  Pair() { (void)::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()); }
  ~Pair() {
    for (const int each : ends) ::close(each);
  }
};

bool isOpen(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

}  // namespace

class TestOwnDescriptor : public QObject {
  Q_OBJECT

 private slots:
  void isOursUntilTheNumberStandsForAnotherFile() {
    const Pair pair;
    const OwnDescriptor own(pair.ends[0]);
    QVERIFY(own.isOurs());
    QVERIFY(own.isSocket());
    ::close(pair.ends[0]);
    QVERIFY(!own.isOurs());
    QTemporaryFile file;
    QVERIFY(file.open());
    QCOMPARE(::dup2(file.handle(), pair.ends[0]), pair.ends[0]);
    QVERIFY(!own.isOurs());
    own.close();
    QVERIFY(isOpen(pair.ends[0]));
  }

  void leavesAnotherSocketAlone() {
    const Pair ours, theirs;
    const OwnDescriptor own(ours.ends[0]);
    QCOMPARE(::dup2(theirs.ends[0], ours.ends[0]), ours.ends[0]);
    own.shutDown();
    own.close();
    QCOMPARE(::write(ours.ends[0], "x", 1), ssize_t{1});
    char got = 0;
    QCOMPARE(::read(theirs.ends[1], &got, 1), ssize_t{1});
  }

  void shutsDownAndClosesItsOwn() {
    const Pair pair;
    const OwnDescriptor own(pair.ends[0]);
    own.shutDown();
    char got = 0;
    QCOMPARE(::read(pair.ends[1], &got, 1), ssize_t{0});
    own.close();
    QVERIFY(!isOpen(pair.ends[0]));
  }

  void isNeverOursWithoutAFile() {
    QVERIFY(!OwnDescriptor().isOurs());
    QVERIFY(!OwnDescriptor(-1).isOurs());
    const OwnDescriptor none(-1);
    errno = EINTR;
    QVERIFY(!none.isOurs());
    QCOMPARE(errno, EINTR);
  }

  void movesAwayFromTheLowNumbers_data() {
    QTest::addColumn<quint64>("limit");
    QTest::addColumn<int>("least");
    QTest::newRow("usual") << quint64{1024} << 512;
    QTest::newRow("macOS") << quint64{256} << 192;
  }
  void movesAwayFromTheLowNumbers() {
    QFETCH(quint64, limit);
    QFETCH(int, least);
    rlimit before{};
    QCOMPARE(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit lowered = before;
    lowered.rlim_cur = limit;
    QCOMPARE(::setrlimit(RLIMIT_NOFILE, &lowered), 0);
    const int low = ::open("/dev/null", O_RDONLY);
    const int moved = moveToHighNumber(low);
    (void)::setrlimit(RLIMIT_NOFILE, &before);
    QVERIFY(moved >= least);
    QVERIFY(!isOpen(low));
    QVERIFY((::fcntl(moved, F_GETFD) & FD_CLOEXEC) != 0);
    ::close(moved);
  }
};

HIGHWATER_TEST(TestOwnDescriptor, QCoreApplication)
#include "tst_own_descriptor.moc"
