// The view Tuning of the window: the switch, and what a click in the map does to the run.
#include <QAction>
#include <QApplication>
#include <QSpinBox>
#include <QStatusBar>
#include <QTest>
#include <QToolButton>

#include "support/find_shown.h"
#include "support/recording_file.h"
#include "support/test_program.h"
#include "support/window_bench.h"
#include "views/panels/controls_panel.h"
#include "views/panes/settings_pane.h"
#include "views/tuning/throughput_plot.h"
#include "views/tuning/tuning_map.h"
#include "window/main_window.h"

using namespace highwater;

class TestTuningView : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<test::WindowBench> bench_;

  void open() {
    const QString path =
        test::recordIn(bench_->folder, "a.highwater", test::makeSampleRun({.steps = 60}));
    QVERIFY(bench_->window.openRecording(path.toStdString()).ok());
    bench_->window.renderNow();
  }
  template <typename T>
  [[nodiscard]] T* find(const char* name) const {
    return test::findShown<T>(bench_->window, name);
  }
  [[nodiscard]] bool showsTuning() const {
    const auto* map = bench_->window.findChild<views::TuningMap*>(QStringLiteral("tuningMap"));
    return map && map->isVisible();
  }
  [[nodiscard]] bool showsTimeline() const { return find<QWidget>("timelinePane")->isVisible(); }

 private slots:
  void initTestCase() { test::WindowBench::useFakeWorker(HIGHWATER_FAKE_WORKER); }
  void init() { bench_ = std::make_unique<test::WindowBench>(); }
  void cleanup() { bench_.reset(); }

  void theSwitchWorksByMouseAndKey() {
    open();
    QVERIFY(showsTimeline() && !showsTuning());
    auto* tuning = find<QToolButton>("tuningViewButton");
    auto* timeline = find<QToolButton>("timelineViewButton");
    QVERIFY(tuning->isVisible() && timeline->isChecked() && !tuning->isChecked());
    QTest::mouseClick(tuning, Qt::LeftButton);
    QVERIFY(showsTuning() && !showsTimeline());
    QVERIFY(tuning->isChecked() && !timeline->isChecked());
    QVERIFY(find<QWidget>("memoryPane")->isVisible());
    QVERIFY(find<QWidget>("throughputPlot")->isVisible());
    QTest::mouseClick(timeline, Qt::LeftButton);
    QVERIFY(showsTimeline() && !showsTuning());
    QTest::keyClick(&bench_->window, Qt::Key_2, Qt::ControlModifier);
    QVERIFY(showsTuning());
    QTest::keyClick(&bench_->window, Qt::Key_1, Qt::ControlModifier);
    QVERIFY(showsTimeline() && !showsTuning());
  }

  void keysOfTheTimeAxisStillWork() {
    open();
    QTest::keyClick(&bench_->window, Qt::Key_2, Qt::ControlModifier);
    const std::int64_t before = bench_->window.timeAxis().visibleNs();
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_W);
    QVERIFY(bench_->window.timeAxis().visibleNs() < before);
  }

  void thePageOfAWindowWithoutARunHasNoSwitch() {
    auto* action = bench_->window.findChild<QAction*>(QStringLiteral("tuningViewAction"));
    QVERIFY(!action->isEnabled());
    open();
    QVERIFY(action->isEnabled());
    bench_->window.showTuning(true);
    bench_->window.showStartPage(true);
    QVERIFY(!showsTuning() && !action->isEnabled());
    bench_->window.showStartPage(false);
    QVERIFY(showsTuning());
  }

  void settingsStandUnderTheMemory() {
    open();
    bench_->window.showTuning(true);
    auto* pane = find<views::SettingsPane>("settingsPane");
    QVERIFY(pane->isVisible());
    const auto& stretches = pane->stretches();
    QCOMPARE(stretches.size(), std::size_t{2});  // the batch doubles at step 30
    QCOMPARE(stretches[0].setting.batch, 16U);
    QCOMPARE(stretches[1].setting.batch, 32U);
    QCOMPARE(stretches[1].firstStep, stretches[0].lastStep + 1);
    QCOMPARE(stretches[1].lastStep, 60U);
  }

  void aClickChoosesAndADoubleClickApplies() {
    open();
    bench_->window.showTuning(true);
    auto* map = find<views::TuningMap>("tuningMap");
    QTRY_VERIFY(map->complete());
    const auto spin = [this] { return find<QSpinBox>("batchSpin")->value(); };
    const int before = spin();
    const QPoint at = map->placeOf({16, 64})->toPoint();
    QTest::mouseClick(map, Qt::LeftButton, {}, at);
    QVERIFY((bench_->window.tuning().chosen() == tuning::Setting{16, 64}));
    QCOMPARE(spin(), 16);  // the slider follows
    QTest::mouseDClick(map, Qt::LeftButton, {}, at);
    QCOMPARE(spin(), 16);
    QVERIFY(before != 16);
  }

  void fitsAtEverySize() {
    open();
    bench_->window.showTuning(true);
    for (const QSize size : {QSize(800, 600), QSize(1280, 800), QSize(1600, 1000)}) {
      bench_->window.resize(size);
      QCoreApplication::processEvents();
      bench_->window.renderNow();
      QCOMPARE(bench_->window.size(), size);
      auto* map = find<views::TuningMap>("tuningMap");
      QVERIFY(map->isVisible());
      QVERIFY2(map->plotRect().height() >= 120 && map->plotRect().width() >= 200,
               qPrintable(QStringLiteral("%1").arg(map->plotRect().height())));
      // Nothing of the tool bar has gone into its extension.
      for (const char* name : {"tuningViewButton", "searchButton", "followButton"}) {
        auto* button = find<QWidget>(name);
        QVERIFY2(button && button->isVisible(), name);
        QVERIFY(bench_->window.rect().contains(
            QRect(button->mapTo(&bench_->window, QPoint()), button->size())));
      }
    }
  }
};

HIGHWATER_TEST(TestTuningView, QApplication)
#include "tst_tuning_view.moc"
