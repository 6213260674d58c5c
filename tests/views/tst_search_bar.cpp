#include <QLabel>
#include <QLineEdit>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>
#include <memory>
#include <random>
#include <set>

#include "support/sample_run.h"
#include "support/test_program.h"
#include "views/panels/event_table.h"
#include "views/panels/search_bar.h"
#include "views/panels/search_table.h"
#include "views/panes/overview_pane.h"
#include "views/panes/ruler.h"
#include "views/panes/search_marks.h"

using namespace highwater;
using namespace highwater::views;
using models::LogModel;
using models::SearchModel;

namespace {

struct SearchBench {
  analysis::LiveStore store;
  LogModel log;
  SearchModel search{&store, &log};
  QWidget window;
  SearchBar bar{&search, &window};

  explicit SearchBench(int width = 1000) {
    test::feed(test::makeSampleRun({.steps = 40, .opsFromStep = 5}), store);
    window.resize(1300, 100);
    bar.resize(width, bar.height());
    window.show();
  }
  [[nodiscard]] QLineEdit* field() const {
    return bar.findChild<QLineEdit*>(QStringLiteral("searchField"));
  }
  template <typename T>
  [[nodiscard]] T* find(const char* name) const {
    return bar.findChild<T*>(QLatin1String(name));
  }
  [[nodiscard]] QToolButton* chip(SearchModel::Place place) const {
    return bar.findChild<QToolButton*>(QStringLiteral("searchChip%1").arg(static_cast<int>(place)));
  }
};

int pixelsOf(const QImage& image, const QColor& color, const QRect& area) {
  int count = 0;
  for (int y = area.top(); y <= area.bottom(); ++y) {
    for (int x = area.left(); x <= area.right(); ++x) {
      count += image.pixelColor(x, y) == color ? 1 : 0;
    }
  }
  return count;
}

}  // namespace

class TestSearchBar : public QObject {
  Q_OBJECT

 private slots:
  void searchesWhatIsTyped() {
    SearchBench bench;
    QTest::keyClicks(bench.field(), "renorm");
    QTRY_COMPARE(bench.search.text(), QString("renorm"));
    QVERIFY(!bench.search.hits().empty());
    const std::size_t ops = bench.search.count(SearchModel::Place::kOps);
    QCOMPARE(bench.chip(SearchModel::Place::kOps)->text(), QStringLiteral("Ops %1").arg(ops));
    QCOMPARE(bench.find<QLabel>("searchTotal")->text(),
             QStringLiteral("%1 on the timeline").arg(bench.search.hits().size()));
    QTest::keyClick(bench.field(), Qt::Key_A, Qt::ControlModifier);
    QTest::keyClicks(bench.field(), "xyzzy");
    QTRY_COMPARE(bench.find<QLabel>("searchTotal")->text(), QString("nothing found"));
    QVERIFY(!bench.find<QToolButton>("nextHitButton")->isEnabled());
  }

  void saysWhichHitIsCurrent() {
    SearchBench bench;
    QTest::keyClicks(bench.field(), "renorm");
    QTRY_VERIFY(!bench.search.hits().empty());
    QVERIFY(bench.search.step(1, 0));
    QVERIFY(bench.search.step(1, 0));
    QCOMPARE(bench.find<QLabel>("searchPosition")->text(), QString("2"));
    QCOMPARE(bench.find<QLabel>("searchTotal")->text(),
             QStringLiteral("of %1 on the timeline").arg(bench.search.hits().size()));
  }

  void aChipLeavesItsPlaceOut() {
    SearchBench bench;
    QTest::keyClicks(bench.field(), "embedding");
    QTRY_VERIFY(!bench.search.hits().empty());
    const int rows = bench.search.rowCount();
    QTest::mouseClick(bench.chip(SearchModel::Place::kModules), Qt::LeftButton);
    QVERIFY(!bench.search.isShown(SearchModel::Place::kModules));
    QCOMPARE(bench.search.rowCount(), rows - 1);
    QTest::mouseClick(bench.chip(SearchModel::Place::kModules), Qt::LeftButton);
    QCOMPARE(bench.search.rowCount(), rows);
  }

  void stepsAndClosesByKeysAndClicks() {
    SearchBench bench;
    QSignalSpy steps(&bench.bar, &SearchBar::stepRequested);
    QSignalSpy closes(&bench.bar, &SearchBar::closeRequested);
    QTest::keyClicks(bench.field(), "renorm");
    QTest::keyClick(bench.field(), Qt::Key_Return);  // at once: the search is not late
    QCOMPARE(bench.search.text(), QString("renorm"));
    QTest::keyClick(bench.field(), Qt::Key_Return, Qt::ShiftModifier);
    QTest::mouseClick(bench.find<QToolButton>("nextHitButton"), Qt::LeftButton);
    QTest::mouseClick(bench.find<QToolButton>("previousHitButton"), Qt::LeftButton);
    QCOMPARE(steps.size(), 4);
    QCOMPARE(steps[0][0].toInt(), 1);
    QCOMPARE(steps[1][0].toInt(), -1);
    QCOMPARE(steps[2][0].toInt(), 1);
    QCOMPARE(steps[3][0].toInt(), -1);
    QTest::keyClick(bench.field(), Qt::Key_Escape);
    QTest::mouseClick(bench.find<QToolButton>("closeSearchButton"), Qt::LeftButton);
    QCOMPARE(closes.size(), 2);
  }

