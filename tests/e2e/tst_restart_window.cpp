// The real window restarts real workers, offscreen.
#include <signal.h>

#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QMessageBox>
#include <QPushButton>
#include <QToolButton>

#include "core/sim_knobs.h"
#include "e2e/hands.h"
#include "e2e/runs.h"
#include "run/recording_loader.h"
#include "run/restart.h"
#include "support/active_window.h"
#include "support/processes.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;

namespace {

session::LaunchOptions restartableRun() {
  session::LaunchOptions options = test::workerRun();
  options.lossEvery = 1;
  options.seed = 3;
  return options;
}

/// A window with a run that trains.
struct TrainingHands : test::Hands {
  explicit TrainingHands(const session::LaunchOptions& options = restartableRun())
      : Hands(options) {
    test::makeActive(window);
    window.startRun();
  }

  [[nodiscard]] QWidget* restartButton() const { return find<QWidget>("restartButton"); }
  [[nodiscard]] QString environment(const char* name) {
    for (const EnvironmentEntry& entry : store().hello()->environment) {
      if (entry.name == name) return QString::fromStdString(entry.value.value_or("unset"));
    }
    return {};
  }
  [[nodiscard]] bool hasMarker(const QString& text) {
    for (const events::Marker& marker : store().markers()) {
      if (QString::fromStdString(store().markerText(marker)).contains(text)) return true;
    }
    return false;
  }
  /// The banner's button.
  [[nodiscard]] QToolButton* bannerButton(const QString& text) const {
    for (auto* each : banner()->findChildren<QToolButton*>()) {
      if (each->isVisible() && each->text().startsWith(text)) return each;
    }
    return nullptr;
  }
  [[nodiscard]] QString bannerText() const { return banner()->message(); }
};

}  // namespace

class TestRestartWindow : public QObject {
  Q_OBJECT

  QTemporaryDir home_;

 private slots:
  void initTestCase() {
    QVERIFY(home_.isValid());
    test::useHome(home_);
    qputenv("OMP_NUM_THREADS", "1");
    qunsetenv(kMpsFallbackVariable);
    qunsetenv(kMpsHighWatermarkVariable);
    qunsetenv(kMpsLowWatermarkVariable);
  }

  void movesATrainingToAnotherDevice() {
    TrainingHands hands;
    QTRY_VERIFY_WITH_TIMEOUT(hands.trains(5), kWaitMs);
    const auto first = hands.run().recordingPath();
    QVERIFY(!hands.restartButton()->isVisible());
    auto* device = hands.find<QComboBox>("restartDeviceList");
    QTRY_COMPARE(device->currentText(), QString("sim"));
    device->setFocus();
    QTest::keyClick(device, Qt::Key_Down);
    QCOMPARE(device->currentText(), QString("cpu"));
    QVERIFY(hands.restartButton()->isVisible());
    QCOMPARE(hands.find<QLabel>("restartText")->text(),
             QString("Restarts the worker; the model, optimizer and step count are kept"));
    // Nothing happens before the click, also not when the state of the run is shown anew.
    emit hands.run().stateChanged();
    QCOMPARE(device->currentText(), QString("cpu"));
    QCOMPARE(hands.run().recordingPath(), first);
    hands.click(hands.restartButton());
    QTRY_VERIFY_WITH_TIMEOUT(hands.run().recordingPath() != first && hands.trains(3), kWaitMs);

    QCOMPARE(hands.store().hello()->device.selected, std::string("cpu"));
    const std::uint32_t from = hands.store().steps().records.front().step() - 1;
    QVERIFY(from >= 5);
    QVERIFY(hands.hasMarker(QString("continued from step %1 of %2: device sim → cpu")
                                .arg(from)
                                .arg(QString::fromStdString(first.filename().string()))));
    QCOMPARE(hands.bannerText(), QString("Continued from step %1: device sim → cpu").arg(from));
    QVERIFY(!hands.restartButton()->isVisible());
    QCOMPARE(hands.store().run()->preset, std::string("small"));
    // The recording that it continues ends there.
    analysis::LiveStore before;
    QVERIFY(run::loadRecording(first, before));
    QCOMPARE(before.steps().records.back().step(), from);
    QCOMPARE(before.end()->reason, RunEnd::Reason::kStopped);
    // The next run has the device too.
    QCOMPARE(hands.run().options().device, std::string("cpu"));
    hands.run().stop();
    QTRY_COMPARE_WITH_TIMEOUT(hands.run().state(), test::Hands::State::kEnded, kWaitMs);
    QCOMPARE(device->currentText(), QString("cpu"));
    QVERIFY(!hands.run().continuation());
  }

