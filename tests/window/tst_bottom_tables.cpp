#include <QApplication>
#include <QClipboard>
#include <QDockWidget>
#include <QLineEdit>
#include <QMainWindow>
#include <QSignalSpy>
#include <QTabBar>
#include <QTableView>
#include <QTest>
#include <QToolButton>

#include "analysis/op_times.h"
#include "analysis/run_summary.h"
#include "models/op_times_model.h"
#include "support/sample_run.h"
#include "support/test_program.h"
#include "views/panels/dock_title.h"
#include "window/bottom_tables.h"

using namespace highwater;
using window::BottomTables;

namespace {

/// The tables in two bare docks.
struct TablesBench {
  analysis::LiveStore store;
  views::TimeAxis axis;
  views::EventFocus focus{&store, &axis};
  QMainWindow window;
  QDockWidget* tabsDock = makeDock();
  QDockWidget* syncDock = makeDock();
  BottomTables tables{tabsDock, syncDock, &store, &axis, &focus};

  explicit TablesBench(const test::SampleRunOptions& options = {.steps = 40, .opsFromStep = 5}) {
    test::feed(test::makeSampleRun(options), store);
    axis.setExtent({0, store.completeUpToNs()});
    tables.refresh(analysis::summarize(store));
    window.show();
  }
  QDockWidget* makeDock() {
    auto* dock = new QDockWidget(&window);
    dock->setTitleBarWidget(new views::DockTitle({}, dock));
    window.addDockWidget(Qt::BottomDockWidgetArea, dock);
    return dock;
  }
  [[nodiscard]] QTabBar* tabs() const {
    return tabsDock->findChild<QTabBar*>(QStringLiteral("eventTabs"));
  }
  [[nodiscard]] QTableView* table(const char* name) const {
    return window.findChild<QTableView*>(QLatin1String(name));
  }
};

}  // namespace

class TestBottomTables : public QObject {
  Q_OBJECT

 private slots:
  /// So many ops that they are counted in several turns of the event loop.
  void manyOpsAreShownOnlyWhenAllAreCounted() {
    TablesBench bench({.steps = 5});
    constexpr std::uint32_t kOps = 600'000;
    test::OwnedBatch batch;
    const std::int64_t begin = bench.store.completeUpToNs();
    for (std::uint32_t i = 0; i < kOps; ++i) {
      batch.ops.emplace_back(begin + i * 1000, 900, 0, 0, 5, i % 7 + 1, kNoId, kNoId,
                             std::uint16_t{1}, std::uint16_t{0}, events::Phase::Forward,
                             std::uint8_t{0});
    }
    batch.completeUpToNs = begin + kOps * std::int64_t{1000};
    bench.store.apply(batch.view());
    bench.tables.startOver();
    auto* table = bench.table("opsTable");
    const auto total = [&] {
      std::uint64_t calls = 0;
      for (const auto& each : analysis::opTimesIn(bench.store, {0, batch.completeUpToNs}).byOp) {
        calls += each.count;
      }
      return calls;
    };
    bench.tables.refresh(analysis::summarize(bench.store));
    QCOMPARE(table->model()->rowCount(), 0);
    QTRY_VERIFY(table->model()->rowCount() > 0);
    const auto shown = [&] {
      std::uint64_t calls = 0;
      for (int row = 0; row < table->model()->rowCount(); ++row) {
        QString count = table->model()->index(row, models::OpTimesModel::kCount).data().toString();
        calls += count.remove(QLatin1Char(',')).toULongLong();
      }
      return calls;
    };
    QCOMPARE(shown(), total());
    bench.tables.startOver();
    bench.tables.refresh(analysis::summarize(bench.store));
    QCOMPARE(table->model()->rowCount(), 0);
    bench.tables.finish();
    QCOMPARE(shown(), total());
  }

