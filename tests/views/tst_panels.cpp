#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalSpy>
#include <QSlider>
#include <QSpinBox>
#include <QTest>
#include <QToolButton>
#include <QWheelEvent>
#include <map>

#include "analysis/run_summary.h"
#include "models/op_totals_model.h"
#include "support/sample_run.h"
#include "support/test_program.h"
#include "views/panels/banner.h"
#include "views/panels/controls_panel.h"
#include "views/panels/event_table.h"
#include "views/panels/knob_row.h"
#include "views/panels/selection_panel.h"
#include "views/panels/stop_slider.h"

using namespace highwater;
using namespace highwater::views;

namespace {

RunDescription runWith(const Knobs& knobs, std::uint32_t maxBatch, std::uint32_t maxSequence) {
  RunDescription run;
  run.knobs = knobs;
  run.maxBatchSize = maxBatch;
  run.maxSequenceLength = maxSequence;
  return run;
}

/// A panel of controls in a scroll area, on screen and with a run that goes on.
struct ScrolledControls {
  ScrolledControls() {
    panel = new ControlsPanel;
    area.setWidget(panel);
    area.setWidgetResizable(true);
    area.resize(236, 120);  // too low for the panel
    panel->showRun(runWith({16, 64, 5}, 256, 256));
    panel->showEffective({16, 64, 5});
    panel->setLive(true);
    area.show();
    shown = QTest::qWaitForWindowActive(&area, test::kWaitMs);
  }

  template <typename Widget>
  [[nodiscard]] Widget* find(const char* name) const {
    return panel->findChild<Widget*>(QLatin1String(name));
  }

  QScrollArea area;
  ControlsPanel* panel;
  bool shown = false;
};

/// Turns the wheel over a widget by notches.
void turnWheel(QWidget* widget, int notches) {
  QWidget* window = widget->window();
  const QPoint at = widget->mapTo(window, widget->rect().center());
  for (int i = 0; i < std::abs(notches); ++i) {
    QWheelEvent event(at, window->mapToGlobal(at), {}, {0, notches > 0 ? 120 : -120}, Qt::NoButton,
                      Qt::NoModifier, Qt::NoScrollPhase, false);
    QSpontaneKeyEvent::setSpontaneous(&event);
    qApp->notify(window->windowHandle(), &event);
  }
}

/// What stands beside a control whose value is not in use: what Apply would do, or what is in use.
QString chosenText(const QWidget& panel) {
  for (const auto* row : panel.findChildren<QLabel*>(QStringLiteral("inUseText"))) {
    if (row->isVisible()) return row->text() + QLatin1String(", ") + row->toolTip();
  }
  for (const auto* apply : panel.findChildren<QToolButton*>(QStringLiteral("applyChosenButton"))) {
    if (apply->isVisible()) return apply->accessibleName();
  }
  return {};
}

/// Where the controls of a panel are, by name.
std::map<QString, QPoint> placesOf(const QWidget& panel) {
  std::map<QString, QPoint> places;
  for (const auto* each : panel.findChildren<QWidget*>()) {
    if (each->isVisible() && each->focusPolicy() != Qt::NoFocus && !each->objectName().isEmpty() &&
        !qobject_cast<const QToolButton*>(each)) {
      places[each->objectName()] = each->mapTo(&panel, QPoint(0, 0));
    }
  }
  return places;
}

/// What the panel's controls give for a run of which only these are known.
Knobs shownFor(std::uint32_t batchSize, std::uint32_t sequenceLength, std::uint32_t lossEvery) {
  Knobs knobs{batchSize, sequenceLength, lossEvery};
  knobs.accumulation = 1;
  knobs.precision = Precision::kFloat32;
  knobs.outOfMemory = OutOfMemoryPolicy::kHalve;
  return knobs;
}

}  // namespace

class TestPanels : public QObject {
  Q_OBJECT

 private slots:
  void draggingAsksOnce() {
    ControlsPanel panel;
    panel.setKnobs({16, 64, 5});
    QSignalSpy asked(&panel, &ControlsPanel::changeRequested);
    auto* slider = panel.findChild<QSlider*>(QStringLiteral("batchSlider"));
    QVERIFY(slider);
    for (int i = 0; i < 4; ++i) {
      slider->setValue(slider->value() + 1);  // 24, 32, 48, 64
    }
    QCOMPARE(asked.count(), 0);
    QTRY_COMPARE(asked.count(), 1);
    const auto change = asked.first().first().value<SetKnobs>();
    QCOMPARE(change.batchSize, std::optional<std::uint32_t>(64));
    QVERIFY(!change.sequenceLength && !change.lossEvery);
    QCOMPARE(panel.findChild<QSpinBox*>(QStringLiteral("batchSpin"))->value(), 64);
  }