  void changesFallbackAndWatermarks() {
    TrainingHands hands;
    QTRY_VERIFY_WITH_TIMEOUT(hands.trains(2), kWaitMs);
    const auto first = hands.run().recordingPath();
    auto* fallback = hands.find<QCheckBox>("fallbackCheck");
    QVERIFY(!fallback->isChecked());
    fallback->setFocus();
    QTest::keyClick(fallback, Qt::Key_Space);
    // PyTorch refuses a low watermark above the high one.
    hands.type(hands.find<QDoubleSpinBox>("highWatermarkSpin"), "0.9");
    QCOMPARE(hands.find<QDoubleSpinBox>("lowWatermarkSpin")->value(), 0.9);
    hands.click(hands.restartButton());
    QTRY_VERIFY_WITH_TIMEOUT(hands.run().recordingPath() != first && hands.trains(2), kWaitMs);
    QCOMPARE(hands.environment(kMpsFallbackVariable), QString("1"));
    QCOMPARE(hands.environment(kMpsHighWatermarkVariable), QString("0.9"));
    QCOMPARE(hands.environment(kMpsLowWatermarkVariable), QString("0.9"));
    QVERIFY(hands.hasMarker("CPU fallback on, high watermark 1.7 → 0.9, low watermark 1.4 → 0.9"));
    QVERIFY(std::abs(hands.store().hello()->limits.highWatermarkRatio - 0.9) < 1e-9);
    QVERIFY(std::abs(hands.store().knobs().memoryFraction - 0.9) < 1e-9);
  }

  void asksBeforeItLiftsTheLimit() {
    TrainingHands hands;
    QTRY_VERIFY_WITH_TIMEOUT(hands.trains(2), kWaitMs);
    const auto first = hands.run().recordingPath();
    auto* high = hands.find<QDoubleSpinBox>("highWatermarkSpin");
    const auto dialog = [&] { return hands.find<QMessageBox>("liftLimitDialog"); };
    hands.type(high, "0");
    QCOMPARE(high->text(), QString("no limit"));
    hands.click(hands.restartButton());
    QTRY_VERIFY(dialog());
    QVERIFY(dialog()->informativeText().contains("bring the system down"));
    QCOMPARE(dialog()->defaultButton(), dialog()->button(QMessageBox::Cancel));
    hands.click(dialog()->button(QMessageBox::Cancel));
    QTRY_VERIFY(!dialog());
    QCOMPARE(high->value(), 1.7);
    QCOMPARE(hands.run().recordingPath(), first);
    QCOMPARE(hands.run().state(), test::Hands::State::kRunning);

    hands.type(high, "0");
    hands.click(hands.restartButton());
    QTRY_VERIFY(dialog());
    hands.click(hands.find<QPushButton>("liftLimitButton"));
    QTRY_VERIFY_WITH_TIMEOUT(hands.run().recordingPath() != first && hands.trains(2), kWaitMs);
    QCOMPARE(hands.environment(kMpsHighWatermarkVariable), QString("0"));
    QVERIFY(hands.hasMarker("high watermark 1.7 → 0"));
    hands.run().stop();
    QTRY_COMPARE_WITH_TIMEOUT(hands.run().state(), test::Hands::State::kEnded, kWaitMs);

    // Before a run the question comes with the value.
    hands.type(high, "1");
    QCOMPARE(high->value(), 1.0);
    QVERIFY(!dialog());
    hands.type(high, "0");
    QTRY_VERIFY(dialog());
    hands.click(dialog()->button(QMessageBox::Cancel));
    QTRY_VERIFY(!dialog());
    QCOMPARE(high->value(), 1.0);
    QCOMPARE(run::restartSettingsOf(hands.run().options()).highWatermark, 1.0);
  }