  /// A table of its own where a script's lines were sampled; counted once somebody looks at it.
  void hostTimeIsATableOfScripts() {
    TablesBench bench({.steps = 40});
    const auto tabOf = [&](const QString& title) {
      for (int i = 0; i < bench.tabs()->count(); ++i) {
        if (bench.tabs()->tabText(i) == title) return i;
      }
      return -1;
    };
    QCOMPARE(tabOf("Host time"), -1);
    constexpr CallSiteId kLine = 9000;
    bench.store.apply(
        Definitions{{}, {}, {{kLine, kNoId, "main", "/me/train.py", 12, "work()"}}, {}});
    test::OwnedBatch batch;
    const auto& step = bench.store.steps().records[3];
    batch.hostSamples.emplace_back(step.begin_ns() + step.duration_ns() / 2, 4, kLine,
                                   test::kTrainingThread, events::Phase::None);
    bench.store.apply(batch.view());
    bench.tables.refresh(analysis::summarize(bench.store));
    const int tab = tabOf("Host time");
    QVERIFY(tab > 0);
    auto* table = bench.table("hostTimeTable");
    QCOMPARE(table->model()->rowCount(), 0);
    bench.tabs()->setCurrentIndex(tab);
    const auto hasLine = [&] {
      for (int row = 0; row < table->model()->rowCount(); ++row) {
        const QModelIndex line = table->model()->index(row, models::HostTimeModel::kLine);
        if (line.data().toString() == "train.py:12, work()") return true;
      }
      return false;
    };
    QVERIFY(hasLine());
    // Of the selection alone: the sample is in another step.
    const auto& other = bench.store.steps().records[20];
    bench.axis.select(other.begin_ns(), other.begin_ns() + other.duration_ns());
    bench.tables.refresh(analysis::summarize(bench.store));
    QVERIFY(!hasLine() && table->model()->rowCount() > 0);
    bench.axis.clearSelection();
    bench.tables.refresh(analysis::summarize(bench.store));
    QVERIFY(hasLine());
    bench.tables.startOver();
    QCOMPARE(table->model()->rowCount(), 0);
  }

  /// A table that goes with its run leaves tabs and pages as they were.
  void whatGoesWithItsRunLeavesTheOthers() {
    TablesBench bench({.steps = 40});
    test::OwnedBatch batch;
    batch.hostSamples.emplace_back(1, 1, kNoId, test::kTrainingThread, events::Phase::None);
    bench.store.apply(batch.view());
    bench.tables.refresh(analysis::summarize(bench.store));
    const auto titles = [&] {
      QStringList all;
      for (int i = 0; i < bench.tabs()->count(); ++i) {
        all << bench.tabs()->tabText(i).section(QStringLiteral("  "), 0, 0);
      }
      return all;
    };
    QCOMPARE(titles(), QStringList({"Fallbacks", "Ops", "Host time", "Steps", "Log"}));
    bench.tabs()->setCurrentIndex(3);
    bench.store.clear();
    bench.tables.startOver();
    bench.tables.refresh(analysis::summarize(bench.store));
    QCOMPARE(titles(), QStringList({"Ops", "Steps", "Log"}));
    QCOMPARE(bench.tabs()->currentIndex(), 1);
    for (int i = 0; i < 3; ++i) {
      bench.tabs()->setCurrentIndex(i);
      QVERIFY(bench.table("opsTable")->isVisible() == (i == 0));
      QVERIFY(bench.table("stepTable")->isVisible() == (i == 1));
    }
  }

  void showsWhatTheStoreHas() {
    TablesBench bench;
    QCOMPARE(bench.tabs()->count(), 4);
    QCOMPARE(bench.tabs()->tabText(0), QString("Fallbacks  1"));
    QCOMPARE(bench.table("stepTable")->model()->rowCount(), 40);
    QVERIFY(bench.table("syncTable")->model()->rowCount() > 0);
    QVERIFY(bench.table("opsTable")->model()->rowCount() > 0);
  }

  void syncPointsMoveIntoTheTabsOfASmallWindow() {
    TablesBench bench;
    bench.tabs()->setCurrentIndex(2);
    bench.tables.setSmall(true);
    QCOMPARE(bench.tabs()->count(), 5);
    QCOMPARE(bench.tabs()->currentIndex(), 3);  // still the steps
    QVERIFY(bench.syncDock->isHidden());
    QVERIFY(bench.tabsDock->isAncestorOf(bench.table("syncTable")));
    bench.tables.setSmall(false);
    QCOMPARE(bench.tabs()->count(), 4);
    QCOMPARE(bench.tabs()->currentIndex(), 2);
    QVERIFY(bench.syncDock->isAncestorOf(bench.table("syncTable")));
  }

  void anEmptyTableMakesWay() {
    TablesBench bench({.steps = 20, .fallbackEvery = 0});
    const auto shown = [&] { return bench.tabs()->tabText(bench.tabs()->currentIndex()); };
    QCOMPARE(bench.tabs()->tabText(0), QString("Ops"));  // nothing fell back: no table of it
    bench.tabs()->setCurrentIndex(0);
    bench.tables.showFilledPage({});
    QCOMPARE(shown(), QString("Steps"));
    bench.tables.showFilledPage({});
    QCOMPARE(shown(), QString("Steps"));
  }