  void heldSliderAsksWhenLetGo() {
    ControlsPanel panel;
    panel.setKnobs({16, 64, 5});
    QSignalSpy asked(&panel, &ControlsPanel::changeRequested);
    auto* slider = panel.findChild<QSlider*>(QStringLiteral("batchSlider"));
    slider->setSliderDown(true);
    slider->setValue(slider->value() + 1);  // 24
    slider->setValue(slider->value() + 1);  // 32
    QCOMPARE(asked.count(), 0);
    panel.showEffective({16, 64, 5});  // does not move a held slider
    QCOMPARE(panel.knobs().batchSize, 32u);
    slider->setSliderDown(false);
    QCOMPARE(asked.count(), 1);
    QCOMPARE(asked.first().first().value<SetKnobs>().batchSize, std::optional<std::uint32_t>(32));
  }

  void refusalPutsTheControlBack() {
    ControlsPanel panel;
    panel.showRun(runWith({16, 64, 5}, 256, 256));
    QSignalSpy asked(&panel, &ControlsPanel::changeRequested);
    auto* spin = panel.findChild<QSpinBox*>(QStringLiteral("sequenceSpin"));
    spin->setValue(128);
    QTRY_COMPARE(asked.count(), 1);
    panel.showEffective({16, 64, 5});  // not in effect yet: the user's value stays
    QCOMPARE(spin->value(), 128);
    panel.showAnswer(false, QStringLiteral("too long"));
    QCOMPARE(spin->value(), 64);
    auto* message = panel.findChild<QWidget*>(QStringLiteral("controlsMessage"));
    QVERIFY(message->isVisibleTo(&panel));
    QCOMPARE(message->property("text").toString(), QStringLiteral("too long"));
    panel.showAnswer(true, {});
    QVERIFY(!message->isVisibleTo(&panel));
  }

  void effectiveKnobsComeThrough() {
    ControlsPanel panel;
    panel.showRun(runWith({16, 64, 5}, 256, 256));
    QSignalSpy asked(&panel, &ControlsPanel::changeRequested);
    panel.showEffective({32, 128, 10});  // as by a scheduled change
    QCOMPARE(panel.knobs().batchSize, 32u);
    QCOMPARE(panel.knobs().sequenceLength, 128u);
    QCOMPARE(panel.knobs().lossEvery, 10u);
    panel.commit();  // would request a pending change
    QCOMPARE(asked.count(), 0);
  }

  void everyFieldAsks() {
    ControlsPanel panel;
    Knobs inUse = shownFor(16, 64, 5);
    inUse.learningRate = 1e-3;
    inUse.memoryFraction = 1.7;
    panel.showRun(runWith(inUse, 256, 256));
    QCOMPARE(panel.knobs(), inUse);
    QSignalSpy asked(&panel, &ControlsPanel::changeRequested);
    const auto last = [&asked] { return asked.takeLast().first().value<SetKnobs>(); };
    auto* rate = panel.findChild<QDoubleSpinBox*>(QStringLiteral("rateSpin"));
    rate->selectAll();
    QTest::keyClicks(rate, QStringLiteral("3e-5"));
    QTest::keyClick(rate, Qt::Key_Return);
    QTRY_COMPARE(asked.count(), 1);
    QCOMPARE(last().learningRate, std::optional(3e-5));
    QCOMPARE(rate->text(), QStringLiteral("3e-05"));
    panel.findChild<QSpinBox*>(QStringLiteral("accumulationSpin"))->setValue(4);
    QTRY_COMPARE(asked.count(), 1);
    const SetKnobs accumulate = last();
    QCOMPARE(accumulate.accumulation, std::optional<std::uint32_t>(4));
    QVERIFY(!accumulate.learningRate && !accumulate.keepEffectiveBatch && !accumulate.batchSize);
    auto* keep = panel.findChild<QCheckBox*>(QStringLiteral("keepEffectiveCheck"));
    QCOMPARE(keep->text(), QStringLiteral("Keep the effective batch, 64"));
    keep->click();
    QTRY_COMPARE(asked.count(), 1);
    QCOMPARE(last().keepEffectiveBatch, std::optional(true));
    auto* precision = panel.findChild<QComboBox*>(QStringLiteral("precisionList"));
    precision->setCurrentIndex(precision->findText(QStringLiteral("bfloat16")));
    QTRY_COMPARE(asked.count(), 1);
    QCOMPARE(last().precision, std::optional(Precision::kBFloat16));
    panel.findChild<QDoubleSpinBox*>(QStringLiteral("fractionSpin"))->setValue(0.5);
    QTRY_COMPARE(asked.count(), 1);
    QCOMPARE(last().memoryFraction, std::optional(0.5));
    auto* policy = panel.findChild<QComboBox*>(QStringLiteral("policyList"));
    policy->setCurrentIndex(policy->findText(QStringLiteral("stop")));
    QTRY_COMPARE(asked.count(), 1);
    QCOMPARE(last().outOfMemory, std::optional(OutOfMemoryPolicy::kStop));
    // Refused: all return to what is in use.
    panel.showAnswer(false, QStringLiteral("not here"));
    QCOMPARE(panel.knobs(), inUse);
  }