  void offersToContinueAfterAnAbort() {
    TrainingHands hands;
    QTRY_VERIFY_WITH_TIMEOUT(hands.trains(5), kWaitMs);
    const auto first = hands.run().recordingPath();
    const qint64 worker = workerOf(QCoreApplication::applicationPid());
    QVERIFY(worker > 0);
    QCOMPARE(::kill(static_cast<pid_t>(worker), SIGKILL), 0);
    QTRY_COMPARE_WITH_TIMEOUT(hands.run().state(), test::Hands::State::kEnded, kWaitMs);
    QTRY_VERIFY(hands.bannerButton("Continue from step"));
    QToolButton* button = hands.bannerButton("Continue from step");
    QVERIFY2(button->text().endsWith(" with batch 4"), qPrintable(button->text()));
    const std::uint32_t from = hands.run().continuation()->fromStep;
    hands.click(button);
    QTRY_VERIFY_WITH_TIMEOUT(hands.run().recordingPath() != first && hands.trains(3), kWaitMs);
    QCOMPARE(hands.store().run()->knobs.batchSize, 4u);
    QCOMPARE(hands.store().steps().records.front().step(), from + 1);
    QVERIFY(hands.hasMarker("whose worker was killed by signal 9 (SIGKILL); batch 8 → 4"));
  }

  void continuesAtOnceWhereTheUserSaidSo() {
    auto options = restartableRun();
    options.afterAbort = session::AfterAbort::kRestart;
    TrainingHands hands(options);
    QTRY_VERIFY_WITH_TIMEOUT(hands.trains(5), kWaitMs);
    const auto first = hands.run().recordingPath();
    QCOMPARE(::kill(static_cast<pid_t>(workerOf(QCoreApplication::applicationPid())), SIGKILL), 0);
    QTRY_VERIFY_WITH_TIMEOUT(hands.run().recordingPath() != first && hands.trains(3), kWaitMs);
    QCOMPARE(hands.store().run()->knobs.batchSize, 4u);
    QVERIFY(hands.bannerText().startsWith("Continued from step "));
  }

  void goesBackAfterARestartThatFailed() {
    TrainingHands hands;
    QTRY_VERIFY_WITH_TIMEOUT(hands.trains(5), kWaitMs);
    const auto first = hands.run().recordingPath();
    // A device that this machine does not have.
    RestartSettings settings = run::restartSettingsOf(*hands.store().hello());
    settings.device = "mps";
    settings.lowWatermark = 1.9;  // above the high one
    QVERIFY(hands.run().restart(settings));
    QTRY_VERIFY_WITH_TIMEOUT(hands.bannerButton("Continue from step"), kWaitMs);
    const std::uint32_t from = hands.run().continuation()->fromStep;
    QVERIFY(from >= 5);
    QCOMPARE(hands.run().options().device, std::string("sim"));
    hands.click(hands.bannerButton("Continue from step"));
    QTRY_VERIFY_WITH_TIMEOUT(hands.run().recordingPath() != first && hands.trains(3), kWaitMs);
    QCOMPARE(hands.store().steps().records.front().step(), from + 1);
    QVERIFY(hands.store().hello()->device.simulated);
  }

  void stopsInPlaceOfARestart() {
    TrainingHands hands;
    QTRY_VERIFY_WITH_TIMEOUT(hands.trains(2), kWaitMs);
    const auto first = hands.run().recordingPath();
    RestartSettings settings = run::restartSettingsOf(*hands.store().hello());
    settings.device = "cpu";
    QVERIFY(hands.run().restart(settings));
    hands.run().stop();
    QTRY_COMPARE_WITH_TIMEOUT(hands.run().state(), test::Hands::State::kEnded, kWaitMs);
    QCoreApplication::processEvents();
    QCoreApplication::processEvents();
    QCOMPARE(hands.run().recordingPath(), first);
    QVERIFY(!hands.run().live());
    const auto refused = hands.run().restart(settings);
    QVERIFY(!refused);
  }
};

HIGHWATER_TEST(TestRestartWindow, QApplication)
#include "tst_restart_window.moc"