  /// Nothing is cut, at any width that the window allows.
  void fitsEveryWidth() {
    SearchBench bench;
    QTest::keyClicks(bench.field(), "embedding");
    QTRY_VERIFY(!bench.search.hits().empty());
    QVERIFY(bench.search.step(1, 0));
    for (const int width : {560, 640, 756, 900, 1200}) {
      bench.bar.resize(width, bench.bar.height());
      QTest::qWait(0);
      int right = 0;
      for (const QWidget* part : bench.bar.findChildren<QWidget*>(Qt::FindDirectChildrenOnly)) {
        if (!part->isVisible()) continue;
        QVERIFY2(part->width() >= std::min(part->sizeHint().width(), 140),
                 qPrintable(part->objectName() + QString::number(width)));
        right = std::max(right, part->geometry().right());
      }
      QVERIFY2(right < width, qPrintable(QString::number(width)));
      QVERIFY(bench.find<QToolButton>("closeSearchButton")->isVisible());
    }
  }

  void markedColumnsAreThoseOfAllHits() {
    std::mt19937_64 random(7);
    for (int round = 0; round < 50; ++round) {
      std::vector<analysis::SearchHit> hits(round * 40);
      for (auto& hit : hits) hit.timeNs = static_cast<std::int64_t>(random() % 2'000'000'000);
      std::sort(hits.begin(), hits.end(),
                [](const auto& a, const auto& b) { return a.timeNs < b.timeNs; });
      const std::int64_t begin = static_cast<std::int64_t>(random() % 1'000'000'000);
      const TimeScale scale{
          {begin, begin + 1 + static_cast<std::int64_t>(random() % 900'000'000)}, 112, 700};
      std::set<int> expected;
      for (const auto& hit : hits) {
        const double x = std::floor(scale.pixelAt(hit.timeNs));
        if (x >= 112 && x <= 811 && hit.timeNs >= scale.timeAt(112)) {
          expected.insert(static_cast<int>(x));
        }
      }
      const auto columns = hitColumns(hits, scale, 112, 811);
      QVERIFY(std::is_sorted(columns.begin(), columns.end()));
      QVERIFY(std::set<int>(columns.begin(), columns.end()) == expected);
    }
  }

  void rulerAndOverviewMarkTheHits() {
    SearchBench bench;
    TimeAxis axis;
    EventFocus focus(&bench.store, &axis);
    Ruler ruler(&bench.store, &axis, &focus);
    OverviewPane overview(&bench.store, &axis, &focus);
    axis.setExtent({0, bench.store.completeUpToNs()});
    axis.fit();
    for (TimePane* pane : {static_cast<TimePane*>(&ruler), static_cast<TimePane*>(&overview)}) {
      pane->resize(900, pane->height());
      pane->show();
    }
    ruler.showSearch(&bench.search);
    overview.showSearch(&bench.search);
    const auto marks = [](TimePane& pane, int top) {
      pane.renderNow();
      const QImage image = pane.grab().toImage();
      const QRect plot = pane.plotRect();
      return pixelsOf(image, Theme::of(&pane).accent, {plot.left(), top, plot.width(), 1});
    };
    QCOMPARE(marks(ruler, ruler.height() - 3), 0);
    QCOMPARE(marks(overview, 1), 0);
    bench.search.setText(QStringLiteral("renorm"));
    const auto columns = hitColumns(bench.search.hits(), ruler.scale(), ruler.plotRect().left(),
                                    ruler.plotRect().right());
    QVERIFY(columns.size() > 3);
    QCOMPARE(marks(ruler, ruler.height() - 3), static_cast<int>(columns.size()));
    QVERIFY(marks(overview, 1) > 3);
  }

  void theTableMarksTheFoundPart() {
    SearchBench bench;
    const std::unique_ptr<EventTable> table(makeSearchTable(&bench.search));
    table->resize(700, 200);
    table->show();
    bench.search.setText(QStringLiteral("renorm"));
    const QImage image = table->viewport()->grab().toImage();
    const QRect cell = table->visualRect(table->model()->index(0, 0));
    QVERIFY(pixelsOf(image, Theme::of(table.get()).accent, cell) > 20);
    QSignalSpy picked(table.get(), &EventTable::rowPicked);
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, cell.center());
    QCOMPARE(picked.size(), 1);
  }
};

HIGHWATER_TEST(TestSearchBar, QApplication)
#include "tst_search_bar.moc"