  void whatIsSeldomChangedStandsBehindMore() {
    ControlsPanel panel;
    panel.show();
    auto* more = panel.findChild<QToolButton*>(QStringLiteral("moreControlsButton"));
    const char* const seldom[] = {"keepEffectiveCheck", "precisionList", "fractionSpin",
                                  "dtypeValue",         "modelValue",    "dataValue"};
    for (const bool shown : {false, true, false}) {
      for (const char* name : seldom) {
        QCOMPARE(panel.findChild<QWidget*>(QLatin1String(name))->isVisible(), shown);
      }
      QVERIFY(panel.findChild<QWidget*>(QStringLiteral("highWatermarkSpin"))->isVisible());
      QCOMPARE(more->text(), shown ? QString("Less") : QString("More"));
      QTest::mouseClick(more, Qt::LeftButton);
    }
  }

  void aFieldSaysWhatIsOnItsWay() {
    ControlsPanel panel;
    Knobs inUse = shownFor(16, 64, 5);
    inUse.learningRate = 1e-3;
    panel.showRun(runWith(inUse, 256, 256));
    panel.setLive(true);
    panel.findChild<QSpinBox*>(QStringLiteral("accumulationSpin"))->setValue(4);
    panel.show();
    QTRY_COMPARE(chosenText(panel), QStringLiteral("1 in use, 4 from the next step"));
    inUse.accumulation = 4;
    panel.showEffective(inUse);
    QCOMPARE(chosenText(panel), QString());
  }

  void theRateGoesInSteps() {
    ControlsPanel panel;
    auto* rate = panel.findChild<QDoubleSpinBox*>(QStringLiteral("rateSpin"));
    QCOMPARE(rate->text(), QStringLiteral("default"));
    QCOMPARE(panel.knobs().learningRate, 0.0);
    rate->setValue(1e-3);
    QStringList down;
    for (int i = 0; i < 4; ++i) {
      rate->stepBy(-1);
      down << rate->text();
    }
    QCOMPARE(down, (QStringList{"0.0005", "0.0002", "0.0001", "5e-05"}));
    rate->setValue(3e-4);
    rate->stepBy(-1);
    QCOMPARE(rate->text(), QStringLiteral("0.0002"));
    rate->setValue(3e-4);
    rate->stepBy(1);
    QCOMPARE(rate->text(), QStringLiteral("0.0005"));
    for (int i = 0; i < 40; ++i) rate->stepBy(1);
    QCOMPARE(rate->value(), 10.0);
    for (int i = 0; i < 80; ++i) rate->stepBy(-1);
    QCOMPARE(rate->value(), 1e-9);
  }

  void limitsOfTheRunHold() {
    ControlsPanel panel;
    panel.showRun(runWith({8, 32, 1}, 48, 100));
    auto* batch = panel.findChild<QSlider*>(QStringLiteral("batchSlider"));
    batch->setValue(batch->maximum());
    QCOMPARE(panel.knobs().batchSize, 48u);
    auto* sequence = panel.findChild<QSpinBox*>(QStringLiteral("sequenceSpin"));
    QCOMPARE(sequence->maximum(), 100);
    panel.setChangeable(false);
    QVERIFY(!batch->isEnabled());
  }

