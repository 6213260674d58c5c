// The window with a recording, offscreen: its layout, findings, ops and acceptances.
#include <QAction>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QPushButton>
#include <QRegularExpression>
#include <QSettings>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <algorithm>

#include "core/exit_codes.h"
#include "models/log_model.h"
#include "models/op_times_model.h"
#include "models/sorted_rows.h"
#include "run/recording_loader.h"
#include "support/recording_file.h"
#include "support/sample_run.h"
#include "support/test_program.h"
#include "views/panels/banner.h"
#include "views/panels/dock_title.h"
#include "views/panels/event_panel.h"
#include "views/panels/findings_panel.h"
#include "views/panes/timeline_pane.h"
#include "window/opened_recording.h"
#include "window/run_tool_bar.h"

using namespace highwater;
using models::OpTimesModel;
using window::MainWindow;

namespace {

/// Records the sample run; `end` replaces its end.
QString record(const QTemporaryDir& folder, const test::SampleRunOptions& options,
               const std::optional<RunEnd>& end = {}) {
  auto run = test::makeSampleRun(options);
  if (end) run.back() = *end;
  return test::recordIn(folder, QStringLiteral("run.highwater"), run);
}

struct OpenedFindings : test::OpenedRecording {
  using OpenedRecording::OpenedRecording;

  [[nodiscard]] views::FindingsPanel* findings() const {
    return find<views::FindingsPanel>("findingsPanel");
  }
  /// The card of the fallback of the sample run.
  [[nodiscard]] const views::FindingCard* fallback() const {
    for (const auto* card : findings()->cards()) {
      if (card->finding().kind == analysis::FindingKind::Fallback) return card;
    }
    return nullptr;
  }
};

const test::SampleRunOptions kWithOps{.steps = 40, .opsFromStep = 11};

}  // namespace

class TestWindowLayout : public QObject {
  Q_OBJECT

 private slots:
  /// What is wrong, what fixing it gains and the fix need no scrolling on a small screen.
  void theFirstFindingShowsItsFix() {
    const QTemporaryDir folder;
    RunEnd end;
    end.reason = RunEnd::Reason::kExited;
    end.exitCode = 7;
    end.message = "train.py ended with exit code 7 after 40 steps";
    OpenedFindings opened(record(folder, {.steps = 40, .fallbackEvery = 1}, end), {1280, 800});
    QVERIFY(opened.opened);
    QVERIFY(!opened.findings()->cards().empty());
    const views::FindingCard* card = opened.findings()->cards().front();
    QVERIFY(card->finding().gainMs);
    const auto* advice = card->findChild<QLabel*>(QStringLiteral("findingAdvice"));
    QVERIFY(advice->text().startsWith("To do: "));
    QStringList inSight;
    for (const auto* label : card->findChildren<QLabel*>()) {
      const int seen = label->visibleRegion().boundingRect().height();
      // Lines are not broken between a number and its unit.
      const QString text = label->text().replace(QChar(0x00A0), QChar(' '));
      if (seen == label->height()) inSight << text;
    }
    QVERIFY2(inSight.contains(QString::fromStdString(card->finding().title)) &&
                 !inSight.filter(QRegularExpression("^saves ")).isEmpty(),
             qPrintable(inSight.join('|')));
    QVERIFY2(!inSight.filter(QRegularExpression("^To do: ")).isEmpty(),
             qPrintable(inSight.join('|')));
    const auto* state = opened.find<QLabel>("statusState");
    QCOMPARE(state->text(), QString("Ended with exit code 7, step 40"));
  }

  /// A long text of the level takes the captions' room, not that of the recording's state.
  void theToolBarKeepsTheRecordingsState() {
    const QTemporaryDir folder;
    OpenedFindings opened(record(folder, {.steps = 20}), {1584, 990});
    QVERIFY(opened.opened);
    auto* bar = opened.window.findChild<window::RunToolBar*>();
    auto* state = opened.window.findChild<QWidget*>("recordingIndicator");
    const auto isWhole = [&] {
      const QRect place(state->mapTo(bar, QPoint(0, 0)), state->size());
      return state->isVisible() && bar->rect().contains(place) &&
             state->width() >= state->sizeHint().width();
    };
    const auto caption = [&] {
      for (const auto* label : bar->findChildren<QLabel*>()) {
        if (label->text() == "Workload") return label->isVisible();
      }
      return false;
    };
    QTRY_VERIFY(isWhole() && caption());
    // Again, because the window shows the real one four times a second.
    const auto show = [&](const char* level) {
      bar->showLevel(level, "monitor");
      QCoreApplication::processEvents();
      return true;
    };
    QTRY_VERIFY(show("monitor, ops, off and whatever a level may be called") && !caption() &&
                isWhole());
    QTRY_VERIFY(show("monitor") && caption() && isWhole());
  }

