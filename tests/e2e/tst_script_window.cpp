// The real window with a user's own script on the simulated device, offscreen.
#include <QAction>
#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QPushButton>
#include <QSlider>
#include <QStandardPaths>
#include <QToolButton>
#include <csignal>

#include "e2e/hands.h"
#include "run/recording_loader.h"
#include "run/sweep_run.h"
#include "run/try_run.h"
#include "support/processes.h"
#include "support/run_program.h"
#include "support/test_program.h"
#include "views/panels/findings_panel.h"
#include "views/panels/knob_row.h"

using namespace highwater;
using highwater::test::kWaitMs;

namespace {

struct ScriptHands : test::Hands {
  ScriptHands() {
    QObject::connect(&run(), &run::Run::linePrinted, &window,
                     [this](const QString& line) { lines << line; });
  }

  /// A test that has failed leaves no script behind, which would train for ever.
  ~ScriptHands() { run().signalScript(SIGKILL); }

  [[nodiscard]] Result<void> runPython(const QStringList& arguments) {
    session::ScriptOptions script;
    script.command = QStringList{QStringLiteral(HIGHWATER_PYTHON)} + arguments;
    script.simulated = true;
    script.environment = {QStringLiteral("OMP_NUM_THREADS=1")};
    return window.runScript(script, {});
  }
  [[nodiscard]] views::KnobRow* knob(const char* name) const {
    return window.findChild<views::KnobRow*>(QStringLiteral("knob-") + QLatin1String(name));
  }
  [[nodiscard]] bool printed(const QString& text) const {
    return std::any_of(lines.begin(), lines.end(),
                       [&](const QString& line) { return line.contains(text); });
  }

  QStringList lines;
};

}  // namespace

