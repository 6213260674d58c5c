// What the sliders say of a setting before it is applied.
#include <QClipboard>
#include <QLabel>
#include <QSlider>
#include <QSpinBox>
#include <QTest>

#include "core/units.h"
#include "models/tuning_state.h"
#include "support/sample_run.h"
#include "support/test_program.h"
#include "views/panels/controls_panel.h"
#include "views/panels/key_value_view.h"
#include "views/panels/stop_slider.h"

using namespace highwater;
using models::TuningState;
using views::ControlsPanel;
using views::KeyValueView;
using views::StopSlider;

class TestPredictedPeak : public QObject {
  Q_OBJECT

 private:
  analysis::LiveStore store_;
  std::unique_ptr<TuningState> state_;
  std::unique_ptr<ControlsPanel> panel_;

  [[nodiscard]] QString label(const char* name) const {
    const auto* found = panel_->findChild<QLabel*>(QLatin1String(name));
    return found->isVisibleTo(panel_.get()) ? found->text() : QString();
  }
  [[nodiscard]] StopSlider* batch() const {
    return panel_->findChild<StopSlider*>(QStringLiteral("batchSlider"));
  }

 private slots:
  void init() {
    store_.clear();
    state_ = std::make_unique<TuningState>(&store_);
    panel_ = std::make_unique<ControlsPanel>();
    panel_->setTuning(state_.get());
    panel_->resize(256, 700);
    panel_->show();
  }
  void cleanup() { panel_.reset(); }

  void promisesAPredictionBeforeTheRun() {
    QVERIFY(label("predictionWarning").contains("after a few steps"));
    QCOMPARE(label("predictedBytes"), QString());
    QVERIFY(!batch()->safeUpTo());
  }

  /// The warning stands there while the slider is held, before the value is applied.
  void warnsWhileTheSliderIsHeld() {
    test::forEachMessage(test::makeSampleRun({}), [&](const Message& each) { store_.apply(each); });
    panel_->showRun(*store_.run());
    state_->refresh();
    QVERIFY(state_->model());
    panel_->setKnobs({16, 64, 10});
    QVERIFY(!label("predictedBytes").isEmpty());
    QVERIFY(batch()->safeUpTo());
    bool applied = false;
    connect(panel_.get(), &ControlsPanel::changeRequested, this, [&applied] { applied = true; });
    batch()->setSliderDown(true);
    for (int stop = batch()->value(); stop <= batch()->maximum(); ++stop) {
      batch()->setValue(stop);
      const auto chosen = state_->chosen();
      QCOMPARE(chosen.batch,
               quint32(panel_->findChild<QSpinBox*>(QStringLiteral("batchSpin"))->value()));
      const auto peak = state_->model()->driver(chosen);
      const auto worst = tuning::headroomOf(peak.upper, state_->model()->limits());
      QCOMPARE(label("predictionWarning").isEmpty(), worst == tuning::Headroom::kSafe);
      // What is hatched is what may not be safe.
      const bool safe = peak.upper <= state_->model()->safeBytes(state_->reserve());
      if (stop == *batch()->safeUpTo()) QVERIFY(safe);
      if (stop > *batch()->safeUpTo()) QVERIFY(!safe);
    }
    QVERIFY(!applied);
    batch()->setSliderDown(false);
    QVERIFY(applied);
  }

  /// The bounds are a range, which begins at no less than nothing; and in a run that goes on the
  /// prediction counts the cache that is held.
  void tellsTheBoundsAndTheCache() {
    std::optional<RunEnd> end;
    test::forEachMessage(test::makeSampleRun({}), [&](const Message& each) {
      if (const auto* over = std::get_if<RunEnd>(&each)) {
        end = *over;
      } else {
        store_.apply(each);
      }
    });
    const std::vector<events::MemorySample> samples{
        {store_.completeUpToNs(), 2 * kGiB, 6 * kGiB, 8 * kGiB, events::SampleOrigin::Timer}};
    EventBatch batch;
    batch.memorySamples = samples;
    store_.apply(batch);
    panel_->showRun(*store_.run());
    state_->refresh();
    panel_->setKnobs({16, 64, 10});
    QVERIFY(state_->model() && state_->model()->held());
    QVERIFY(state_->model()->driver({16, 64}).bytes >= 6 * kGiB);
    QVERIFY2(label("predictedAfresh").contains("A fresh process: about"),
             qPrintable(label("predictedAfresh")));
    const QString bounds = label("predictedBounds");
    QVERIFY2(bounds.contains(" to "), qPrintable(bounds));
    for (const auto* each : panel_->findChildren<QLabel*>()) {
      QVERIFY2(!each->text().contains(QChar(0xb1)), qPrintable(each->text()));
    }
    // Once the run is over, its cache is gone.
    store_.apply(end.value_or(RunEnd{}));
    state_->refresh();
    QVERIFY(state_->model() && !state_->model()->held());
    QCOMPARE(label("predictedAfresh"), QString());
    QVERIFY(state_->model()->driver({16, 64}).bytes < 6 * kGiB);
  }

