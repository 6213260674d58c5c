#include <pthread.h>

#include <csignal>
#include <new>

#include "probe/stream/guest_thread.h"
#include "support/test_program.h"

using highwater::probe::startGuestThread;

class TestGuestThread : public QObject {
  Q_OBJECT

 private slots:
  void takesNoSignalOfTheProgram() {
    sigset_t mask;
    sigemptyset(&mask);
    startGuestThread([&mask] { ::pthread_sigmask(SIG_BLOCK, nullptr, &mask); }, {}).join();
    for (const int each : {SIGINT, SIGTERM, SIGCHLD, SIGUSR1}) {
      QVERIFY(sigismember(&mask, each) == 1);
    }
    QVERIFY(sigismember(&mask, SIGSEGV) == 0);
    // The caller's own are as before.
    ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    QVERIFY(sigismember(&mask, SIGTERM) == 0);
  }

  void endsAloneByAnException() {
    std::string heard;
    const auto hear = [&heard](const std::string& what) { heard = what; };
    startGuestThread([] { throw std::runtime_error("no more room"); }, hear).join();
    QCOMPARE(heard, std::string("no more room"));
    // Also where it cannot even be said.
    startGuestThread([] { throw std::bad_alloc(); },
                     [](const std::string&) { throw std::bad_alloc(); })
        .join();
  }
};

HIGHWATER_TEST(TestGuestThread, QCoreApplication)
#include "tst_guest_thread.moc"
