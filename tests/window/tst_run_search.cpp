// The search of the window with a recording, offscreen, by keys and clicks.
#include <QAction>
#include <QLabel>
#include <QLineEdit>
#include <QTabBar>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>

#include "models/log_model.h"
#include "support/recording_file.h"
#include "support/sample_run.h"
#include "support/test_program.h"
#include "views/panels/search_bar.h"
#include "views/panels/search_button.h"
#include "window/opened_recording.h"

using namespace highwater;

namespace {

/// A recording whose steps from 11 on have ops.
struct SearchedRecording : private QTemporaryDir, test::OpenedRecording {
  SearchedRecording()
      : OpenedRecording(test::recordIn(*this, "run.highwater",
                                       test::makeSampleRun({.steps = 40, .opsFromStep = 11})),
                        {1600, 1000}) {}
  void search(const QString& text) const {
    auto* field = find<QLineEdit>("searchField");
    QTest::keyClick(field, Qt::Key_A, Qt::ControlModifier);
    QTest::keyClicks(field, text);
    QTest::keyClick(field, Qt::Key_Return);
  }
};

}  // namespace

class TestRunSearch : public QObject {
  Q_OBJECT

 private slots:
  void slashOpensAndEscCloses() {
    SearchedRecording opened;
    QVERIFY(opened.opened);
    auto* bar = opened.find<views::SearchBar>("searchBar");
    auto* tabs = opened.find<QTabBar>("eventTabs");
    const int tabsBefore = tabs->count();
    QVERIFY(!bar->isVisible());
    QTest::keyClick(&opened.window, Qt::Key_Slash);
    QVERIFY(bar->isVisible());
    QVERIFY(opened.find<QLineEdit>("searchField")->hasFocus());
    QCOMPARE(tabs->count(), tabsBefore + 1);
    QCOMPARE(tabs->currentIndex(), tabsBefore);
    QTest::keyClick(opened.find<QLineEdit>("searchField"), Qt::Key_Escape);
    QVERIFY(!bar->isVisible());
    QCOMPARE(tabs->count(), tabsBefore);
    QCOMPARE(tabs->currentIndex(), 0);
    QTest::keyClick(&opened.window, Qt::Key_F, Qt::ControlModifier);
    QVERIFY(bar->isVisible());
    // A slash in the field is a letter.
    QTest::keyClicks(opened.find<QLineEdit>("searchField"), "a/b");
    QCOMPARE(bar->text(), QString("a/b"));
  }

  void theFieldInTheToolBarOpensIt() {
    SearchedRecording opened;
    QTest::mouseClick(opened.find<views::SearchButton>("searchButton"), Qt::LeftButton);
    QVERIFY(opened.find<views::SearchBar>("searchBar")->isVisible());
  }

  void escRestoresTheView() {
    SearchedRecording opened;
    views::TimeAxis& axis = opened.window.timeAxis();
    const auto visible = [&axis] {
      return std::pair(axis.visible().beginNs, axis.visible().endNs);
    };
    auto* timeline = opened.find<QWidget>("timelinePane");
    const auto searchAndStep = [&] {
      QTest::keyClick(&opened.window, Qt::Key_Slash);
      opened.search(QStringLiteral("renorm"));
      timeline->setFocus();
      QTest::keyClick(&opened.window, Qt::Key_N, Qt::ShiftModifier);  // the last one
    };
    axis.setVisible({0, 300'000'000});
    const auto before = visible();
    searchAndStep();
    QVERIFY(visible() != before);
    QTest::keyClick(&opened.window, Qt::Key_Escape);
    QCOMPARE(visible(), before);
    // Not where the user has moved since: what is looked at stays.
    searchAndStep();
    QTest::keyClick(&opened.window, Qt::Key_A);
    const auto moved = visible();
    QVERIFY(moved != before);
    QTest::keyClick(&opened.window, Qt::Key_Escape);
    QCOMPARE(visible(), moved);
    // Nor where no hit was shown.
    QTest::keyClick(&opened.window, Qt::Key_Slash);
    QTest::keyClick(opened.find<QLineEdit>("searchField"), Qt::Key_Escape);
    QCOMPARE(visible(), moved);
  }

