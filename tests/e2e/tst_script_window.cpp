// The real window with a user's own script on the simulated device, offscreen.
#include <QAction>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QSlider>
#include <QStandardPaths>
#include <QTest>
#include <csignal>
#include <optional>

#include "session/recording_loader.h"
#include "support/processes.h"
#include "support/test_program.h"
#include "views/panels/banner.h"
#include "views/panels/knob_row.h"
#include "window/main_window.h"

using namespace highwater;
using window::MainWindow;
using State = session::Session::State;

namespace {

constexpr int kStartMs = 120'000;  // PyTorch loads slowly on a busy machine
constexpr int kStepsMs = 60'000;

class Hands {
 public:
  Hands() : window({}, nullptr, MainWindow::Settings::kOff) {
    QObject::connect(&window.currentRun(), &window::CurrentRun::linePrinted, &window,
                     [this](const QString& line) { lines << line; });
    window.show();
  }

  /// A test that has failed leaves no script behind, which would train for ever.
  ~Hands() { window.currentRun().signalScript(SIGKILL); }

  [[nodiscard]] Result<void> run(const QStringList& arguments) {
    session::ScriptOptions script;
    script.command = QStringList{QStringLiteral(HIGHWATER_PYTHON)} + arguments;
    script.simulated = true;
    script.environment = {QStringLiteral("OMP_NUM_THREADS=1")};
    return window.runScript(script, {});
  }
  [[nodiscard]] const analysis::LiveStore& store() { return window.currentRun().store(); }
  [[nodiscard]] State state() { return window.currentRun().state(); }
  [[nodiscard]] std::size_t steps() { return store().steps().records.size(); }
  [[nodiscard]] views::KnobRow* knob(const char* name) const {
    return window.findChild<views::KnobRow*>(QStringLiteral("knob-") + QLatin1String(name));
  }
  void trigger(const char* action) const {
    auto* found = window.findChild<QAction*>(QLatin1String(action));
    QVERIFY2(found && found->isEnabled(), action);
    found->trigger();
  }
  [[nodiscard]] bool printed(const QString& text) const {
    return std::any_of(lines.begin(), lines.end(),
                       [&](const QString& line) { return line.contains(text); });
  }

  MainWindow window;
  QStringList lines;
};

}  // namespace

class TestScriptWindow : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { QStandardPaths::setTestModeEnabled(true); }

  void aKnobTurnedInTheWindowIsUsedAtTheScriptsNextCall() {
    Hands hands;
    QVERIFY(hands.run({QStringLiteral(HIGHWATER_SCRIPT)}).ok());
    QTRY_VERIFY_WITH_TIMEOUT(hands.knob("scale") && hands.knob("scale")->isEnabled(), kStartMs);
    QTRY_VERIFY_WITH_TIMEOUT(hands.printed("scale 1.5 loss mean batch 8"), kStepsMs);
    QCOMPARE(hands.knob("scale")->knob().declaredAt, std::string("knob_script.py:12"));

    auto* slider = hands.knob("scale")->findChild<QSlider*>();
    slider->setValue(slider->maximum());
    QTRY_VERIFY_WITH_TIMEOUT(hands.printed("scale 8.0"), kStepsMs);
    QTRY_COMPARE_WITH_TIMEOUT(hands.knob("scale")->knob().value, 8.0, kStepsMs);

    auto* choice = hands.knob("loss")->findChild<QComboBox*>();
    choice->setCurrentIndex(1);
    emit choice->activated(1);
    QTRY_VERIFY_WITH_TIMEOUT(hands.printed("loss sum"), kStepsMs);

    auto* field = hands.knob("dataloader_batch_size")->findChild<QLineEdit*>();
    field->setFocus();
    field->selectAll();
    QTest::keyClicks(field, "32");
    QTest::keyClick(field, Qt::Key_Return);
    QTRY_VERIFY_WITH_TIMEOUT(hands.printed("batch 32"), kStepsMs);
    const auto sawBatch32 = [&] {
      const auto& records = hands.store().steps().records;
      return std::any_of(records.begin(), records.end(),
                         [](const auto& step) { return step.batch_size() == 32; });
    };
    QTRY_VERIFY_WITH_TIMEOUT(sawBatch32(), kStepsMs);
    const auto marksOfIt = [&] {
      const auto& markers = hands.store().markers();
      return std::count_if(markers.begin(), markers.end(), [](const events::Marker& each) {
        return each.kind() == events::MarkerKind::BatchSize && each.value_before() == 8 &&
               each.value_after() == 32;
      });
    };
    QTRY_COMPARE_WITH_TIMEOUT(marksOfIt(), 1, kStepsMs);

    // A value that the knob does not take is refused where it is typed.
    auto* typed = hands.knob("scale")->findChild<QLineEdit*>();
    typed->setFocus();
    typed->selectAll();
    QTest::keyClicks(typed, "9");
    QTest::keyClick(typed, Qt::Key_Return);
    QCOMPARE(typed->text(), QString("8"));
    QCOMPARE(hands.knob("scale")->knob().value, 8.0);

    hands.trigger("stopAction");
    QTRY_COMPARE_WITH_TIMEOUT(hands.state(), State::kEnded, kStepsMs);
    QCOMPARE(hands.store().end()->reason, RunEnd::Reason::kStopped);
    QVERIFY(hands.printed("KeyboardInterrupt"));
    QVERIFY(!hands.knob("scale")->isEnabled());

    // The file has what the window shows.
    analysis::LiveStore loaded;
    QVERIFY(session::loadRecording(hands.window.currentRun().recordingPath(), loaded).ok());
    QVERIFY(loaded.ownScript());
    QCOMPARE(loaded.steps().records.size(), hands.steps());
    QCOMPARE(loaded.scriptKnobs().size(), hands.store().scriptKnobs().size());
    QCOMPARE(loaded.scriptKnobs()[0].value, 8.0);
  }

  void pausesAndGoesOn() {
    Hands hands;
    QVERIFY(hands.run({QStringLiteral(HIGHWATER_SCRIPT)}).ok());
    QTRY_COMPARE_WITH_TIMEOUT(hands.state(), State::kRunning, kStartMs);
    hands.trigger("pauseAction");
    QTRY_VERIFY_WITH_TIMEOUT(hands.store().paused(), kStepsMs);
    const std::uint32_t pausedAt = hands.store().runningStep();
    // Heartbeats go on; steps do not.
    const std::int64_t until = hands.store().completeUpToNs() + 1'000'000'000;
    QTRY_VERIFY_WITH_TIMEOUT(hands.store().completeUpToNs() > until, kStepsMs);
    QVERIFY(hands.store().runningStep() <= pausedAt + 1);
    hands.trigger("pauseAction");
    QTRY_VERIFY_WITH_TIMEOUT(hands.store().runningStep() > pausedAt + 3, kStepsMs);
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
    QTRY_VERIFY_WITH_TIMEOUT(!hands.window.currentRun().scriptRuns(), kStepsMs);
  }

  void saysWhyNothingCameOfIt() {
    Hands hands;
    QVERIFY(hands.run({QStringLiteral("-c"), QStringLiteral("print('no training here')")}).ok());
    QTRY_COMPARE_WITH_TIMEOUT(hands.state(), State::kEnded, kStartMs);
    QVERIFY(hands.printed("no training here"));
    auto* banner = hands.window.findChild<views::Banner*>(QStringLiteral("endBanner"));
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