  void fitsASmallScreen() {
    const QTemporaryDir folder;
    OpenedFindings opened(record(folder, kWithOps));
    QVERIFY(opened.opened);
    QCOMPARE(opened.window.size(), QSize(1280, 800));
    auto* banner = opened.find<views::Banner>("endBanner");
    // As long as the protocol allows.
    const QString message = QStringLiteral("the worker said something long ").repeated(2000);
    banner->showMessage(message, true, views::Banner::Kind::kProblem, QStringLiteral("Run again"));
    QApplication::processEvents();
    QCOMPARE(opened.window.size(), QSize(1280, 800));
    QCOMPARE(banner->message(), message);
    QVERIFY(banner->height() < 64);
    banner->findChild<QToolButton*>(QStringLiteral("endBannerLines"))->click();
    QApplication::processEvents();
    QCOMPARE(opened.window.size(), QSize(1280, 800));
  }

  void resetsTheLayout() {
    const QTemporaryDir folder;
    OpenedFindings opened(record(folder, kWithOps), {1600, 1000});
    QVERIFY(opened.opened && QTest::qWaitForWindowExposed(&opened.window, test::kWaitMs));
    auto* controls = opened.find<QDockWidget>("controlsDock");
    auto* findings = opened.find<QDockWidget>("findingsDock");
    QTRY_COMPARE(controls->width(), 256);
    controls->close();
    findings->setFloating(true);
    opened.window.addDockWidget(Qt::LeftDockWidgetArea, opened.find<QDockWidget>("selectionDock"));
    opened.find<QAction>("resetLayoutAction")->trigger();
    QVERIFY(controls->isVisible() && !findings->isFloating());
    QCOMPARE(opened.window.dockWidgetArea(opened.find<QDockWidget>("selectionDock")),
             Qt::RightDockWidgetArea);
    QTRY_COMPARE(controls->width(), 256);
    QTRY_COMPARE(findings->width(), 328);
    QVERIFY(opened.find<QDockWidget>("syncDock")->isVisible());
    // In a small window the sync points stay a tab.
    opened.window.resize(1280, 800);
    QTRY_VERIFY(!opened.find<QDockWidget>("syncDock")->isVisible());
    opened.find<QAction>("resetLayoutAction")->trigger();
    QVERIFY(!opened.find<QDockWidget>("syncDock")->isVisible());
    QTRY_COMPARE(controls->width(), 236);
  }

  void fitsASmallWindow_data() {
    QTest::addColumn<QSize>("size");
    for (const QSize size : {QSize(800, 600), QSize(1024, 768), QSize(1090, 640)}) {
      QTest::addRow("%dx%d", size.width(), size.height()) << size;
    }
  }
  void fitsASmallWindow() {
    QFETCH(QSize, size);
    const QTemporaryDir folder;
    OpenedFindings opened(record(folder, kWithOps), size);
    QVERIFY(opened.opened && QTest::qWaitForWindowExposed(&opened.window, test::kWaitMs));
    QTRY_VERIFY(opened.find<QDockWidget>("findingsDock")->width() >= 280);
    QCOMPARE(opened.window.size(), size);
    // What is shown lies inside the window, and findings are what is looked at.
    for (const auto* dock : opened.window.findChildren<QDockWidget*>()) {
      if (dock->visibleRegion().isEmpty()) continue;
      QVERIFY2(opened.window.rect().contains(dock->geometry()), qPrintable(dock->objectName()));
    }
    QVERIFY(!opened.find<QDockWidget>("findingsDock")->visibleRegion().isEmpty());
    QVERIFY(!opened.find<QDockWidget>("eventsDock")->visibleRegion().isEmpty());
    // The panes stand below each other, each whole.
    auto panes = opened.window.findChildren<views::TimePane*>();
    panes.removeIf([](const views::TimePane* pane) { return !pane->isVisible(); });
    QVERIFY(panes.size() >= 4);
    std::sort(panes.begin(), panes.end(), [](const auto* a, const auto* b) {
      return a->geometry().top() < b->geometry().top();
    });
    for (int i = 0; i < panes.size(); ++i) {
      const auto* pane = panes[i];
      QVERIFY2(pane->parentWidget()->rect().contains(pane->geometry()),
               qPrintable(pane->objectName()));
      QVERIFY(pane->height() >= pane->minimumHeight());
      QVERIFY(i == 0 || panes[i - 1]->geometry().bottom() < pane->geometry().top());
    }
    const auto* timeline = opened.find<views::TimelinePane>("timelinePane");
    QVERIFY(timeline->rows().bottom() <= timeline->height());
    // A selected range brings its numbers to the front.
    const auto& steps = opened.store().steps().records;
    opened.window.timeAxis().select(steps[3].begin_ns(), steps[6].begin_ns());
    QVERIFY(!opened.find<QDockWidget>("selectionDock")->visibleRegion().isEmpty());
  }

