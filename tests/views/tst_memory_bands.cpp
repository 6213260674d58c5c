#include <QImage>
#include <QTest>
#include <algorithm>
#include <cmath>
#include <random>

#include "analysis/step_events.h"
#include "support/sample_run.h"
#include "support/test_program.h"
#include "views/panes/memory_bands.h"

using namespace highwater;
using namespace highwater::views;
using test::kMs;

namespace {

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

enum class Curve { kSmooth, kSawtooth, kRandom };

constexpr int kHeight = 160;
constexpr double kTopBytes = 150'000;

double yAt(double bytes) {
  return kHeight - bytes * kHeight / kTopBytes;
}

/// A thousand seconds of samples at uneven times, and of the system's readings.
analysis::LiveStore filled(Curve curve) {
  std::mt19937 random(static_cast<unsigned>(curve) + 1);
  test::OwnedBatch batch;
  std::int64_t ns = 500 * kMs;
  for (int i = 0; i < 20'000; ++i) {
    ns += std::uniform_int_distribution<std::int64_t>(1, 100 * kMs)(random);
    double bytes = 0;
    switch (curve) {
      case Curve::kSmooth:
        bytes = 40'000 + 30'000 * std::sin(i / 900.0);
        break;
      case Curve::kSawtooth:
        bytes = 10'000 + 700.0 * (i % 100);
        break;
      case Curve::kRandom:
        bytes = std::uniform_real_distribution<double>(0, 80'000)(random);
        break;
    }
    const auto current = static_cast<std::uint64_t>(bytes);
    batch.memorySamples.emplace_back(ns, current, current + 20'000 + 10 * (i % 1000), 200'000,
                                     events::SampleOrigin::Timer);
    if (i % 7 == 0) {
      batch.systemSamples.emplace_back(ns, 100'000 + 5 * (i % 4000), 0, 0, -1.0F,
                                       events::Pressure::Normal);
    }
  }
  analysis::LiveStore store;
  store.apply(batch.view());
  return store;
}

QImage canvas(const TimeScale& scale, double ratio) {
  QImage image(static_cast<int>((scale.left + scale.width) * ratio),
               static_cast<int>(kHeight * ratio), QImage::Format_RGB32);
  image.setDevicePixelRatio(ratio);
  image.fill(Qt::white);
  return image;
}

/// The samples [begin, end) of one series, walked one by one; what a straight line between its
/// neighbours says at `begin` if there are none.
analysis::MinMax walk(const std::vector<std::int64_t>& times, const analysis::SeriesPyramid& series,
                      std::int64_t begin, std::int64_t end) {
  analysis::MinMax found{1e18, -1e18};
  std::size_t before = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] >= begin && times[i] < end) {
      found = {std::min(found.min, series[i]), std::max(found.max, series[i])};
    }
    before = times[i] < begin ? i : before;
  }
  if (found.min <= found.max) {
    return found;
  }
  const double share = double(begin - times[before]) / double(times[before + 1] - times[before]);
  const double value = series[before] + (series[before + 1] - series[before]) * share;
  return {value, value};
}

