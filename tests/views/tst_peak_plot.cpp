// The predicted peaks of batch sizes: against the memory model, and what mouse and keys choose.
#include <QApplication>
#include <QSignalSpy>
#include <QTest>

#include "support/test_program.h"
#include "views/theme.h"
#include "views/tuning/peak_plot.h"
#include "views/tuning/tuning_map.h"
#include "views/tuning/tuning_view.h"
#include "views/tuning_run.h"

using namespace highwater;
using tuning::Setting;
using views::PeakPlot;

class TestPeakPlot : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<test::TuningRun> run_;
  std::unique_ptr<models::TuningState> state_;
  std::unique_ptr<PeakPlot> plot_;

  /// Makes a plot of a run whose inputs have no length.
  void show(std::uint64_t recommended) {
    plot_.reset();
    run_ = std::make_unique<test::TuningRun>(recommended, 1);
    run_->steps(8, 1).steps(64, 1).steps(256, 1);
    state_ = std::make_unique<models::TuningState>(&run_->store());
    plot_ = std::make_unique<PeakPlot>(state_.get());
    plot_->resize(480, 360);
    plot_->show();
    QVERIFY(QTest::qWaitForWindowExposed(plot_.get(), test::kWaitMs));
    plot_->replot();
  }

 private slots:
  void initTestCase() { QApplication::setPalette(views::Theme::dark().palette()); }
  void cleanup() {
    plot_.reset();
    state_.reset();
    run_.reset();
  }

  void showsWhatTheModelPredicts_data() {
    QTest::addColumn<qulonglong>("recommended");
    QTest::newRow("a near limit") << qulonglong{kGiB / 16};
    QTest::newRow("a far limit") << qulonglong{8 * kGiB};
    QTest::newRow("no limit") << qulonglong{0};
  }
  void showsWhatTheModelPredicts() {
    QFETCH(qulonglong, recommended);
    show(recommended);
    QVERIFY(plot_->predictions().size() > 20);
    for (const PeakPlot::Predicted& each : plot_->predictions()) {
      QCOMPARE(each.peak.bytes, state_->model()->driver({each.batch, 1}).bytes);
      QVERIFY(each.peak.lower <= each.peak.bytes && each.peak.bytes <= each.peak.upper);
    }
    // More memory lies higher, and every measured setting is in the plot.
    double y = plot_->height();
    for (const models::TriedSetting& each : state_->tried()) {
      const auto place = plot_->placeOf(each.setting);
      QVERIFY(place && plot_->plotRect().adjusted(-1, -1, 1, 1).contains(place->toPoint()));
      QVERIFY(place->y() <= y);
      y = place->y();
    }
    const bool namesLimit = std::any_of(
        plot_->labels().begin(), plot_->labels().end(),
        [](const auto& label) { return label.second.contains(QStringLiteral("recommended")); });
    QCOMPARE(namesLimit, recommended > 0);
    for (const auto& [rect, text] : plot_->labels()) {
      QVERIFY2(QRectF(plot_->plotRect()).adjusted(-1, -1, 1, 1).contains(rect), qPrintable(text));
    }
  }

  void mouseAndKeysChooseABatch() {
    show(kGiB / 4);
    connect(plot_.get(), &PeakPlot::settingChosen, state_.get(), &models::TuningState::setChosen);
    QTest::mouseClick(plot_.get(), Qt::LeftButton, {}, plot_->plotRect().center());
    const Setting middle = state_->chosen();
    QVERIFY(middle.batch > 8 && middle.length == 1);
    QTest::keyClick(plot_.get(), Qt::Key_Right);
    QVERIFY(state_->chosen().batch > middle.batch);
    QTest::keyClick(plot_.get(), Qt::Key_Left, Qt::ShiftModifier);
    QVERIFY(state_->chosen().batch < middle.batch);
    for (int i = 0; i < 60; ++i) QTest::keyClick(plot_.get(), Qt::Key_Left);
    QVERIFY(plot_->placeOf(state_->chosen()));
    QTest::mouseClick(plot_.get(), Qt::LeftButton, {},
                      plot_->placeOf({64, 1})->toPoint() + QPoint(3, 2));
    QVERIFY((state_->chosen() == Setting{64, 1}));
    QVERIFY(!plot_->settingAt({2, 2}));
  }

  /// What the controls ask for may have the length of another workload.
  void aChoiceHasNoLength() {
    show(kGiB / 4);
    state_->setChosen({32, 64});
    QVERIFY((state_->chosen() == Setting{32, 1}));
  }

  void takesThePlaceOfTheMap() {
    show(kGiB / 4);
    views::TuningView view(state_.get());
    view.resize(900, 400);
    view.show();
    QVERIFY(view.peaks()->isVisible() && !view.map()->isVisible());
    view.renderNow();
    run_->store().clear();
    state_->refresh();
    view.peaks()->replot();  // of an empty plot
    QVERIFY(!view.peaks()->settingAt(view.peaks()->rect().center()));
  }
};

HIGHWATER_TEST(TestPeakPlot, QApplication)
#include "tst_peak_plot.moc"