class TestScriptWindow : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { QStandardPaths::setTestModeEnabled(true); }

  void aKnobTurnedInTheWindowIsUsedAtTheScriptsNextCall() {
    ScriptHands hands;
    QVERIFY(hands.runPython({QStringLiteral(HIGHWATER_SCRIPT)}).ok());
    QTRY_VERIFY_WITH_TIMEOUT(hands.knob("scale") && hands.knob("scale")->isEnabled(), kWaitMs);
    QTRY_VERIFY_WITH_TIMEOUT(hands.printed("scale 1.5 loss mean batch 8"), kWaitMs);
    QCOMPARE(hands.knob("scale")->knob().declaredAt, std::string("knob_script.py:12"));

    auto* slider = hands.knob("scale")->findChild<QSlider*>();
    slider->setValue(slider->maximum());
    QTRY_VERIFY_WITH_TIMEOUT(hands.printed("scale 8.0"), kWaitMs);
    QTRY_COMPARE_WITH_TIMEOUT(hands.knob("scale")->knob().value, 8.0, kWaitMs);

    auto* choice = hands.knob("loss")->findChild<QComboBox*>();
    choice->setCurrentIndex(1);
    emit choice->activated(1);
    QTRY_VERIFY_WITH_TIMEOUT(hands.printed("loss sum"), kWaitMs);

    auto* field = hands.knob("dataloader_batch_size")->findChild<QLineEdit*>();
    hands.type(field, "32");
    QTRY_VERIFY_WITH_TIMEOUT(hands.printed("batch 32"), kWaitMs);
    const auto sawBatch32 = [&] {
      const auto& records = hands.store().steps().records;
      return std::any_of(records.begin(), records.end(),
                         [](const auto& step) { return step.batch_size() == 32; });
    };
    QTRY_VERIFY_WITH_TIMEOUT(sawBatch32(), kWaitMs);
    const auto marksOfIt = [&] {
      const auto& markers = hands.store().markers();
      return std::count_if(markers.begin(), markers.end(), [](const events::Marker& each) {
        return each.kind() == events::MarkerKind::BatchSize && each.value_before() == 8 &&
               each.value_after() == 32;
      });
    };
    QTRY_COMPARE_WITH_TIMEOUT(marksOfIt(), 1, kWaitMs);

    // A value that the knob does not take is refused where it is typed.
    auto* typed = hands.knob("scale")->findChild<QLineEdit*>();
    hands.type(typed, "9");
    QCOMPARE(typed->text(), QString("8"));
    QCOMPARE(hands.knob("scale")->knob().value, 8.0);

    hands.trigger("stopAction");
    QTRY_COMPARE_WITH_TIMEOUT(hands.state(), test::Hands::State::kEnded, kWaitMs);
    QCOMPARE(hands.store().end()->reason, RunEnd::Reason::kStopped);
    QVERIFY(hands.printed("Highwater: interrupted the program"));
    QVERIFY(!hands.knob("scale")->isEnabled());

    // The file has what the window shows.
    analysis::LiveStore loaded;
    QVERIFY(run::loadRecording(hands.window.currentRun().recordingPath(), loaded).ok());
    QVERIFY(loaded.ownScript());
    QCOMPARE(loaded.steps().records.size(), hands.steps());
    QCOMPARE(loaded.scriptKnobs().size(), hands.store().scriptKnobs().size());
    QCOMPARE(loaded.scriptKnobs()[0].value, 8.0);
  }

  /// In the run that goes on, which then has its own size again; applied; and in a run of its own.
  void aSweepTurnsTheScriptsBatch() {
    ScriptHands hands;
    QVERIFY(hands.runPython({QStringLiteral(HIGHWATER_SCRIPT)}).ok());
    QTRY_VERIFY_WITH_TIMEOUT(hands.trains(8), kWaitMs);
    const auto agree = [&hands] {
      QTRY_VERIFY_WITH_TIMEOUT(hands.find<QDialog>("sweepScriptDialog"), kWaitMs);
      hands.click(hands.find<QPushButton>("sweepScriptButton"));
    };
    hands.trigger("sweepAction");
    agree();
    QTRY_VERIFY_WITH_TIMEOUT(hands.run().sweeps(), kWaitMs);
    QVERIFY(!hands.knob("dataloader_batch_size")->isEnabled());
    QTRY_VERIFY_WITH_TIMEOUT(!hands.run().sweeps(), 4 * kWaitMs);
    const tuning::Sweep result = hands.run().sweep()->result();
    QVERIFY2(result.settings.size() > 2 && result.best, result.reason.c_str());
    QCOMPARE(result.settings.front().setting.batch, 8U);
    QTRY_COMPARE_WITH_TIMEOUT(hands.knob("dataloader_batch_size")->knob().value, 8.0, kWaitMs);
    QTRY_COMPARE_WITH_TIMEOUT(hands.state(), test::Hands::State::kRunning, kWaitMs);
    QVERIFY(hands.knob("dataloader_batch_size")->isEnabled());

    auto* apply = hands.find<QPushButton>("applyRecommendedButton");
    QTRY_VERIFY_WITH_TIMEOUT(apply && apply->isVisible(), kWaitMs);
    hands.click(apply);
    QTRY_COMPARE_WITH_TIMEOUT(hands.knob("dataloader_batch_size")->knob().value,
                              double(result.best->batch), kWaitMs);
    const auto showsBest = [&] {
      return hands.store().steps().records.back().batch_size() == result.best->batch;
    };
    QTRY_VERIFY_WITH_TIMEOUT(showsBest(), kWaitMs);
    hands.trigger("stopAction");
    QTRY_COMPARE_WITH_TIMEOUT(hands.state(), test::Hands::State::kEnded, kWaitMs);

    hands.trigger("sweepAction");
    agree();
    QTRY_VERIFY_WITH_TIMEOUT(hands.run().sweeps(), kWaitMs);
    QTRY_COMPARE_WITH_TIMEOUT(hands.state(), test::Hands::State::kEnded, 4 * kWaitMs);
    QCOMPARE(hands.store().end()->reason, RunEnd::Reason::kStopped);
    QVERIFY2(hands.run().sweep() && hands.run().sweep()->result().best,
             hands.run().sweep()->result().reason.c_str());
  }

  /// The script reads each loss; the try leaves that out in turns, and the finding says what it
  /// gained.
  void aFixIsTried() {
    ScriptHands hands;
    QVERIFY(hands.runPython({QStringLiteral(HIGHWATER_READING_SCRIPT)}).ok());
    const auto button = [&hands] {
      for (auto* each : hands.window.findChildren<QToolButton*>(QStringLiteral("tryFixButton"))) {
        if (each->isVisible()) return each;
      }
      return static_cast<QToolButton*>(nullptr);
    };
    QTRY_VERIFY_WITH_TIMEOUT(button(), kWaitMs);
    hands.click(button());
    QTRY_VERIFY_WITH_TIMEOUT(hands.find<QDialog>("tryFixDialog"), kWaitMs);
    hands.click(hands.find<QPushButton>("tryFixStartButton"));
    QTRY_VERIFY_WITH_TIMEOUT(hands.run().tries(), kWaitMs);
    QVERIFY(!hands.find<QAction>("pauseAction")->isEnabled());
    QTRY_VERIFY_WITH_TIMEOUT(!hands.run().tries(), kWaitMs);
    const auto& fix = hands.run().tried()->result();
    QVERIFY2(fix, hands.run().tried()->problem().c_str());
    const auto says = [&hands] {
      for (auto* card : hands.window.findChildren<views::FindingCard*>()) {
        if (card->finding().tried) return true;
      }
      return false;
    };
    QTRY_VERIFY_WITH_TIMEOUT(says(), kWaitMs);
    // The loss is read again.
    const std::size_t waits = hands.store().syncPoints().size();
    QTRY_VERIFY_WITH_TIMEOUT(hands.store().syncPoints().size() > waits + 10, kWaitMs);
    hands.trigger("stopAction");
    QTRY_COMPARE_WITH_TIMEOUT(hands.state(), test::Hands::State::kEnded, kWaitMs);
  }

  /// Its knob has its own value again afterwards.
  void aKnobIsTried() {
    ScriptHands hands;
    QVERIFY(hands.runPython({QStringLiteral(HIGHWATER_SCRIPT)}).ok());
    QTRY_VERIFY_WITH_TIMEOUT(hands.trains(8), kWaitMs);
    QTRY_VERIFY_WITH_TIMEOUT(hands.knob("loss"), kWaitMs);
    hands.trigger("tryKnobAction");
    QTRY_VERIFY_WITH_TIMEOUT(hands.find<QDialog>("tryKnobDialog"), kWaitMs);
    auto* start = hands.find<QPushButton>("tryKnobStartButton");
    auto* value = hands.find<QComboBox>("tryKnobValue");
    QVERIFY(!start->isEnabled());
    hands.type(value->lineEdit(), "9");
    QVERIFY(!start->isEnabled());
    QVERIFY(hands.find<QLabel>("tryKnobProblem")->text().contains("from 0.5 to 8"));
    hands.find<QComboBox>("tryKnobName")->setCurrentText("loss");
    QCOMPARE(value->currentText(), QString("sum"));
    hands.click(start);
    QTRY_VERIFY_WITH_TIMEOUT(hands.run().tries(), kWaitMs);
    QTRY_VERIFY_WITH_TIMEOUT(!hands.run().tries(), kWaitMs);
    QVERIFY2(hands.run().tried()->result(), hands.run().tried()->problem().c_str());
    QCOMPARE(hands.run().tried()->result()->change.text(), std::string("loss = sum"));
    QTRY_COMPARE_WITH_TIMEOUT(hands.knob("loss")->knob().value, 0.0, kWaitMs);
    QVERIFY(hands.printed(" loss sum "));
    hands.trigger("stopAction");
    QTRY_COMPARE_WITH_TIMEOUT(hands.state(), test::Hands::State::kEnded, kWaitMs);
  }

  void pausesAndGoesOn() {
    ScriptHands hands;
    QVERIFY(hands.runPython({QStringLiteral(HIGHWATER_SCRIPT)}).ok());
    QTRY_COMPARE_WITH_TIMEOUT(hands.state(), test::Hands::State::kRunning, kWaitMs);
    hands.trigger("pauseAction");
    QTRY_VERIFY_WITH_TIMEOUT(hands.store().paused(), kWaitMs);
    const std::uint32_t pausedAt = hands.store().runningStep();
    // Heartbeats go on; steps do not.
    const std::int64_t until = hands.store().completeUpToNs() + 1'000'000'000;
    QTRY_VERIFY_WITH_TIMEOUT(hands.store().completeUpToNs() > until, kWaitMs);
    QVERIFY(hands.store().runningStep() <= pausedAt + 1);
    hands.trigger("pauseAction");
    QTRY_VERIFY_WITH_TIMEOUT(hands.store().runningStep() > pausedAt + 3, kWaitMs);
    // The pause is no part of a step.
    std::optional<std::int64_t> pausedNs;
    for (const auto& marker : hands.store().markers()) {
      if (marker.kind() == events::MarkerKind::Paused) pausedNs = marker.time_ns();
    }
    QVERIFY(pausedNs);
    for (const auto& step : hands.store().steps().records) {
      QVERIFY(step.begin_ns() > *pausedNs || step.begin_ns() + step.duration_ns() <= *pausedNs);
    }
    const auto script = static_cast<qint64>(hands.store().hello()->processId);
    hands.window.closeAtOnce();
    // The window is gone, the script is not.
    QVERIFY(!test::isGone(script));
    hands.window.currentRun().signalScript(SIGKILL);
    QTRY_VERIFY_WITH_TIMEOUT(!hands.window.currentRun().scriptRuns(), kWaitMs);
  }

  void aScriptThatIgnoresStopCanBeKilled() {
    ScriptHands hands;
    const QString script = QStringLiteral(
        "import runpy, signal; signal.signal(signal.SIGINT, signal.SIG_IGN); "
        "runpy.run_path('" HIGHWATER_SCRIPT "', run_name='__main__')");
    QVERIFY(hands.runPython({QStringLiteral("-c"), script}).ok());
    QTRY_VERIFY_WITH_TIMEOUT(hands.trains(2), kWaitMs);
    const auto* stop = hands.find<QAction>("stopAction");
    QCOMPARE(stop->text(), QString("Stop"));
    hands.trigger("stopAction");
    QTRY_COMPARE_WITH_TIMEOUT(stop->text(), QString("Kill…"), kWaitMs);
    QCOMPARE(hands.state(), test::Hands::State::kStopping);
    hands.trigger("stopAction");
    auto* kill = hands.find<QPushButton>("killScriptButton");
    QVERIFY(kill && kill->isVisible());
    hands.click(kill);
    QTRY_COMPARE_WITH_TIMEOUT(hands.state(), test::Hands::State::kEnded, kWaitMs);
    QCOMPARE(stop->text(), QString("Stop"));
    QTRY_VERIFY_WITH_TIMEOUT(!hands.find<QDialog>("killScriptDialog"), kWaitMs);
  }

  void theQuestionWhetherToCloseEndsWithTheScript() {
    ScriptHands hands;
    QVERIFY(hands.runPython({QStringLiteral(HIGHWATER_SCRIPT)}).ok());
    QTRY_VERIFY_WITH_TIMEOUT(hands.trains(2), kWaitMs);
    hands.window.close();
    QVERIFY(hands.window.isVisible() && hands.find<QDialog>("leaveScriptDialog"));
    hands.run().signalScript(SIGKILL);
    QTRY_VERIFY_WITH_TIMEOUT(!hands.find<QDialog>("leaveScriptDialog"), kWaitMs);
    QVERIFY(hands.window.isVisible());
  }

  void saysWhyNothingCameOfIt() {
    ScriptHands hands;
    QVERIFY(
        hands.runPython({QStringLiteral("-c"), QStringLiteral("print('no training here')")}).ok());
    QTRY_COMPARE_WITH_TIMEOUT(hands.state(), test::Hands::State::kEnded, kWaitMs);
    QVERIFY(hands.printed("no training here"));
    const views::Banner* banner = hands.banner();
    QVERIFY(banner && !banner->isHidden());
    QVERIFY2(banner->message().contains("did not import torch"), qPrintable(banner->message()));

    session::ScriptOptions missing;
    missing.command = QStringList{QStringLiteral("/no/such/python"), QStringLiteral("train.py")};
    const auto started = hands.window.runScript(missing, {});
    QVERIFY(!started);
    QVERIFY(started.error().message.find("/no/such/python") != std::string::npos);
  }
};

HIGHWATER_TEST(TestScriptWindow, QApplication)
#include "tst_script_window.moc"
