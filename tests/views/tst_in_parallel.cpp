#include <QSemaphore>
#include <QTest>
#include <QThreadPool>
#include <atomic>
#include <vector>

#include "support/test_program.h"
#include "views/panes/in_parallel.h"

using namespace highwater::views;
using highwater::test::kWaitMs;

class TestInParallel : public QObject {
  Q_OBJECT

 private slots:
  void doesEachOnce() {
    for (const int count : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
      inParallel(count, [&calls](int i) { ++calls[static_cast<std::size_t>(i)]; });
      for (const auto& each : calls) QCOMPARE(each.load(), 1);
    }
  }

  void doesAllWhileThePoolIsBusy() {
    QThreadPool* const pool = QThreadPool::globalInstance();
    QVERIFY(pool->waitForDone(kWaitMs));  // of the helpers of other tests
    QSemaphore release;
    int busy = 0;
    while (pool->tryStart([&release] { release.acquire(); })) ++busy;
    QVERIFY(busy > 0);
    std::vector<int> calls(100);  // by one thread: no atomics
    inParallel(100, [&calls](int i) { ++calls[static_cast<std::size_t>(i)]; });
    release.release(busy);
    QVERIFY(pool->waitForDone(kWaitMs));
    QCOMPARE(calls, std::vector<int>(100, 1));
  }
};

HIGHWATER_TEST(TestInParallel, QCoreApplication)
#include "tst_in_parallel.moc"