  void theWheelNeedsTheFocus() {
    ScrolledControls controls;
    QVERIFY(controls.shown);
    controls.area.setFocus();
    const QScrollBar* bar = controls.area.verticalScrollBar();
    QVERIFY(bar->maximum() > 0);
    for (const char* name :
         {"batchSlider", "batchSpin", "sequenceSlider", "sequenceSpin", "lossEverySpin"}) {
      auto* control = controls.find<QWidget>(name);
      controls.area.verticalScrollBar()->setValue(0);
      controls.area.ensureWidgetVisible(control, 0, 0);
      const int before = bar->value();
      QVERIFY(!control->hasFocus());
      turnWheel(control, before > 0 ? 1 : -1);
      QCOMPARE(controls.panel->knobs(), shownFor(16, 64, 5));
      QVERIFY2(bar->value() != before, name);  // the panel scrolls instead
      QVERIFY2(!control->hasFocus(), name);    // and scrolling does not take the focus
    }
  }

  void whatTheWheelTurnsIsOnlyChosen() {
    ScrolledControls controls;
    QVERIFY(controls.shown);
    QSignalSpy asked(controls.panel, &ControlsPanel::changeRequested);
    auto* slider = controls.find<StopSlider>("batchSlider");
    slider->setFocus();
    const auto places = placesOf(*controls.panel);
    QVERIFY(places.size() > 6);
    turnWheel(slider, 3);  // a notch is a stop: 24, 32, 48
    QCOMPARE(controls.panel->knobs().batchSize, 48u);
    QCOMPARE(chosenText(*controls.panel), QString("Apply 48"));
    QCOMPARE(placesOf(*controls.panel), places);
    QVERIFY(slider->pending());
    // It waits for Apply, however long, and the run's own numbers do not undo it.
    controls.panel->showEffective({16, 64, 5});
    QVERIFY(!asked.wait(400));
    QCOMPARE(controls.panel->knobs().batchSize, 48u);
    QToolButton* apply = nullptr;
    for (auto* each :
         controls.panel->findChildren<QToolButton*>(QStringLiteral("applyChosenButton"))) {
      apply = each->isVisible() ? each : apply;
    }
    QVERIFY(apply);
    QTest::mouseClick(apply, Qt::LeftButton);
    QCOMPARE(asked.count(), 1);
    QCOMPARE(asked[0][0].value<SetKnobs>().batchSize, std::optional<std::uint32_t>(48));
    QCOMPARE(chosenText(*controls.panel), QString("16 in use, 48 from the next step"));
    QCOMPARE(placesOf(*controls.panel), places);
    QVERIFY(slider->pending() && !apply->isVisible());
    controls.panel->showEffective({48, 64, 5});
    QCOMPARE(chosenText(*controls.panel), QString());
    QVERIFY(!slider->pending());
    // A spin box, and Enter.
    auto* spin = controls.find<QSpinBox>("lossEverySpin");
    spin->setFocus();
    controls.area.ensureWidgetVisible(spin);
    turnWheel(spin, 1);
    QCOMPARE(chosenText(*controls.panel), QString("Apply every 6"));
    QTest::keyClick(spin, Qt::Key_Return);
    QCOMPARE(asked.count(), 2);
    QCOMPARE(asked[1][0].value<SetKnobs>().lossEvery, std::optional<std::uint32_t>(6));
  }

  void aTypedValueCanBeTakenBack() {
    ScrolledControls controls;
    QVERIFY(controls.shown);
    QSignalSpy asked(controls.panel, &ControlsPanel::changeRequested);
    auto* spin = controls.find<QSpinBox>("lossEverySpin");
    controls.area.ensureWidgetVisible(spin);
    spin->setFocus();
    QTRY_VERIFY(spin->hasFocus());
    const QString before = spin->text();
    spin->selectAll();
    QTest::keyClick(spin, Qt::Key_9);
    QVERIFY(spin->text() != before);
    QTest::keyClick(spin, Qt::Key_Escape);
    QCOMPARE(spin->text(), before);
    controls.find<QSpinBox>("batchSpin")->setFocus();
    QCOMPARE(asked.count(), 0);
  }

