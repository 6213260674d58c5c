// Throughput against memory: the front, the labels, and what mouse and keys choose.
#include <QApplication>
#include <QSignalSpy>
#include <QTest>
#include <algorithm>

#include "support/test_program.h"
#include "tuning/sweep.h"
#include "views/theme.h"
#include "views/tuning/plot_header.h"
#include "views/tuning/throughput_plot.h"
#include "views/tuning/tuning_view.h"
#include "views/tuning_run.h"

using namespace highwater;
using tuning::Setting;
using views::ThroughputPlot;

class TestThroughputPlot : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<test::TuningRun> run_;
  std::unique_ptr<models::TuningState> state_;
  std::unique_ptr<ThroughputPlot> plot_;

  void show(std::uint64_t recommended = kGiB / 4) {
    plot_.reset();
    run_ = std::make_unique<test::TuningRun>(recommended);
    run_->steps(4, 64).steps(8, 64).steps(16, 64).steps(12, 64).steps(32, 64).steps(8, 128);
    run_->steps(64, 64, 12).outOfMemory(512);
    state_ = std::make_unique<models::TuningState>(&run_->store());
    plot_ = std::make_unique<ThroughputPlot>(state_.get());
    plot_->resize(480, 360);
    plot_->show();
    QVERIFY(QTest::qWaitForWindowExposed(plot_.get(), test::kWaitMs));
    plot_->replot();
  }

  [[nodiscard]] const models::TriedSetting& tried(Setting setting) const {
    return *std::find_if(state_->tried().begin(), state_->tried().end(),
                         [&](const auto& each) { return each.setting == setting; });
  }

 private slots:
  void initTestCase() { QApplication::setPalette(views::Theme::dark().palette()); }
  void cleanup() {
    plot_.reset();
    state_.reset();
    run_.reset();
  }

  void pointsStandAtTheirMemoryAndThroughput() {
    show();
    for (const models::TriedSetting& a : state_->tried()) {
      if (a.steps == 0) {
        QVERIFY(!plot_->placeOf(a.setting));
        continue;
      }
      const auto here = plot_->placeOf(a.setting);
      QVERIFY(here && QRectF(plot_->plotRect()).contains(*here));
      for (const models::TriedSetting& b : state_->tried()) {
        const auto there = plot_->placeOf(b.setting);
        if (!there) continue;
        if (a.peakDriver < b.peakDriver) QVERIFY(here->x() < there->x());
        if (a.tokensPerS < b.tokensPerS) QVERIFY(here->y() > there->y());
      }
    }
  }

  void theFrontHasWhatNothingCheaperBeats() {
    show();
    QCOMPARE(plot_->length(), 64U);
    QVERIFY(plot_->front().size() >= 2);
    for (const models::TriedSetting& each : state_->tried()) {
      if (each.setting.length != 64 || each.steps == 0) continue;
      const bool beaten = std::any_of(
          state_->tried().begin(), state_->tried().end(), [&](const models::TriedSetting& other) {
            return other.setting != each.setting && other.setting.length == 64 && other.steps > 0 &&
                   other.peakDriver <= each.peakDriver && other.tokensPerS >= each.tokensPerS;
          });
      const bool onFront = std::find(plot_->front().begin(), plot_->front().end(), each.setting) !=
                           plot_->front().end();
      QCOMPARE(onFront, !beaten);
    }
  }

  /// A setting at which a sweep was stopped has no row in its table, and is not compared.
  void whatASweepDidNotMeasureIsNotCompared() {
    test::TuningRun run;
    tuning::Sweep sweep;
    for (const std::uint32_t batch : {8U, 16U}) {
      run.steps(batch, 64);
      tuning::SweptSetting measured;
      measured.setting = {batch, 64};
      measured.peakDriver = run.store().steps().records.back().peak_driver_bytes();
      measured.tokensPerS = measured.lowerQuartile = measured.upperQuartile = 1000.0 * batch;
      measured.safe = true;
      sweep.settings.push_back(measured);
      run.note(tuning::noteOf(sweep.settings.size(), measured));
    }
    run.steps(32, 64);
    models::TuningState state(&run.store());
    views::ThroughputPlot plot(&state);
    plot.resize(600, 400);
    plot.replot();
    for (const models::TriedSetting& each : state.tried()) {
      QCOMPARE(each.fewSteps, each.setting.batch == 32);
    }
    QCOMPARE(plot.front(), (std::vector<Setting>{{8, 64}, {16, 64}}));
    QCOMPARE(views::lookOf(state.tried().back(), {}), views::PointLook::kNotCompared);
    run.steps(32, 64, 12);
    state.refresh();
    QVERIFY(!state.tried().back().fewSteps);
  }

  void theLegendNamesWhatIsDrawn() {
    show();
    views::TuningView view(state_.get());
    const auto* header = static_cast<views::PlotHeader*>(
        view.findChild<QWidget*>(QStringLiteral("throughputHeader")));
    const auto names = [header] {
      QStringList all;
      for (const auto& each : header->entries()) all << each.text;
      return all;
    };
    QVERIFY(names().contains("front"));
    QVERIFY(!names().contains("measuring") && !names().contains("in use"));
    state_->setChosen({8, 128});  // the only one of its length has no line
    QVERIFY(!names().contains("front"));
    view.setMarks({.measuring = Setting{16, 64}});
    state_->setSweeping(true, Setting{16, 64});
    QVERIFY(names().contains("measuring"));
    state_->setSweeping(false, std::nullopt);
    QVERIFY(names().contains("in use") && !names().contains("measuring"));
  }

  void noLabelStandsOnARingOrTheFront() {
    show();
    state_->setChosen({16, 64});
    plot_->setMarks({.recommended = Setting{32, 64}});
    plot_->replot();
    const QPointF ring = *plot_->placeOf({16, 64});
    QVERIFY(!plot_->labels().empty());
    for (const auto& [rect, name] : plot_->labels()) {
      QVERIFY2(!rect.intersects(QRectF(ring.x() - 11, ring.y() - 11, 22, 22)), qPrintable(name));
      for (std::size_t i = 1; i < plot_->front().size(); ++i) {
        const QLineF line(*plot_->placeOf(plot_->front()[i - 1]),
                          *plot_->placeOf(plot_->front()[i]));
        for (double t = 0; t <= 1; t += 0.01) {
          QVERIFY2(!rect.contains(line.pointAt(t)), qPrintable(name));
        }
      }
    }
  }

  void comparesTheLengthOfTheChosenSetting() {
    show();
    state_->setChosen({8, 128});
    QCOMPARE(plot_->length(), 128U);
    QCOMPARE(plot_->front().size(), std::size_t{1});
    state_->setChosen({8, 300});  // never measured: back to the current one
    QCOMPARE(plot_->length(), 64U);
  }

  void labelsNeverOverlap_data() {
    QTest::addColumn<QSize>("size");
    QTest::addColumn<qulonglong>("recommended");
    for (const auto recommended : {kGiB / 8, kGiB / 4, 8 * kGiB, std::uint64_t{0}}) {
      for (const QSize size :
           {QSize(480, 360), QSize(240, 170), QSize(170, 130), QSize(900, 400)}) {
        QTest::addRow("%d x %d, %llu MiB", size.width(), size.height(),
                      static_cast<unsigned long long>(recommended / kMiB))
            << size << static_cast<qulonglong>(recommended);
      }
    }
  }
  void labelsNeverOverlap() {
    QFETCH(QSize, size);
    QFETCH(qulonglong, recommended);
    show(recommended);
    plot_->setMarks({.recommended = Setting{16, 64}});
    plot_->resize(size);
    plot_->replot();
    const auto& labels = plot_->labels();
    if (size.width() > 400) {
      QVERIFY(labels.size() >= 5);
      QVERIFY(std::any_of(labels.begin(), labels.end(),
                          [](const auto& each) { return each.second.contains("recommended"); }));
    }
    for (std::size_t i = 0; i < labels.size(); ++i) {
      QVERIFY(QRectF(plot_->plotRect()).contains(labels[i].first));
      for (std::size_t j = 0; j < i; ++j) {
        QVERIFY2(!labels[i].first.intersects(labels[j].first),
                 qPrintable(labels[i].second + " / " + labels[j].second));
      }
      for (const models::TriedSetting& each : state_->tried()) {
        const auto place = plot_->placeOf(each.setting);
        QVERIFY(!place || !labels[i].first.contains(*place));
      }
    }
  }

  void clicksAndKeysChoosePoints() {
    show();
    connect(plot_.get(), &ThroughputPlot::settingChosen, state_.get(),
            &models::TuningState::setChosen);
    QSignalSpy applied(plot_.get(), &ThroughputPlot::applyRequested);
    const QPoint at = plot_->placeOf({16, 64})->toPoint();
    QTest::mouseClick(plot_.get(), Qt::LeftButton, {}, at);
    QVERIFY((state_->chosen() == Setting{16, 64}));
    QVERIFY(plot_->tipAt(at).contains(QStringLiteral("tokens/s")));
    QTest::mouseDClick(plot_.get(), Qt::LeftButton, {}, at);
    QCOMPARE(applied.size(), 1);
    // Right and left go by memory.
    QTest::keyClick(plot_.get(), Qt::Key_Right);
    QVERIFY(tried(state_->chosen()).peakDriver >= tried({16, 64}).peakDriver);
    QVERIFY((state_->chosen() != Setting{16, 64}));
    QTest::keyClick(plot_.get(), Qt::Key_Left);
    QVERIFY((state_->chosen() == Setting{16, 64}));
    QTest::keyClick(plot_.get(), Qt::Key_Up);
    QVERIFY((state_->chosen() == Setting{8, 128}));
    QTest::keyClick(plot_.get(), Qt::Key_Down);
    QVERIFY((state_->chosen() == Setting{8, 64}));
    QTest::keyClick(plot_.get(), Qt::Key_Enter);
    QCOMPARE(applied.size(), 2);
    QVERIFY(applied[1][0].value<Setting>() == state_->chosen());
    // Where there is no point, nothing is chosen.
    QSignalSpy chosen(plot_.get(), &ThroughputPlot::settingChosen);
    QTest::mouseClick(plot_.get(), Qt::LeftButton, {}, plot_->plotRect().topLeft() + QPoint(4, 4));
    QCOMPARE(chosen.size(), 0);
  }

  void standsWithoutAnyData() {
    analysis::LiveStore store;
    models::TuningState state(&store);
    ThroughputPlot plot(&state);
    plot.resize(300, 200);
    plot.show();
    plot.replot();
    QCOMPARE(plot.length(), 0U);
    QVERIFY(plot.labels().empty() && plot.front().empty());
    QTest::keyClick(&plot, Qt::Key_Right);
    QTest::mouseClick(&plot, Qt::LeftButton);
  }
};

HIGHWATER_TEST(TestThroughputPlot, QApplication)
#include "tst_throughput_plot.moc"