  void aSmallWindowKeepsTheUsersLayout() {
    const QTemporaryDir folder;
    test::useOwnHome();
    QSettings().clear();
    const QString path = record(folder, kWithOps);
    const auto isUsers = [](const OpenedFindings& opened) {
      auto* controls = opened.find<QDockWidget>("controlsDock");
      return opened.window.dockWidgetArea(controls) == Qt::LeftDockWidgetArea &&
             controls->isVisible() && controls->width() > 290 &&
             opened.find<QDockWidget>("selectionDock")->isHidden() &&
             opened.find<QDockWidget>("syncDock")->isVisible();
    };
    {
      OpenedFindings opened(path, {1600, 1000}, MainWindow::Settings::kOn);
      QVERIFY(opened.opened && QTest::qWaitForWindowExposed(&opened.window, test::kWaitMs));
      QTRY_COMPARE(opened.find<QDockWidget>("controlsDock")->width(), 256);
      opened.find<QDockWidget>("selectionDock")->close();
      opened.window.resizeDocks({opened.find<QDockWidget>("controlsDock")}, {300}, Qt::Horizontal);
      QTRY_VERIFY(isUsers(opened));
      opened.window.resize(800, 600);
      QTRY_COMPARE(opened.window.dockWidgetArea(opened.find<QDockWidget>("controlsDock")),
                   Qt::RightDockWidgetArea);
      QVERIFY(opened.find<QDockWidget>("selectionDock")->isHidden());
      opened.window.resize(1600, 1000);
      QTRY_VERIFY(isUsers(opened));
      opened.window.resize(800, 600);
      QTRY_COMPARE(opened.window.size(), QSize(800, 600));
      // A window that was too narrow for its docks does not leave them so.
      const auto* findings = opened.find<QDockWidget>("findingsDock");
      QTRY_COMPARE(findings->width(), 292);
      opened.window.resize(420, 350);
      QTRY_VERIFY(findings->width() < 292);
      opened.window.resize(800, 600);
      QTRY_COMPARE(findings->width(), 292);
      opened.window.close();
    }
    OpenedFindings again(path, {}, MainWindow::Settings::kOn);
    QVERIFY(QTest::qWaitForWindowExposed(&again.window, test::kWaitMs));
    QTRY_COMPARE(again.window.size(), QSize(800, 600));
    QTRY_COMPARE(again.window.dockWidgetArea(again.find<QDockWidget>("controlsDock")),
                 Qt::RightDockWidgetArea);
    again.window.resize(1600, 1000);
    QTRY_VERIFY(isUsers(again));
    again.find<QAction>("resetLayoutAction")->trigger();
    QTRY_VERIFY(again.find<QDockWidget>("selectionDock")->isVisible());
    QTRY_COMPARE(again.find<QDockWidget>("controlsDock")->width(), 256);
  }

