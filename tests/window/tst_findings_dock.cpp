#include <QDeadlineTimer>
#include <QDockWidget>
#include <QLabel>
#include <QMainWindow>
#include <QSignalSpy>
#include <QTest>

#include "analysis/findings/findings.h"
#include "support/sample_run.h"
#include "support/test_program.h"
#include "views/panels/dock_title.h"
#include "views/panels/findings_panel.h"
#include "views/panes/event_focus.h"
#include "views/panes/time_axis.h"
#include "window/findings_dock.h"

using namespace highwater;
using highwater::test::kWaitMs;
using window::FindingsDock;

namespace {

constexpr std::int64_t kCheckedStepNs = 50'000'000;
/// So many that a check takes more than one turn of the event loop.
constexpr std::uint32_t kCheckedSteps = 60'000;

/// Steps of which each waits, and those of the second half fall back as well.
void addSteps(analysis::LiveStore& store) {
  Hello hello;
  hello.device.selected = "mps";
  store.apply(hello);
  test::OwnedBatch batch;
  for (std::uint32_t step = 1; step <= kCheckedSteps; ++step) {
    const std::int64_t begin = (step - 1) * kCheckedStepNs;
    batch.phases.emplace_back(begin, kCheckedStepNs / 2, step, std::uint16_t{1},
                              events::Phase::Forward);
    batch.steps.emplace_back(begin, kCheckedStepNs, 1ULL << 30, 1ULL << 30, -1, step, 16U, 64U,
                             1024U, 0.5F, std::uint8_t{0}, std::uint8_t{0});
    batch.syncPoints.emplace_back(begin + kCheckedStepNs / 5, kCheckedStepNs / 5, 4, step, 1, kNoId,
                                  kNoId, std::uint16_t{1}, events::SyncKind::Nonzero,
                                  events::Phase::Forward, std::uint8_t{0});
    if (step > kCheckedSteps / 2) {
      batch.fallbacks.emplace_back(begin + kCheckedStepNs / 2, kCheckedStepNs / 5,
                                   kCheckedStepNs / 10, 1000, 500, step, 2, kNoId, kNoId,
                                   std::uint16_t{1}, events::Phase::Forward);
    }
  }
  batch.completeUpToNs = kCheckedSteps * kCheckedStepNs;
  store.apply(batch.view());
}

struct FindingsDockBench {
  analysis::LiveStore store;
  views::TimeAxis axis;
  views::EventFocus focus{&store, &axis};
  QMainWindow window;
  QDockWidget* dock = new QDockWidget(&window);
  views::DockTitle* title = new views::DockTitle(QStringLiteral("Findings"), dock);
  std::unique_ptr<FindingsDock> findings;

  FindingsDockBench() {
    addSteps(store);
    dock->setTitleBarWidget(title);
    window.addDockWidget(Qt::RightDockWidgetArea, dock);
    findings = std::make_unique<FindingsDock>(dock, title, &store, &axis, &focus);
    QObject::connect(&axis, &views::TimeAxis::selectionChanged, findings.get(),
                     &FindingsDock::refreshLater);
    axis.setExtent({0, store.completeUpToNs()});
    window.show();
  }
  [[nodiscard]] std::vector<std::string> shown() const {
    std::vector<std::string> titles;
    const auto* panel = window.findChild<views::FindingsPanel*>(QStringLiteral("findingsPanel"));
    for (const auto* card : panel->cards()) titles.push_back(card->finding().title);
    return titles;
  }
  /// Goes on by single turns of the event loop, of which a check needs several, until one begins.
  [[nodiscard]] bool waitForACheck() const {
    const QDeadlineTimer limit(kWaitMs);
    while (!findings->isChecking() && !limit.hasExpired()) {
      QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
    }
    return findings->isChecking();
  }
  [[nodiscard]] std::vector<std::string> direct() const {
    std::vector<std::string> titles;
    for (const auto& each : analysis::findProblems(store, axis.selection()).found) {
      titles.push_back(each.title);
    }
    return titles;
  }
  [[nodiscard]] QString empty() const {
    const auto* label = window.findChild<QLabel*>(QStringLiteral("noFindings"));
    return label->isVisibleTo(&window) ? label->text() : QString();
  }
};

}  // namespace

class TestFindingsDock : public QObject {
  Q_OBJECT

 private slots:
  void aLongCheckShowsNothingUntilItIsComplete() {
    FindingsDockBench bench;
    QSignalSpy checked(bench.findings.get(), &FindingsDock::checked);
    bench.findings->startOver();
    QVERIFY(bench.findings->isChecking());
    while (bench.findings->isChecking()) {
      QVERIFY(bench.shown().empty());
      QVERIFY(bench.empty().startsWith("Checking"));
      QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
    }
    QCOMPARE(checked.count(), 1);
    QCOMPARE(bench.shown().size(), std::size_t{2});
    QCOMPARE(bench.shown(), bench.direct());
    QVERIFY(bench.empty().isEmpty());
  }

  void anotherRangeCancelsTheCheckOfTheOneBefore() {
    FindingsDockBench bench;
    bench.findings->checkNow();
    QCOMPARE(bench.shown().size(), std::size_t{2});
    QSignalSpy checked(bench.findings.get(), &FindingsDock::checked);
    bench.axis.select(0, kCheckedSteps * kCheckedStepNs - kCheckedStepNs);
    QVERIFY(bench.waitForACheck());
    QVERIFY(bench.shown().empty());
    // The first half has no fallback.
    bench.axis.select(0, kCheckedSteps / 2 * kCheckedStepNs);
    QVERIFY(!bench.findings->isChecking());
    QTRY_COMPARE(checked.count(), 1);
    QCOMPARE(bench.shown().size(), std::size_t{1});
    QCOMPARE(bench.shown(), bench.direct());
  }

  /// The end of a run is the last that asks for a check.
  void theEndOfARunDuringACheckIsFound() {
    FindingsDockBench bench;
    QSignalSpy checked(bench.findings.get(), &FindingsDock::checked);
    bench.findings->startOver();
    QVERIFY(bench.findings->isChecking());
    RunEnd end;
    end.reason = RunEnd::Reason::kHung;
    bench.store.apply(end);
    bench.findings->refresh();
    QVERIFY(bench.findings->isChecking());
    QTRY_COMPARE(checked.count(), 2);
    QCOMPARE(bench.shown().size(), std::size_t{3});
    QCOMPARE(bench.shown(), bench.direct());
    QVERIFY2(bench.shown().front().starts_with("Hung"), bench.shown().front().c_str());
  }

  void aCheckCanBeCompletedAtOnce() {
    FindingsDockBench bench;
    bench.findings->startOver();
    QVERIFY(bench.findings->isChecking());
    bench.findings->finish();
    QVERIFY(!bench.findings->isChecking());
    QCOMPARE(bench.shown(), bench.direct());
  }
};

HIGHWATER_TEST(TestFindingsDock, QApplication)
#include "tst_findings_dock.moc"
