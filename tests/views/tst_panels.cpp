#include <QSignalSpy>
#include <QSlider>
#include <QSpinBox>
#include <QTest>
#include <QToolButton>

#include "analysis/run_summary.h"
#include "models/op_totals_model.h"
#include "support/sample_run.h"
#include "views/panels/banner.h"
#include "views/panels/controls_panel.h"
#include "views/panels/event_table.h"
#include "views/panels/selection_panel.h"

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

}  // namespace

class TestPanels : public QObject {
  Q_OBJECT

 private slots:
  void draggingAsksOnce();
  void heldSliderAsksWhenLetGo();
  void refusalPutsTheControlBack();
  void effectiveKnobsComeThrough();
  void limitsOfTheRunHold();
  void bannerTellsAndOffersAWayOn();
  void tableTellsWhatTheUserPicked();
  void selectionPanelDrawsAnySummary();
};

void TestPanels::draggingAsksOnce() {
  ControlsPanel panel;
  panel.setKnobs({16, 64, 5});
  QSignalSpy asked(&panel, &ControlsPanel::changeRequested);
  auto* slider = panel.findChild<QSlider*>(QStringLiteral("batchSlider"));
  QVERIFY(slider);
  for (int i = 0; i < 4; ++i) {
    slider->setValue(slider->value() + 1);  // 24, 32, 48, 64
  }
  QCOMPARE(asked.count(), 0);
  QTRY_COMPARE_WITH_TIMEOUT(asked.count(), 1, 5000);
  const auto change = asked.first().first().value<SetKnobs>();
  QCOMPARE(change.batchSize, std::optional<std::uint32_t>(64));
  QVERIFY(!change.sequenceLength && !change.lossEvery);
  QCOMPARE(panel.findChild<QSpinBox*>(QStringLiteral("batchSpin"))->value(), 64);
}

void TestPanels::heldSliderAsksWhenLetGo() {
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

void TestPanels::refusalPutsTheControlBack() {
  ControlsPanel panel;
  panel.showRun(runWith({16, 64, 5}, 256, 256));
  QSignalSpy asked(&panel, &ControlsPanel::changeRequested);
  auto* spin = panel.findChild<QSpinBox*>(QStringLiteral("sequenceSpin"));
  spin->setValue(128);
  QTRY_COMPARE_WITH_TIMEOUT(asked.count(), 1, 5000);
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

void TestPanels::effectiveKnobsComeThrough() {
  ControlsPanel panel;
  panel.showRun(runWith({16, 64, 5}, 256, 256));
  QSignalSpy asked(&panel, &ControlsPanel::changeRequested);
  panel.showEffective({32, 128, 10});  // as by a scheduled change
  QCOMPARE(panel.knobs(), (Knobs{32, 128, 10}));
  panel.commit();  // would request a pending change
  QCOMPARE(asked.count(), 0);
}

void TestPanels::limitsOfTheRunHold() {
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

void TestPanels::bannerTellsAndOffersAWayOn() {
  Banner banner;
  QSignalSpy again(&banner, &Banner::actionTriggered);
  banner.showMessage(QStringLiteral("the worker crashed"), QStringLiteral("last line"), true,
                     QStringLiteral("Run again"));
  QVERIFY(banner.isVisible());
  QCOMPARE(banner.message(), QStringLiteral("the worker crashed"));
  auto* lines = banner.findChild<QWidget*>(QStringLiteral("endBannerText"));
  QVERIFY(!lines->isVisible());
  banner.findChild<QToolButton*>(QStringLiteral("endBannerLines"))->click();
  QVERIFY(lines->isVisible());
  banner.findChild<QToolButton*>(QStringLiteral("runAgainButton"))->click();
  QCOMPARE(again.count(), 1);
  banner.findChild<QToolButton*>(QStringLiteral("dismissBannerButton"))->click();
  QVERIFY(!banner.isVisible());
}

void TestPanels::tableTellsWhatTheUserPicked() {
  analysis::LiveStore store;
  test::feed(test::makeSampleRun({.steps = 40}), store);
  models::SyncPointModel model;
  model.refresh(analysis::summarize(store).syncPoints, 1000);
  EventTable table;
  table.setModel(&model);
  table.setOpLook(EventTable::Kind::kSyncPoints, models::OpTotalsModel::kOp,
                  models::OpTotalsModel::kShare);
  table.resize(600, 200);
  QSignalSpy picked(&table, &EventTable::rowPicked);
  table.sortByColumn(models::OpTotalsModel::kTotalMs, Qt::DescendingOrder);
  table.markRow(1);
  QCOMPARE(picked.count(), 0);  // not picked by the user
  QCOMPARE(table.currentIndex().row(), 1);
  QTest::mouseClick(table.viewport(), Qt::LeftButton, {},
                    table.visualRect(table.model()->index(0, 0)).center());
  QCOMPARE(picked.count(), 1);
  QCOMPARE(picked.first().first().toInt(), 0);
  QVERIFY(!table.grab().isNull());
}

void TestPanels::selectionPanelDrawsAnySummary() {
  SelectionPanel panel;
  panel.resize(300, 460);
  QVERIFY(!panel.grab().isNull());
  analysis::LiveStore store;
  test::feed(test::makeSampleRun({.steps = 40}), store);
  const QImage before = panel.grab().toImage();
  panel.showSummary(analysis::summarize(store), QStringLiteral("8.5k tokens/s"),
                    store.completeUpToNs(), false);
  QVERIFY(panel.grab().toImage() != before);
  panel.showSummary(analysis::summarize(store, analysis::TimeRange{0, 1}), QStringLiteral("–"), 1,
                    true);
  QVERIFY(!panel.grab().isNull());
}

QTEST_MAIN(TestPanels)
#include "tst_panels.moc"