  void theLogOpensAtItsEnd() {
    const QTemporaryDir folder;
    OpenedFindings opened(record(folder, kWithOps));
    auto* view = opened.find<QListView>("logView");
    auto* log = static_cast<models::LogModel*>(view->model());
    for (int i = 0; i < 300; ++i) {
      log->append(QStringLiteral("line %1").arg(i), models::LogModel::Kind::kPrinted);
    }
    auto* banner = opened.find<views::Banner>("endBanner");
    banner->showMessage(QStringLiteral("it crashed"), true, views::Banner::Kind::kProblem, {});
    QVERIFY(!view->isVisible());
    QTest::mouseClick(banner->findChild<QToolButton*>(QStringLiteral("endBannerLines")),
                      Qt::LeftButton);
    QVERIFY(view->isVisible());
    const auto newest = [&] { return log->index(log->rowCount() - 1); };
    const auto isShown = [&] {
      return view->viewport()->rect().contains(view->visualRect(newest()).center());
    };
    QTRY_VERIFY(isShown());
    log->append(QStringLiteral("one more"), models::LogModel::Kind::kPrinted);
    QTRY_VERIFY(isShown());
    // Who has scrolled up to read is left there.
    view->scrollToTop();
    log->append(QStringLiteral("and another"), models::LogModel::Kind::kPrinted);
    QApplication::processEvents();
    QVERIFY(!isShown());
  }

  void takesNoMoreThanTheScreen() {
    QCOMPARE(MainWindow::firstSize({1920, 1200}), QSize(1600, 1000));
    const QSize small = MainWindow::firstSize({1366, 768});
    QVERIFY(small.width() < 1366 && small.height() < 768);
    QVERIFY(small.width() > 1300 && small.height() > 700);
  }

  void showsOps() {
    const QTemporaryDir folder;
    OpenedFindings opened(record(folder, kWithOps), {1600, 1000});
    auto* table = opened.find<QTableView>("opsTable");
    auto* shown = static_cast<models::SortedRows*>(table->model());
    auto* model = static_cast<OpTimesModel*>(shown->sourceModel());
    const int linear = model->rowOf(QStringLiteral("aten::linear"));
    QVERIFY(linear >= 0);
    // One a phase, six phases, thirty steps.
    QCOMPARE(model->index(linear, OpTimesModel::kCount).data().toString(), QString("180"));
    QCOMPARE(model->index(linear, OpTimesModel::kPerStep).data().toString(), QString("6.0"));
    QCOMPARE(model->index(linear, OpTimesModel::kGrown).data().toString(), QString("4.0 MiB"));
    // Picking the row and then its next call shows the call in the Selection.
    table->selectRow(shown->mapFromSource(model->index(linear, 0)).row());
    QTest::keyClick(&opened.window, Qt::Key_Period);
    const auto& facts = opened.find<views::EventPanel>("eventPanel")->facts();
    QVERIFY(!facts.empty());
    QCOMPARE(facts.front().value, QString("aten::linear"));
    opened.find<QToolButton>("opGroupingButton")->click();
    QCOMPARE(shown->index(0, 0).data().toString(), QString("encoder.layers.1"));
  }

  void theSelectionSaysWhatItShows() {
    const QTemporaryDir folder;
    OpenedFindings opened(record(folder, kWithOps));
    const auto* dock = opened.find<QDockWidget>("selectionDock");
    const auto title = [dock] {
      return static_cast<views::DockTitle*>(dock->titleBarWidget())->subtitle();
    };
    QCOMPARE(title(), QString());
    const std::int64_t whole = opened.window.timeAxis().visibleNs();
    opened.fallback()->findChild<QToolButton*>("showFindingButton")->click();
    QVERIFY(opened.window.timeAxis().visibleNs() < whole / 10);
    QVERIFY2(title().startsWith("embedding_renorm_, step "), qPrintable(title()));
    auto* clear = opened.find<QToolButton>("clearSelectionButton");
    QVERIFY(clear->isVisible());
    clear->click();
    QCOMPARE(title(), QString());
    const auto& steps = opened.store().steps().records;
    const std::int64_t beginNs = steps[3].begin_ns();
    opened.window.timeAxis().select(beginNs, steps[6].begin_ns());
    QTRY_COMPARE(title(), QString("steps 4–6"));
    opened.window.timeAxis().select(beginNs + 1, beginNs + 2'000'001);
    QTRY_VERIFY2(title().contains(" to "), qPrintable(title()));
  }

