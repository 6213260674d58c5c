#include <QImage>
#include <QTest>
#include <cmath>

#include "support/sample_run.h"
#include "views/panes/memory_bands.h"

using namespace highwater;
using namespace highwater::views;

namespace {

constexpr std::int64_t kMs = 1'000'000;

/// Samples of 10, 20 and 30 bytes at 10, 20 and 30 ms; driver is 100 more.
analysis::LiveStore ramp() {
  test::OwnedBatch batch;
  for (int i = 1; i <= 3; ++i) {
    const auto bytes = static_cast<std::uint64_t>(10 * i);
    batch.memorySamples.emplace_back(10 * i * kMs, bytes, bytes + 100, 1000,
                                     events::SampleOrigin::Timer);
  }
  analysis::LiveStore store;
  store.apply(batch.view());
  return store;
}

}  // namespace

class TestMemoryBands : public QObject {
  Q_OBJECT

 private slots:
  void columnsBetweenSamplesAreInterpolated() {
    const analysis::LiveStore store = ramp();
    const auto columns = sampleMemory(store, {{0, 40 * kMs}, 100, 40});  // a pixel per ms
    QVERIFY(!columns.empty());
    QCOMPARE(columns.front().x, 110.0);  // none before the first sample
    QVERIFY(columns.back().x <= 130.0);  // nor after the last
    for (const MemoryColumn& column : columns) {
      QCOMPARE(column.current.min, column.x - 100);
      QCOMPARE(column.driver.max, column.x);
      QVERIFY(std::isnan(column.footprint));
    }
  }

  void aColumnOfManySamplesHasTheirExtremes() {
    const analysis::LiveStore store = ramp();
    const auto columns = sampleMemory(store, {{0, 100 * kMs}, 0, 1});
    QCOMPARE(columns.size(), std::size_t{1});
    QCOMPARE(columns[0].current.min, 10.0);
    QCOMPARE(columns[0].current.max, 30.0);
    QCOMPARE(columns[0].driver.max, 130.0);
  }

  void withoutSamplesThereAreNoColumns() {
    QVERIFY(sampleMemory(analysis::LiveStore(), {{0, kMs}, 0, 10}).empty());
  }

  void bandsAreAsHighAsTheirValues() {
    const analysis::LiveStore store = ramp();
    const auto columns = sampleMemory(store, {{0, 40 * kMs}, 0, 40});
    QImage image(40, 200, QImage::Format_RGB32);
    image.fill(Qt::black);
    QPainter painter(&image);
    const Theme& theme = Theme::dark();
    drawMemoryBands(
        painter, columns, [](double bytes) { return 200 - bytes; }, theme, false);
    painter.end();
    QCOMPARE(image.pixelColor(25, 190), theme.blue);   // live: 25 bytes
    QVERIFY(image.pixelColor(25, 150) != theme.blue);  // cached: up to 125
    QVERIFY(image.pixelColor(25, 150) != QColor(Qt::black));
    QCOMPARE(image.pixelColor(25, 40), QColor(Qt::black));  // nothing above driver
  }
};

QTEST_MAIN(TestMemoryBands)
#include "tst_memory_bands.moc"