  /// A recording that is opened: the model is known before the range of the sliders.
  void theEdgeFollowsTheRangeOfTheSlider() {
    test::forEachMessage(test::makeSampleRun({}), [&](const Message& each) { store_.apply(each); });
    state_->refresh();
    RunDescription run = *store_.run();
    for (const std::uint32_t most : {8U, 1U << 20}) {
      run.maxBatchSize = most;
      panel_->showRun(run);
      const int safe = *batch()->safeUpTo();
      for (const int stop : {safe, std::min(safe + 1, batch()->maximum())}) {
        batch()->setValue(stop);
        const bool isSafe = state_->model()->driver(state_->chosen()).upper <=
                            state_->model()->safeBytes(state_->reserve());
        QCOMPARE(isSafe, stop == safe);
        if (safe == batch()->maximum()) break;
      }
    }
  }

  /// As on a device that is not MPS.
  void withoutLimitsNothingIsCalledUnsafe() {
    test::forEachMessage(test::makeSampleRun({}), [&](const Message& message) {
      const auto* hello = std::get_if<Hello>(&message);
      if (hello == nullptr) return store_.apply(message);
      Hello unlimited = *hello;
      unlimited.limits = {};
      store_.apply(unlimited);
    });
    panel_->showRun(*store_.run());
    state_->refresh();
    panel_->setKnobs({16, 64, 10});
    QVERIFY(state_->model());
    QCOMPARE(state_->model()->limits().recommendedBytes, std::uint64_t{0});
    QVERIFY(label("predictionWarning").contains("Limits unknown"));
    QVERIFY(!label("predictedBytes").isEmpty());
    QVERIFY(!batch()->safeUpTo());
    const auto* reserve = panel_->findChild<QSpinBox*>(QStringLiteral("reserveSpin"));
    QVERIFY(!reserve->isVisibleTo(panel_.get()));
  }

  /// Requests of recorded ops may allow less than the formula: its number is not shown meanwhile.
  void noSafeBatchIsNamedBeforeTheModelIsComplete() {
    // Before the fit, which a turn of the event loop would complete.
    QVERIFY(QTest::qWaitForWindowActive(panel_.get(), test::kWaitMs));
    test::forEachMessage(test::makeSampleRun({.opsFromStep = 20}),
                         [&](const Message& each) { store_.apply(each); });
    panel_->showRun(*store_.run());
    state_->refresh();
    panel_->setKnobs({16, 64, 10});
    auto* table = panel_->findChild<KeyValueView*>();
    const auto rows = [table] {
      table->setFocus();
      QTest::keyClick(table, Qt::Key_C, Qt::ControlModifier);
      return QGuiApplication::clipboard()->text();
    };
    QVERIFY(state_->isFitting());
    QCOMPARE(rows(), QStringLiteral("Safe batch\tcomputing…\nSafe length\tcomputing…"));
    QTRY_VERIFY_WITH_TIMEOUT(!state_->isFitting(), test::kWaitMs);
    QVERIFY2(rows().contains(" at 64\n"), qPrintable(rows()));
  }

  /// A warning moves nothing that is below it.
  void whatIsBelowKeepsItsPlace() {
    test::forEachMessage(test::makeSampleRun({}), [&](const Message& each) { store_.apply(each); });
    panel_->showRun(*store_.run());
    state_->refresh();
    panel_->setKnobs({16, 64, 10});
    const auto* table = panel_->findChild<KeyValueView*>();
    QTRY_COMPARE(table->height(), table->sizeHint().height());
    const auto* below = panel_->findChild<QWidget*>(QStringLiteral("lossEverySpin"));
    const int top = below->mapTo(panel_.get(), QPoint(0, 0)).y();
    bool warned = false;
    for (int stop = batch()->minimum(); stop <= batch()->maximum(); ++stop) {
      batch()->setValue(stop);
      QApplication::processEvents();
      warned = warned || !label("predictionWarning").isEmpty();
      QCOMPARE(below->mapTo(panel_.get(), QPoint(0, 0)).y(), top);
    }
    QVERIFY(warned);
  }

  void nothingIsSafeForLongWhereMemoryGrows() {
    test::forEachMessage(test::makeSampleRun({}), [&](const Message& each) { store_.apply(each); });
    panel_->showRun(*store_.run());
    state_->refresh();
    panel_->setKnobs({16, 64, 10});
    QCOMPARE(label("predictionWarning"), QString());
    state_->setMemoryGrows(true);
    QCOMPARE(label("predictionWarning"), QString("Memory grows: later it takes more"));
    state_->setMemoryGrows(false);
    QCOMPARE(label("predictionWarning"), QString());
  }

  void theReserveMovesTheEdge() {
    test::forEachMessage(test::makeSampleRun({}), [&](const Message& each) { store_.apply(each); });
    panel_->showRun(*store_.run());
    state_->refresh();
    auto* reserve = panel_->findChild<QSpinBox*>(QStringLiteral("reserveSpin"));
    reserve->setValue(0);
    const int most = *batch()->safeUpTo();
    QTest::keyClick(reserve, Qt::Key_Up);
    QCOMPARE(state_->reserve(), 0.01);
    reserve->setValue(90);
    QVERIFY(*batch()->safeUpTo() < most);
  }
};

HIGHWATER_TEST(TestPredictedPeak, QApplication)
#include "tst_predicted_peak.moc"