  void nStepsThroughTheHits() {
    SearchedRecording opened;
    const auto& fallbacks = opened.store().fallbacks();
    opened.window.timeAxis().setVisible({0, 1'000'000'000});
    QTest::keyClick(&opened.window, Qt::Key_Slash);
    opened.search(QStringLiteral("renorm"));
    auto* table = opened.find<QTableView>("searchTable");
    QVERIFY(table->isVisible() && table->model()->rowCount() >= 1);
    QVERIFY(table->currentIndex().isValid());
    // Ops were recorded from step 11 on: until then the hits are the fallbacks alone.
    const auto shows = [&](std::size_t fallback) {
      const views::TimeRange visible = opened.window.timeAxis().visible();
      const auto& e = fallbacks[fallback];
      return visible.beginNs <= e.begin_ns() && e.begin_ns() <= visible.endNs;
    };
    QVERIFY(shows(0));
    auto* position = opened.find<QWidget>("searchPosition");
    const auto current = [position] { return position->property("text").toString(); };
    QCOMPARE(current(), QString("1"));
    opened.find<QWidget>("timelinePane")->setFocus();
    QTest::keyClick(&opened.window, Qt::Key_N);
    QCOMPARE(current(), QString("2"));
    QVERIFY(shows(1));
    QTest::keyClick(&opened.window, Qt::Key_N, Qt::ShiftModifier);
    QCOMPARE(current(), QString("1"));
    QTest::keyClick(&opened.window, Qt::Key_N, Qt::ShiftModifier);
    const QString last = current();
    QVERIFY(last.toInt() > 2);
    QVERIFY(shows(fallbacks.size() - 1));
    // Esc closes the search, from anywhere in the window.
    QTest::keyClick(&opened.window, Qt::Key_Escape);
    QVERIFY(!opened.find<views::SearchBar>("searchBar")->isVisible());
    QTest::keyClick(&opened.window, Qt::Key_N);  // means nothing now
    QVERIFY(!opened.find<views::SearchBar>("searchBar")->isVisible());
  }

  void f3StepsFromAnywhere() {
    SearchedRecording opened;
    QVERIFY(QTest::qWaitForWindowActive(&opened.window, test::kWaitMs));
    auto* position = opened.find<QWidget>("searchPosition");
    const auto current = [position] { return position->property("text").toString(); };
    // Closed, it opens the search; in the field it steps, though the text was not searched yet.
    QTest::keyClick(&opened.window, Qt::Key_F3);
    auto* field = opened.find<QLineEdit>("searchField");
    QVERIFY(field->isVisible() && field->hasFocus());
    QTest::keyClicks(field, "renorm");
    QTest::keyClick(field, Qt::Key_F3);
    QCOMPARE(field->text(), QString("renorm"));
    QCOMPARE(current(), QString("1"));
    QTest::keyClick(field, Qt::Key_F3);
    QCOMPARE(current(), QString("2"));
    opened.find<QTableView>("searchTable")->setFocus();
    QTest::keyClick(opened.find<QTableView>("searchTable"), Qt::Key_F3);
    QCOMPARE(current(), QString("3"));
    opened.find<QWidget>("timelinePane")->setFocus();
    QTest::keyClick(opened.find<QWidget>("timelinePane"), Qt::Key_F3, Qt::ShiftModifier);
    QCOMPARE(current(), QString("2"));
    // The letters still type in the field.
    QTest::keyClicks(field, "n");
    QCOMPARE(field->text(), QString("renormn"));
  }

  void escWhileTypingLeavesNoSearch() {
    SearchedRecording opened;
    QTest::keyClick(&opened.window, Qt::Key_Slash);
    auto* bar = opened.find<views::SearchBar>("searchBar");
    auto* field = opened.find<QLineEdit>("searchField");
    QTest::keyClicks(field, "renorm");
    QTest::keyClick(field, Qt::Key_Escape);
    QVERIFY(!bar->isVisible());
    // The search that the keys had begun is not made any more, also after the time that it waits.
    const auto* total = opened.find<QLabel>("searchTotal");
    QTimer later;
    later.setSingleShot(true);
    later.start(200);
    QTRY_VERIFY(!later.isActive());
    QCOMPARE(total->text(), QString());
    // Opened again, the bar searches what its field holds.
    QTest::keyClick(&opened.window, Qt::Key_Slash);
    QTRY_VERIFY(total->text().contains("on the timeline"));
  }

  void aRowLeadsToItsFirstEvent() {
    SearchedRecording opened;
    QTest::keyClick(&opened.window, Qt::Key_Slash);
    opened.search(QStringLiteral("batch 16"));
    auto* table = opened.find<QTableView>("searchTable");
    QCOMPARE(table->model()->rowCount(), 1);
    opened.window.timeAxis().setVisible({0, 100'000'000});
    table->clearSelection();
    table->setCurrentIndex({});
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {},
                      table->visualRect(table->model()->index(0, 0)).center());
    const views::TimeRange visible = opened.window.timeAxis().visible();
    const std::int64_t at = opened.store().markers().front().time_ns();
    QVERIFY(visible.beginNs <= at && at <= visible.endNs);
  }

  void aLineOfTheLogIsShownThere() {
    SearchedRecording opened;
    auto* log = opened.find<QAbstractItemView>("logView");
    static_cast<models::LogModel*>(log->model())
        ->append(QStringLiteral("peculiar warning"), models::LogModel::Kind::kPrinted);
    QTest::keyClick(&opened.window, Qt::Key_Slash);
    opened.search(QStringLiteral("peculiar"));
    auto* table = opened.find<QTableView>("searchTable");
    QCOMPARE(table->model()->rowCount(), 1);
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {},
                      table->visualRect(table->model()->index(0, 0)).center());
    QVERIFY(log->isVisible());
    QCOMPARE(log->currentIndex().data().toString(), QString("peculiar warning"));
  }

  void theStartPageHasNoSearch() {
    SearchedRecording opened;
    QTest::keyClick(&opened.window, Qt::Key_Slash);
    opened.window.showStartPage(true);
    QVERIFY(!opened.find<views::SearchBar>("searchBar")->isVisible());
    QVERIFY(!opened.find<QAction>("searchAction")->isEnabled());
    QVERIFY(!opened.find<views::SearchButton>("searchButton")->isEnabled());
  }
};

HIGHWATER_TEST(TestRunSearch, QApplication)
#include "tst_run_search.moc"