  void aChosenValueCanBeTakenBack() {
    ScrolledControls controls;
    QVERIFY(controls.shown);
    QSignalSpy asked(controls.panel, &ControlsPanel::changeRequested);
    auto* slider = controls.find<StopSlider>("sequenceSlider");
    slider->setFocus();
    controls.area.ensureWidgetVisible(slider);
    turnWheel(slider, 2);
    QVERIFY(slider->pending());
    QTest::keyClick(slider, Qt::Key_Escape);
    QCOMPARE(controls.panel->knobs(), shownFor(16, 64, 5));
    QVERIFY(!slider->pending());
    turnWheel(slider, 1);
    turnWheel(slider, -1);  // back by itself
    QVERIFY(!slider->pending());
    QCOMPARE(chosenText(*controls.panel), QString());
    // Without a run there is no value in use.
    controls.panel->setLive(false);
    turnWheel(slider, 1);
    QVERIFY(!slider->pending());
    QTRY_COMPARE(asked.count(), 1);
  }

  void theWheelChoosesAScriptsKnob() {
    ScriptKnob knob;
    knob.name = "batch_size";
    knob.kind = ScriptKnob::Kind::kInteger;
    knob.value = 8;
    knob.minimum = 1;
    knob.maximum = 64;
    knob.declaredAt = "train.py:12";
    KnobRow row(knob);
    row.show();
    QVERIFY(QTest::qWaitForWindowActive(&row, test::kWaitMs));
    QSignalSpy asked(&row, &KnobRow::changeRequested);
    auto* slider = row.findChild<StopSlider*>();
    auto* field = row.findChild<QLineEdit*>();
    field->setFocus();
    turnWheel(slider, 1);
    QCOMPARE(field->text(), QString("8"));
    slider->setFocus();
    turnWheel(slider, 2);
    const QString chosen = field->text();
    QVERIFY(chosen.toInt() > 8);
    QCOMPARE(chosenText(row), "Apply " + chosen);
    QVERIFY(slider->pending());
    QCOMPARE(asked.count(), 0);
    field->setFocus();  // looking at the number does not apply it
    QCOMPARE(asked.count(), 0);
    QTest::keyClick(slider, Qt::Key_Return);
    QCOMPARE(asked.count(), 1);
    QCOMPARE(asked[0][0].toDouble(), chosen.toDouble());
    QVERIFY(!slider->pending());
  }

  /// As when a run is stopped right after its batch size was typed.
  void whatCannotBeChangedDoesNotScroll() {
    ScrolledControls controls;
    QVERIFY(controls.shown);
    auto* spin = controls.find<QSpinBox>("batchSpin");
    spin->setFocus();
    QTRY_VERIFY(spin->hasFocus());
    QCOMPARE(controls.area.verticalScrollBar()->value(), 0);
    controls.panel->setChangeable(false);
    QVERIFY(!spin->isEnabled());
    QVERIFY(!controls.panel->isAncestorOf(QApplication::focusWidget()));
    QCOMPARE(controls.area.verticalScrollBar()->value(), 0);
    controls.panel->setChangeable(true);
    QVERIFY(spin->isEnabled());
    QCOMPARE(controls.area.verticalScrollBar()->value(), 0);
  }

  void bannerTellsAndOffersAWayOn() {
    Banner banner;
    QSignalSpy again(&banner, &Banner::actionTriggered);
    QSignalSpy asked(&banner, &Banner::linesRequested);
    banner.showMessage(QStringLiteral("the worker crashed"), true, Banner::Kind::kProblem,
                       QStringLiteral("Run again"));
    QVERIFY(banner.isVisible());
    QCOMPARE(banner.message(), QStringLiteral("the worker crashed"));
    const int height = banner.height();
    banner.findChild<QToolButton*>(QStringLiteral("endBannerLines"))->click();
    QCOMPARE(asked.count(), 1);
    QCOMPARE(banner.height(), height);  // the lines are in the log, not over the panes
    banner.findChild<QToolButton*>(QStringLiteral("runAgainButton"))->click();
    QCOMPARE(again.count(), 1);
    banner.findChild<QToolButton*>(QStringLiteral("dismissBannerButton"))->click();
    QVERIFY(!banner.isVisible());
  }
};

HIGHWATER_TEST(TestPanels, QApplication)
#include "tst_panels.moc"