  void theLevelIsTheRecordings() {
    const QTemporaryDir folder;
    OpenedFindings opened(record(folder, kWithOps));
    const auto* level = opened.find<QToolButton>("levelButton");
    QCOMPARE(level->text(), QString("monitor"));  // of the sample run and of the next run
    opened.find<QAction>("levelOffAction")->trigger();
    QCOMPARE(level->text(), QString("recorded: monitor"));
    QVERIFY(level->toolTip().contains("recorded at level monitor"));
  }

  /// The dialog that asks for a number may outlive the run that it was opened for.
  void stepsOfARunThatEndedSetNoLevel() {
    MainWindow window({}, nullptr, MainWindow::Settings::kOff);
    run::Run& run = window.currentRun();
    run.setProbeLevel({events::ProbeLevel::Off, 0});
    QVERIFY(run.options().probeLevel == events::ProbeLevel::Off);
    run.setProbeLevel({events::ProbeLevel::Ops, 20});
    QVERIFY(run.options().probeLevel == events::ProbeLevel::Off);
  }

  void acceptsAFallbackAndTakesItBack() {
    const QTemporaryDir folder;
    const QString path = record(folder, kWithOps);
    OpenedFindings opened(path);
    const std::size_t before = opened.findings()->cards().size();
    const auto* card = opened.fallback();
    card->findChild<QToolButton*>(QStringLiteral("acceptFallbackButton"))->click();
    auto* accept = opened.find<QPushButton>("acceptButton");
    QVERIFY(accept && !accept->isEnabled());  // a reason is required
    opened.find<QLineEdit>("acceptReason")->setText(QStringLiteral(" rare "));
    QVERIFY(accept->isEnabled());
    accept->click();
    QCOMPARE(opened.findings()->cards().size(), before - 1);
    const auto said = [&path](analysis::LiveStore& store) {
      return run::loadRecording(path.toStdString(), store)
                 ? store.acceptanceOf("aten::embedding_renorm_")
                 : nullptr;
    };
    analysis::LiveStore kept;
    QVERIFY(said(kept));
    QCOMPARE(said(kept)->reason, std::string("rare"));
    opened.findings()->findChild<QToolButton*>(QStringLiteral("withdrawButton"))->click();
    QTRY_COMPARE(opened.findings()->cards().size(), before);
    analysis::LiveStore withdrawn;
    QVERIFY(!said(withdrawn));
    QVERIFY(!withdrawn.fallbacks().empty());
  }

  void aRunOutOfMemorySaysWhereAndHowMuch() {
    const QTemporaryDir folder;
    const RunEnd end{RunEnd::Reason::kFailed,
                     kExitEndedEarly,
                     0,
                     "MPS backend out of memory (MPS allocated: 128.00 MiB). Tried to allocate "
                     "32.00 MiB on shared pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0",
                     "",
                     ""};
    OpenedFindings opened(record(folder, {.steps = 3}, end));
    const auto& knobs = opened.store().knobs();
    QCOMPARE(opened.find<views::Banner>("endBanner")->message(),
             QString("Out of memory in step %1, batch %2, length %3: MPS backend out of memory "
                     "(MPS allocated: 128.00 MiB). Tried to allocate 32.00 MiB on shared pool.")
                 .arg(opened.store().runningStep())
                 .arg(knobs.batchSize)
                 .arg(knobs.sequenceLength));
    // Nothing promises what cannot come any more.
    QStringList texts;
    for (const auto* label : opened.findings()->findChildren<QLabel*>()) texts << label->text();
    QVERIFY2(texts.join('\n').contains("The run ended too early for findings"),
             qPrintable(texts.join('\n')));
  }

  void aRunThatBrokeOffHasAMark() {
    const QTemporaryDir folder;
    const RunEnd crash{RunEnd::Reason::kCrashed, 0, 11, "it crashed", "", ""};
    OpenedFindings opened(record(folder, {.steps = 20}, crash));
    auto* timeline = opened.find<views::TimelinePane>("timelinePane");
    const auto x = timeline->scale().pixelAt(opened.store().completeUpToNs());
    const auto& row = timeline->rows().of(views::Lane::kMarkers);
    const auto mark = timeline->eventAt(QPoint(int(x), int(row.top + row.height / 2)));
    QVERIFY(mark);
    QCOMPARE(views::eventFacts(opened.store(), *mark).front().value, QString("crashed, signal 11"));
  }
};

HIGHWATER_TEST(TestWindowLayout, QApplication)
#include "tst_window_layout.moc"