  void theWorstFindingsTableIsShown() {
    TablesBench bench;
    bench.tabs()->setCurrentIndex(2);
    bench.tables.showFilledPage(views::Lane::kFallbacks);
    QCOMPARE(bench.tabs()->currentIndex(), 0);
    // Sync points have a dock of their own, until the window is small.
    bench.tables.showFilledPage(views::Lane::kSyncPoints);
    QCOMPARE(bench.tabs()->currentIndex(), 0);
    bench.tables.setSmall(true);
    QVERIFY(bench.table("syncTable")->isVisible());
    // What the user has chosen since then stays.
    bench.tables.setSmall(false);
    QTest::mouseClick(bench.tabs(), Qt::LeftButton, {}, bench.tabs()->tabRect(2).center());
    bench.tables.setSmall(true);
    QVERIFY(bench.table("stepTable")->isVisible());
  }

  void aPickedEventMarksItsRow() {
    TablesBench bench;
    bench.focus.pick({views::Lane::kSteps, 0});
    QCOMPARE(bench.table("stepTable")->currentIndex().row(), 39);  // newest first
    bench.focus.pick({views::Lane::kFallbacks, 0});
    QCOMPARE(bench.table("fallbackTable")->currentIndex().row(), 0);
    QVERIFY(!bench.table("stepTable")->currentIndex().isValid());
  }

  void aPickedRowIsPickedInTheTimeline() {
    TablesBench bench;
    bench.tabs()->setCurrentIndex(2);
    bench.table("stepTable")->selectRow(3);
    QCOMPARE(bench.focus.picked(), (views::EventRef{views::Lane::kSteps, 36}));
  }

  void anIssueReportIsCopied() {
    TablesBench bench;
    auto* link = bench.window.findChild<QToolButton*>(QStringLiteral("copyIssueButton"));
    QVERIFY(link->isVisible());
    QTest::mouseClick(link, Qt::LeftButton);
    const QString issue = QApplication::clipboard()->text();
    QVERIFY2(issue.startsWith("### `aten::embedding_renorm_` falls back"), qPrintable(issue));
    QCOMPARE(link->text(), QString("Copied"));
    QTRY_COMPARE(link->text(), QString("Copy issue report"));
    bench.tables.setSmall(true);
    QVERIFY(!link->isVisible());  // the rows need its place; the context menu has it
    TablesBench without({.steps = 20, .fallbackEvery = 0});
    QVERIFY(
        !without.window.findChild<QToolButton*>(QStringLiteral("copyIssueButton"))->isVisible());
  }

  void tablesAreCopiedAsCsv() {
    TablesBench bench;
    auto* link = bench.window.findChild<QToolButton*>(QStringLiteral("copyCsvButton"));
    QTest::mouseClick(link, Qt::LeftButton);
    QVERIFY2(QApplication::clipboard()->text().startsWith("Op,"),
             qPrintable(QApplication::clipboard()->text()));
    bench.tabs()->setCurrentIndex(2);
    QTest::mouseClick(link, Qt::LeftButton);
    QCOMPARE(QApplication::clipboard()->text().count(QStringLiteral("\r\n")), 41);
    bench.tabs()->setCurrentIndex(3);
    QVERIFY(!link->isVisible());  // the log is no table
    auto* sync = bench.window.findChild<QToolButton*>(QStringLiteral("copySyncCsvButton"));
    QTest::mouseClick(sync, Qt::LeftButton);
    QVERIFY(QApplication::clipboard()->text().contains("aten::nonzero"));
  }

  void filteringShowsTheOps() {
    TablesBench bench;
    bench.tables.filterOps();
    QCOMPARE(bench.tabs()->currentIndex(), 1);
    const auto* rows = bench.table("opsTable")->model();
    const int all = rows->rowCount();
    auto* filter = bench.window.findChild<QLineEdit*>(QStringLiteral("opFilter"));
    QVERIFY(filter->isVisible());
    filter->setText(QStringLiteral("linear"));
    QCOMPARE(rows->rowCount(), 1);
    QTest::keyClick(filter, Qt::Key_Escape);
    QCOMPARE(rows->rowCount(), all);
  }
};

HIGHWATER_TEST(TestBottomTables, QApplication)
#include "tst_bottom_tables.moc"
