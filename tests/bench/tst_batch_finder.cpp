#include "bench/batch_finder.h"
#include "support/test_program.h"

using highwater::bench::findByDoubling;

class TestBatchFinder : public QObject {
  Q_OBJECT

 private slots:
  void findsTheEdge() {
    for (std::uint32_t edge = 0; edge <= 300; ++edge) {
      const auto found = findByDoubling(256, [edge](std::uint32_t batch) { return batch <= edge; });
      QCOMPARE(found.largest, std::min(edge, 256U));
      QVERIFY(found.trials <= 17);
      QVERIFY(edge >= 256 ? found.outOfMemory == 0 : found.outOfMemory > 0);
    }
  }

  void doublesFirst() {
    std::vector<std::uint32_t> tried;
    (void)findByDoubling(100, [&tried](std::uint32_t batch) {
      tried.push_back(batch);
      return batch < 12;
    });
    QCOMPARE(tried, (std::vector<std::uint32_t>{2, 4, 8, 16, 12, 10, 11}));
  }
};

HIGHWATER_TEST(TestBatchFinder, QCoreApplication)
#include "tst_batch_finder.moc"
