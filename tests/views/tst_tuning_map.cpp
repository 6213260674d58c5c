// The map of settings: its cells against the memory model, and what mouse and keys choose.
#include <QApplication>
#include <QHelpEvent>
#include <QLabel>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <random>

#include "models/qt_text.h"
#include "support/test_program.h"
#include "views/panels/key_value_view.h"
#include "views/theme.h"
#include "views/tuning/plot_header.h"
#include "views/tuning/tuning_map.h"
#include "views/tuning/tuning_panel.h"
#include "views/tuning/tuning_view.h"
#include "views/tuning_run.h"

using namespace highwater;
using tuning::Setting;
using views::HeadroomBand;
using views::TuningMap;

namespace {

bool near(const QColor& a, const QColor& b) {
  return std::abs(a.red() - b.red()) <= 1 && std::abs(a.green() - b.green()) <= 1 &&
         std::abs(a.blue() - b.blue()) <= 1;
}

/// The band of a setting, from the model alone.
HeadroomBand bandOf(const models::TuningState& state, Setting setting) {
  switch (state.model()->headroom(setting)) {
    case tuning::Headroom::kSafe:
      break;
    case tuning::Headroom::kAboveRecommended:
      return HeadroomBand::kAboveRecommended;
    case tuning::Headroom::kAboveLowWatermark:
      return HeadroomBand::kAboveLowWatermark;
    case tuning::Headroom::kAboveHighWatermark:
      return HeadroomBand::kAboveHighWatermark;
  }
  const auto limit = static_cast<double>(state.model()->limits().recommendedBytes);
  const auto peak = static_cast<double>(state.model()->driver(setting).bytes);
  return limit > 0 && peak > limit * (1 - state.reserve()) ? HeadroomBand::kReserve
                                                           : HeadroomBand::kSafe;
}

}  // namespace