/// The bands as a full walk over all samples finds them, each filled with its brush.
QImage walked(const analysis::LiveStore& store, const TimeScale& scale, double ratio, bool hidden) {
  const Theme& theme = Theme::light();
  const auto& memory = store.memory();
  const auto& system = store.system();
  QColor sky = theme.sky, line = theme.sky, peak = theme.blue;
  sky.setAlphaF(0.17f);
  line.setAlphaF(0.45f);
  peak.setAlphaF(0.6f);
  const QBrush hatch = hatchBrush(line, sky, 7);
  QImage image = canvas(scale, ratio);
  QPainter painter(&image);
  const auto row = [&](double bytes) { return std::round(yAt(bytes) * ratio) / ratio; };
  double lineBefore = -1;
  for (int i = 0; i < static_cast<int>(scale.width * ratio); ++i) {
    const double x = scale.left + i / ratio, wide = 1 / ratio;
    const std::int64_t begin = scale.timeAt(x), end = scale.timeAt(scale.left + (i + 1) / ratio);
    const bool any = memory.timesNs.front() < end && memory.timesNs.back() >= begin;
    if (!any) {
      continue;
    }
    const auto current = walk(memory.timesNs, memory.current, begin, end);
    const auto driver = walk(memory.timesNs, memory.driver, begin, end);
    double footprint = 0;
    for (std::size_t k = 0; k < system.timesNs.size() && system.timesNs[k] <= begin; ++k) {
      footprint = system.footprint[k];
    }
    const auto fill = [&](double top, double bottom, const QBrush& brush) {
      painter.fillRect(QRectF(x, top, wide, bottom - top), brush);
    };
    const double top = row(driver.max);
    const bool dots = hidden && row(footprint) < top;
    if (dots) {
      fill(row(footprint), top, dotBrush(theme.grey, 4));
    }
    fill(top, row(current.min), hatch);
    fill(row(current.max), row(current.min), peak);
    fill(row(current.min), kHeight, theme.blue);
    const int thick = std::max(static_cast<int>(std::lround(ratio)), 1);
    if (dots && i / thick % 3 == 0) {
      fill(row(footprint), row(footprint) + thick / ratio, theme.text2);
    }
    const double from = lineBefore < 0 ? top : lineBefore;
    fill(std::min(top, from), std::max({top, from, std::min(top, from) + thick / ratio}),
         theme.sky);
    lineBefore = top;
  }
  return image;
}

QImage drawn(const analysis::LiveStore& store, const TimeScale& scale, double ratio, bool hidden) {
  QImage image = canvas(scale, ratio);
  QPainter painter(&image);
  drawMemoryBands(painter, sampleMemory(store, scale, ratio), yAt, 0, Theme::light(), hidden);
  return image;
}

/// How many pixels differ by more than blending rounds.
int differing(const QImage& a, const QImage& b) {
  constexpr int kRounding = 2;
  int count = 0;
  for (int y = 0; y < a.height(); ++y) {
    for (int x = 0; x < a.width(); ++x) {
      const QRgb p = a.pixel(x, y), q = b.pixel(x, y);
      count += std::abs(qRed(p) - qRed(q)) > kRounding ||
               std::abs(qGreen(p) - qGreen(q)) > kRounding ||
               std::abs(qBlue(p) - qBlue(q)) > kRounding;
    }
  }
  return count;
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

  void everyPixelIsWhatAFullWalkFinds_data() {
    QTest::addColumn<Curve>("curve");
    QTest::addColumn<double>("ratio");
    for (const double ratio : {1.0, 1.5, 2.0}) {
      const auto at = [ratio](const char* name) {
        return qPrintable(QStringLiteral("%1 at %2").arg(QLatin1String(name)).arg(ratio));
      };
      QTest::newRow(at("smooth")) << Curve::kSmooth << ratio;
      QTest::newRow(at("sawtooth")) << Curve::kSawtooth << ratio;
      QTest::newRow(at("random")) << Curve::kRandom << ratio;
    }
  }

  void everyPixelIsWhatAFullWalkFinds() {
    QFETCH(Curve, curve);
    QFETCH(double, ratio);
    const analysis::LiveStore store = filled(curve);
    const std::int64_t endNs = store.memory().timesNs.back();
    std::mt19937 random(7);
    for (int round = 0; round < 12; ++round) {
      // From the whole run to some samples a pixel and some pixels a sample.
      const auto length =
          static_cast<std::int64_t>(static_cast<double>(endNs) / std::pow(10.0, 0.4 * round));
      const auto begin = std::uniform_int_distribution<std::int64_t>(0, endNs - length)(random);
      const TimeScale scale{{begin, begin + length}, 4, 120};
      const bool hidden = round % 2 == 0;
      const QImage fast = drawn(store, scale, ratio, hidden);
      const QImage full = walked(store, scale, ratio, hidden);
      const int wrong = differing(fast, full);
      if (wrong != 0) {
        const QString folder = qEnvironmentVariable("HIGHWATER_TEST_PICTURES");
        if (!folder.isEmpty()) {
          fast.save(folder + QStringLiteral("/fast.png"));
          full.save(folder + QStringLiteral("/full.png"));
        }
      }
      QVERIFY2(wrong == 0, qPrintable(QStringLiteral("%1 pixels, round %2").arg(wrong).arg(round)));
    }
  }
};

HIGHWATER_TEST(TestMemoryBands, QApplication)
#include "tst_memory_bands.moc"