class TestTuningMap : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<test::TuningRun> run_;
  std::unique_ptr<models::TuningState> state_;
  std::unique_ptr<TuningMap> map_;

  /// Makes a map of settings at three lengths and waits until it is complete.
  void show(std::uint64_t recommended = kGiB) {
    map_.reset();
    run_ = std::make_unique<test::TuningRun>(recommended);
    run_->steps(8, 64).steps(32, 64).steps(16, 128).steps(8, 256).steps(64, 64);
    state_ = std::make_unique<models::TuningState>(&run_->store());
    map_ = std::make_unique<TuningMap>(state_.get());
    map_->resize(480, 360);
    map_->show();
    QVERIFY(QTest::qWaitForWindowExposed(map_.get(), test::kWaitMs));
    QTRY_VERIFY(map_->complete());
    map_->replot();
  }

  /// The pixel in the middle of a cell.
  [[nodiscard]] QPoint middle(int column, int row) const {
    return map_->cellRect(column, row).center().toPoint();
  }
  /// A cell whose middle is far from every point, of the given band.
  [[nodiscard]] std::optional<std::pair<int, int>> emptyCell(HeadroomBand band) const {
    for (int row = 1; row + 1 < map_->grid().rows(); ++row) {
      for (int column = 1; column + 1 < map_->grid().columns(); ++column) {
        if (map_->grid().band(column, row, *state_->model(), state_->reserve()) == band &&
            map_->settingAt(middle(column, row)) == map_->grid().settingOf(column, row)) {
          return std::pair(column, row);
        }
      }
    }
    return std::nullopt;
  }

 private slots:
  void initTestCase() { QApplication::setPalette(views::Theme::dark().palette()); }
  void cleanup() {
    map_.reset();
    state_.reset();
    run_.reset();
  }

  void axesAreGeometric() {
    std::mt19937 random(7);
    for (int i = 0; i < 200; ++i) {
      const double lowest = std::exp2(std::uniform_int_distribution(0, 6)(random));
      const double highest = lowest * std::uniform_real_distribution(1.0, 400.0)(random);
      const auto axis = views::GridAxis::spanning(lowest, highest, 1 << (i % 4));
      QVERIFY(axis.cells >= 1);
      QVERIFY(axis.at(axis.cells - 1) <= highest * (1 + 1e-6));
      QVERIFY(axis.at(axis.cells) > highest);
      for (int cell = 0; cell < axis.cells; ++cell) QCOMPARE(axis.cellAt(axis.at(cell)), cell);
    }
  }

  void cellsShowTheHeadroomOfTheirSettings_data() {
    QTest::addColumn<qulonglong>("recommended");
    QTest::addColumn<double>("reserve");
    QTest::newRow("1 GiB") << qulonglong{kGiB} << 0.1;
    QTest::newRow("512 MiB, no reserve") << qulonglong{kGiB / 2} << 0.0;
    QTest::newRow("4 GiB, half of it") << qulonglong{4 * kGiB} << 0.5;
    QTest::newRow("limit unknown") << qulonglong{0} << 0.1;
  }
  void cellsShowTheHeadroomOfTheirSettings() {
    QFETCH(qulonglong, recommended);
    QFETCH(double, reserve);
    show(recommended);
    state_->setReserve(reserve);
    QTRY_VERIFY(map_->complete());
    map_->replot();
    const views::HeadroomGrid& grid = map_->grid();
    std::map<HeadroomBand, int> seen;
    const QImage picture = map_->grab().toImage();
    int plain = 0, asExpected = 0;
    for (int row = 0; row < grid.rows(); ++row) {
      for (int column = 0; column < grid.columns(); ++column) {
        const Setting setting = grid.settingOf(column, row);
        QVERIFY(setting.batch >= 1 && setting.batch <= state_->limits().batch);
        QVERIFY(setting.length >= 1 && setting.length <= state_->limits().length);
        const HeadroomBand expected = bandOf(*state_, setting);
        QCOMPARE(grid.band(column, row, *state_->model(), reserve), expected);
        ++seen[expected];
        if (expected == HeadroomBand::kSafe || expected == HeadroomBand::kAboveLowWatermark) {
          ++plain;
          const QColor there(picture.pixel(middle(column, row)));
          asExpected += near(there, map_->colorOf(column, row)) ? 1 : 0;
        }
      }
      if (const auto safe = grid.largestSafe(row)) {
        QCOMPARE(safe, state_->largestSafeBatch(grid.settingOf(0, row).length));
      }
    }
    // Points, lines and numbers cover some of the cells.
    QVERIFY2(asExpected > plain * 0.8,
             qPrintable(QStringLiteral("%1 of %2").arg(asExpected).arg(plain)));
    if (recommended == 0) {
      QCOMPARE(seen.size(), std::size_t{1});
    } else {
      QVERIFY(seen[HeadroomBand::kSafe] > 0 && seen[HeadroomBand::kAboveHighWatermark] > 0);
      QCOMPARE(seen.count(HeadroomBand::kReserve) > 0, reserve > 0);
    }
  }

  void fullerCellsAreBrighterAndBandsHaveTexturesOfTheirOwn() {
    for (const auto* theme : {&views::Theme::dark(), &views::Theme::light()}) {
      std::set<QRgb> colors;
      std::set<int> greys;
      for (const HeadroomBand band :
           {HeadroomBand::kSafe, HeadroomBand::kReserve, HeadroomBand::kAboveRecommended,
            HeadroomBand::kAboveLowWatermark, HeadroomBand::kAboveHighWatermark}) {
        // A small picture of the band: no two look alike, also without colour.
        QImage image(24, 24, QImage::Format_RGB32);
        QPainter painter(&image);
        painter.fillRect(image.rect(), TuningMap::bandColor(band, *theme));
        painter.fillRect(image.rect(), TuningMap::bandHatch(band, *theme));
        painter.end();
        colors.insert(TuningMap::bandColor(band, *theme).rgb());
        double sum = 0, squares = 0;
        for (int i = 0; i < 24 * 24; ++i) {
          const double grey = qGray(image.pixel(i % 24, i / 24));
          sum += grey;
          squares += grey * grey;
        }
        const double mean = sum / 576,
                     deviation = std::sqrt(std::max(squares / 576 - mean * mean, 0.0));
        greys.insert(static_cast<int>(mean / 6) * 1000 + static_cast<int>(deviation / 4));
      }
      QCOMPARE(colors.size(), std::size_t{5});
      QCOMPARE(greys.size(), std::size_t{5});
    }
  }

  void computesWhileTheWindowGoesOn() {
    run_ = std::make_unique<test::TuningRun>();
    run_->steps(8, 64).steps(32, 64);
    state_ = std::make_unique<models::TuningState>(&run_->store());
    map_ = std::make_unique<TuningMap>(state_.get());
    QCoreApplication::processEvents();
    QVERIFY(!map_->complete());  // nothing is computed for a map that nobody sees
    map_->resize(480, 360);
    map_->show();
    QTRY_VERIFY(map_->complete());
    // A grid that is computed one value at a time agrees with one computed at once.
    views::HeadroomGrid slow(map_->grid().batches(), map_->grid().lengths(),
                             map_->grid().mostBatch());
    int slices = 1;
    while (slow.advance(*state_->model(), state_->reserve(), 0)) ++slices;
    QVERIFY(slices > slow.columns() * slow.rows() / 2);
    for (int row = 0; row < slow.rows(); ++row) {
      for (int column = 0; column < slow.columns(); ++column) {
        QCOMPARE(slow.bytes(column, row), map_->grid().bytes(column, row));
      }
      QCOMPARE(slow.largestSafe(row), map_->grid().largestSafe(row));
    }
  }

  void followsTheModelAndTheReserve() {
    show();
    const auto cell = emptyCell(HeadroomBand::kReserve);
    QVERIFY(cell);
    state_->setReserve(0);
    QTRY_VERIFY(map_->complete());
    QCOMPARE(map_->grid().band(cell->first, cell->second, *state_->model(), 0),
             HeadroomBand::kSafe);
    run_->steps(128, 128);
    state_->refresh();
    QTRY_VERIFY(map_->complete());
    QVERIFY(map_->placeOf({128, 128}));
    run_->store().clear();
    state_->refresh();
    QVERIFY(!state_->model());
    QVERIFY(!map_->settingAt(map_->rect().center()));
    map_->replot();  // of an empty map
  }

  void aClickChoosesAndADoubleClickAsksToApply() {
    show();
    connect(map_.get(), &TuningMap::settingChosen, state_.get(), &models::TuningState::setChosen);
    QSignalSpy chosen(map_.get(), &TuningMap::settingChosen);
    QSignalSpy applied(map_.get(), &TuningMap::applyRequested);
    const auto cell = emptyCell(HeadroomBand::kSafe);
    QVERIFY(cell);
    const Setting setting = map_->grid().settingOf(cell->first, cell->second);
    QTest::mouseClick(map_.get(), Qt::LeftButton, {}, middle(cell->first, cell->second));
    QCOMPARE(chosen.size(), 1);
    QVERIFY(state_->chosen() == setting);
    QVERIFY(map_->accessibleDescription().contains(QString::number(setting.batch)));
    QCOMPARE(applied.size(), 0);
    QTest::mouseDClick(map_.get(), Qt::LeftButton, {}, middle(cell->first, cell->second));
    QCOMPARE(applied.size(), 1);
    QVERIFY(applied[0][0].value<Setting>() == setting);
    // A point is the setting that was tried, not the cell's.
    QTest::mouseClick(map_.get(), Qt::LeftButton, {},
                      map_->placeOf({16, 128})->toPoint() + QPoint(3, 2));
    QVERIFY((state_->chosen() == Setting{16, 128}));
    // Beside the data, and with another button, nothing is chosen.
    const int before = static_cast<int>(chosen.size());
    QTest::mouseClick(map_.get(), Qt::LeftButton, {}, {4, map_->height() - 4});
    QTest::mouseClick(map_.get(), Qt::RightButton, {}, middle(cell->first, cell->second));
    // A press that ends elsewhere chooses nothing.
    QTest::mousePress(map_.get(), Qt::LeftButton, {}, middle(2, 2));
    QTest::mouseRelease(map_.get(), Qt::LeftButton, {}, middle(20, 12));
    QCOMPARE(chosen.size(), before);
  }

  void hoverSaysThePredictionWithItsBounds() {
    show();
    const auto cell = emptyCell(HeadroomBand::kAboveHighWatermark);
    QVERIFY(cell);
    const QPoint at = middle(cell->first, cell->second);
    QHelpEvent help(QEvent::ToolTip, at, map_->mapToGlobal(at));
    QApplication::sendEvent(map_.get(), &help);
    const Setting setting = map_->grid().settingOf(cell->first, cell->second);
    QCOMPARE(QToolTip::text(), text(state_->model()->sentence(setting)));
    const QPoint point = map_->placeOf({64, 64})->toPoint();
    const QString tip = map_->tipAt(point);
    QVERIFY2(tip.contains(QStringLiteral("(measured)")) && tip.contains(QStringLiteral("tokens/s")),
             qPrintable(tip));
    QVERIFY(map_->tipAt({3, 3}).isEmpty());
  }

  void arrowKeysWalkOverTheMap() {
    show();
    connect(map_.get(), &TuningMap::settingChosen, state_.get(), &models::TuningState::setChosen);
    QSignalSpy applied(map_.get(), &TuningMap::applyRequested);
    // The walk begins at the setting in use.
    QTest::keyClick(map_.get(), Qt::Key_Right);
    QVERIFY(state_->chosen().batch > state_->current().batch);
    QCOMPARE(state_->chosen().length, state_->current().length);
    const Setting before = state_->chosen();
    QTest::keyClick(map_.get(), Qt::Key_Left);
    QVERIFY(state_->chosen().batch < before.batch);
    QTest::keyClick(map_.get(), Qt::Key_Up, Qt::ShiftModifier);
    QCOMPARE(state_->chosen().length, 2 * before.length);
    QTest::keyClick(map_.get(), Qt::Key_Down);
    QVERIFY(state_->chosen().length < 2 * before.length);
    for (int i = 0; i < 200; ++i) QTest::keyClick(map_.get(), Qt::Key_Left);
    QCOMPARE(state_->chosen().batch, map_->grid().settingOf(0, 0).batch);
    for (int i = 0; i < 200; ++i) QTest::keyClick(map_.get(), Qt::Key_Up);
    QCOMPARE(state_->chosen().length, map_->grid().settingOf(0, map_->grid().rows() - 1).length);
    QTest::keyClick(map_.get(), Qt::Key_Return);
    QCOMPARE(applied.size(), 1);
    QVERIFY(applied[0][0].value<Setting>() == state_->chosen());
  }

  void numbersNeitherOverlapNorCoverPoints() {
    show();
    run_->steps(map_->grid().largestSafe(8).value_or(48), 64);  // a point on the line
    state_->refresh();
    for (const QSize size : {QSize(480, 360), QSize(260, 200), QSize(900, 500), QSize(180, 130)}) {
      map_->resize(size);
      QTRY_VERIFY(map_->complete());
      map_->replot();
      const auto& labels = map_->labels();
      if (size.width() > 400) QVERIFY(labels.size() >= 2);
      for (std::size_t i = 0; i < labels.size(); ++i) {
        QVERIFY(QRectF(map_->plotRect()).contains(labels[i].first));
        for (std::size_t j = 0; j < i; ++j) {
          QVERIFY(!labels[i].first.intersects(labels[j].first));
        }
        for (const models::TriedSetting& each : state_->tried()) {
          const auto place = map_->placeOf(each.setting);
          QVERIFY(!place || !labels[i].first.contains(*place));
        }
      }
    }
  }

  void theViewSaysWhatToDoWithoutAModel() {
    run_ = std::make_unique<test::TuningRun>();
    state_ = std::make_unique<models::TuningState>(&run_->store());
    views::TuningView view(state_.get());
    view.resize(900, 400);
    view.show();
    auto* empty = view.findChild<QLabel*>(QStringLiteral("tuningEmptyText"));
    QVERIFY(empty->isVisible() && !view.map()->isVisible());
    QVERIFY(empty->text().contains(QStringLiteral("two settings")));
    QVERIFY(empty->text().contains(state_->reason().mid(1)));
    run_->steps(8, 64);
    state_->refresh();
    QVERIFY(!empty->isVisible() && view.map()->isVisible());
    auto* note = view.findChild<QLabel*>(QStringLiteral("tuningNote"));
    QCOMPARE(note->text(), text(state_->model()->confidence().text));
    QVERIFY(note->isVisible());
  }

  void detailsOfTheModelAreAskedFor() {
    show();
    views::TuningPanel panel(&run_->store(), state_.get());
    panel.resize(300, 600);
    panel.show();
    QVERIFY(QTest::qWaitForWindowExposed(&panel, test::kWaitMs));
    const auto shown = [&panel] {
      const auto views = panel.findChildren<views::KeyValueView*>();
      return std::count_if(views.begin(), views.end(),
                           [](const auto* each) { return each->isVisible(); });
    };
    QCOMPARE(shown(), 1);
    QTest::mouseClick(panel.findChild<QToolButton*>(QStringLiteral("tuningDetailsButton")),
                      Qt::LeftButton);
    QCOMPARE(shown(), 4);
  }

  void theLegendTakesTheLinesThatItNeeds() {
    show();
    views::TuningView view(state_.get());
    view.show();
    for (const QSize size : {QSize(320, 300), QSize(500, 700), QSize(700, 400), QSize(1100, 600)}) {
      view.resize(size);
      QCoreApplication::processEvents();
      int seen = 0;
      for (auto* header : view.findChildren<views::PlotHeader*>()) {
        if (!header->isVisible()) continue;
        ++seen;
        const auto rects = header->entryRects(header->width());
        QVERIFY(rects.size() >= 2);
        for (std::size_t i = 0; i < rects.size(); ++i) {
          QVERIFY(rects[i].bottom() <= header->height());
          QVERIFY(rects[i].right() <= header->width());
          for (std::size_t j = 0; j < i; ++j) QVERIFY(!rects[i].intersects(rects[j]));
        }
      }
      // A low and narrow view shows one plot, with a switch.
      QCOMPARE(seen, size.width() < 620 && size.height() < 520 ? 1 : 2);
    }
    view.resize(320, 300);
    QCoreApplication::processEvents();
    QVERIFY(view.map()->isVisible());
    auto* tab = view.findChild<QToolButton*>(QStringLiteral("throughputTab"));
    QTest::mouseClick(tab, Qt::LeftButton);
    QVERIFY(!view.map()->isVisible());
    QVERIFY(view.findChild<QWidget*>(QStringLiteral("throughputPlot"))->isVisible());
  }
};

HIGHWATER_TEST(TestTuningMap, QApplication)
#include "tst_tuning_map.moc"
