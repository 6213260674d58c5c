// Tables sort by the values of their cells, also while a run is live.
#include <QAbstractTableModel>
#include <QHeaderView>
#include <QSet>
#include <QSignalSpy>
#include <QTest>
#include <algorithm>

#include "models/op_totals_model.h"
#include "models/step_model.h"
#include "support/sample_run.h"
#include "support/test_program.h"
#include "views/panels/event_table.h"
#include "views/theme.h"

using namespace highwater;
using namespace highwater::views;
using analysis::OpTotal;
using models::OpTotalsModel;
using models::StepModel;

namespace {

OpTotal total(const std::string& op, std::uint64_t count, std::int64_t ms, std::uint64_t bytes) {
  OpTotal each;
  each.op = "aten::" + op;
  each.where = "forward";
  each.count = count;
  each.totalNs = each.inStepsNs = ms * 1'000'000;
  each.bytes = bytes;
  return each;
}

/// Counts and bytes whose texts sort differently: "9", "100"; "1.0 MiB", "900.0 KiB".
const std::vector<OpTotal> kTotals = {total("b", 9, 30, 1 << 20), total("a", 100, 20, 900 << 10),
                                      total("c", 10, 10, 2 << 20)};

struct Shown {
  models::FallbackModel model;
  EventTable table;

  Shown() {
    model.refresh(kTotals, 1000);
    table.setModel(&model);
    table.setColumnWidths({100, 60, 80, 80, 80});
    table.sortByColumn(OpTotalsModel::kTotalMs, Qt::DescendingOrder);
    table.resize(500, 200);
    table.show();
  }
  [[nodiscard]] QString ops() const { return column(table, OpTotalsModel::kOp); }
  static QString column(const EventTable& table, int column) {
    QStringList cells;
    for (int row = 0; row < table.model()->rowCount(); ++row) {
      cells << table.model()->index(row, column).data().toString();
    }
    return cells.join(QLatin1Char(' '));
  }
  void clickHead(int column) {
    QHeaderView* head = table.horizontalHeader();
    QTest::mouseClick(head->viewport(), Qt::LeftButton, {},
                      {head->sectionViewportPosition(column) + 20, head->height() / 2});
  }
};

/// The pixel columns of a section in which something is drawn: fewer where the text is cut.
int drawnIn(QHeaderView& head, int section) {
  const QImage image = head.grab().toImage();
  const int from = head.sectionViewportPosition(section), middle = head.height() / 2;
  const QRgb ground = image.pixel(1, 1);
  int columns = 0;
  for (int x = from; x < from + head.sectionSize(section); ++x) {
    bool any = false;
    for (int y = middle - 6; y <= middle + 6; ++y) any = any || image.pixel(x, y) != ground;
    columns += any ? 1 : 0;
  }
  return columns;
}

/// A table of numbers that knows which rows were asked for.
class AskedRows final : public QAbstractTableModel {
 public:
  explicit AskedRows(int rows) : rows_(rows) {}
  int rowCount(const QModelIndex& parent = {}) const override {
    return parent.isValid() ? 0 : rows_;
  }
  int columnCount(const QModelIndex& parent = {}) const override {
    return parent.isValid() ? 0 : 3;
  }
  QVariant data(const QModelIndex& index, int role) const override {
    if (role == Qt::TextAlignmentRole) return int(Qt::AlignRight | Qt::AlignVCenter);
    if (role != Qt::DisplayRole) return {};
    asked.insert(index.row());
    return 1'000'000'000 + index.row();
  }
  void changeAll() {
    beginResetModel();
    endResetModel();
  }
  mutable QSet<int> asked;

 private:
  int rows_;
};

}  // namespace

class TestEventTable : public QObject {
  Q_OBJECT

 private slots:
  void aHeadSortsByValue() {
    Shown shown;
    QCOMPARE(shown.ops(), QString("b a c"));  // the most costly first
    shown.clickHead(OpTotalsModel::kCount);
    QCOMPARE(shown.ops(), QString("a c b"));
    shown.clickHead(OpTotalsModel::kCount);
    QCOMPARE(shown.ops(), QString("b c a"));
    shown.clickHead(OpTotalsModel::kBytes);
    QCOMPARE(shown.ops(), QString("c b a"));
    shown.clickHead(OpTotalsModel::kOp);
    QCOMPARE(shown.ops(), QString("a b c"));
    shown.clickHead(OpTotalsModel::kTotalMs);
    QCOMPARE(shown.ops(), QString("b a c"));
  }

  void aPickedRowIsTheModels() {
    Shown shown;
    shown.clickHead(OpTotalsModel::kCount);
    QSignalSpy picked(&shown.table, &EventTable::rowPicked);
    QTest::mouseClick(shown.table.viewport(), Qt::LeftButton, {},
                      shown.table.visualRect(shown.table.model()->index(0, 0)).center());
    QCOMPARE(picked.count(), 1);
    QCOMPARE(picked.first().first().toInt(), 1);  // "a"
    shown.table.markRow(2);
    QCOMPARE(shown.table.currentIndex().row(), 1);
    QCOMPARE(picked.count(), 1);
  }

  void choiceAndSelectionOutliveNews() {
    Shown shown;
    shown.clickHead(OpTotalsModel::kCount);
    shown.table.markRow(0);  // "b"
    QSignalSpy reset(&shown.model, &QAbstractItemModel::modelReset);
    // A new summary: sorted by cost, with one more op.
    shown.model.refresh({total("c", 300, 90, 1), total("d", 50, 60, 1), total("b", 200, 50, 1),
                         total("a", 100, 40, 1)},
                        1000);
    QCOMPARE(shown.ops(), QString("c b a d"));
    QCOMPARE(shown.table.currentIndex().row(), 1);
    QCOMPARE(reset.count(), 0);
    QCOMPARE(shown.model.index(shown.model.rowOf("aten::d", "forward"), OpTotalsModel::kCount)
                 .data()
                 .toString(),
             QString("50"));
    // Another range without one of the ops: the sorting stays, the owner must mark the row again.
    shown.model.refresh({total("d", 5, 60, 1), total("b", 7, 50, 1)}, 1000);
    QCOMPARE(shown.ops(), QString("b d"));
  }

  void stepsComeNewestFirst() {
    analysis::LiveStore store;
    const auto run = test::makeSampleRun({.steps = 30});
    StepModel model(&store);
    EventTable table;
    table.setModel(&model);
    table.setNaturalOrder(StepModel::kStep, Qt::DescendingOrder);
    test::forEachMessage(run, [&](const Message& message) {
      store.apply(message);
      model.refresh();
    });
    const auto cell = [&table](int row, int column) {
      return table.model()->index(row, column).data(OpTotalsModel::kSortRole).toDouble();
    };
    QCOMPARE(table.model()->rowCount(), 30);
    for (int row = 0; row < 30; ++row) QCOMPARE(cell(row, StepModel::kStep), 30.0 - row);
    table.sortByColumn(StepModel::kTimeMs, Qt::DescendingOrder);
    for (int row = 1; row < 30; ++row) {
      QVERIFY(cell(row, StepModel::kTimeMs) <= cell(row - 1, StepModel::kTimeMs));
    }
    table.sortByColumn(StepModel::kStep, Qt::AscendingOrder);
    QCOMPARE(cell(0, StepModel::kStep), 1.0);
    table.sortByColumn(StepModel::kLoss, Qt::AscendingOrder);  // steps without a loss come first
    QVERIFY(cell(0, StepModel::kLoss) < cell(29, StepModel::kLoss));
  }

  void namesTakeRoomThatIsThere() {
    models::FallbackModel model;
    model.refresh(kTotals, 1000);
    EventTable table;
    table.setModel(&model);
    table.setOpLook(EventTable::Kind::kFallbacks, OpTotalsModel::kOp, OpTotalsModel::kShare);
    table.setColumnWidths({150, 60, 80, 110, 80});
    table.show();
    table.resize(600, 200);
    // The longest name is whole where the columns beside it have room to spare.
    int longest = 0;
    for (int row = 0; row < table.model()->rowCount(); ++row) {
      const QString name = table.model()->index(row, OpTotalsModel::kOp).data().toString();
      longest = std::max(longest, QFontMetrics(textFont(kText)).horizontalAdvance(name));
    }
    QVERIFY(table.columnWidth(OpTotalsModel::kOp) >= std::max(longest + 16, 150));
    table.resize(1000, 200);
    QVERIFY(table.columnWidth(OpTotalsModel::kOp) >= 300);
    table.resize(600, 200);
    table.setColumnWidth(OpTotalsModel::kOp, 170);  // as the user does
    table.resize(1000, 200);
    QCOMPARE(table.columnWidth(OpTotalsModel::kOp), 170);
  }

  void theHeadingOfASortedColumnIsNotCut() {
    models::FallbackModel model;
    model.refresh(kTotals, 1000);
    EventTable table;
    table.setStyleSheet(Theme::light().styleSheet());
    table.setModel(&model);
    table.setOpLook(EventTable::Kind::kFallbacks, OpTotalsModel::kOp, OpTotalsModel::kShare);
    table.setColumnWidths({150, 20, 20, 20, 20});
    table.resize(900, 200);
    table.show();
    QHeaderView* head = table.horizontalHeader();
    int checked = 0;
    for (int i = 0; i + 1 < head->count(); ++i) {
      if (!(table.model()->index(0, i).data(Qt::TextAlignmentRole).toInt() & Qt::AlignRight)) {
        continue;
      }
      table.sortByColumn(i, Qt::DescendingOrder);
      const int fitted = drawnIn(*head, i);
      const int width = head->sectionSize(i);
      head->resizeSection(i, width + 60);
      QVERIFY(fitted > 10);
      const int wide = drawnIn(*head, i);
      QVERIFY2(fitted >= wide, qPrintable(QString("%1: %2 of %3").arg(i).arg(fitted).arg(wide)));
      head->resizeSection(i, width);
      ++checked;
    }
    QVERIFY(checked >= 2);
  }

  void numbersAreNotCutInANarrowTable() {
    analysis::LiveStore store;
    test::feed(test::makeSampleRun({.steps = 12}), store);
    StepModel model(&store);
    model.setRange(std::nullopt);
    EventTable table;
    table.setModel(&model);
    table.setEvenColumns();
    table.show();
    const auto* head = table.horizontalHeader();
    for (const int width : {900, 320, 900}) {
      table.resize(width, 200);
      int sum = 0;
      for (int i = 0; i < head->count(); ++i) {
        const QString heading = model.headerData(i, Qt::Horizontal, Qt::DisplayRole).toString();
        QVERIFY2(head->sectionSize(i) > head->fontMetrics().horizontalAdvance(heading),
                 qPrintable(heading));
        sum += head->sectionSize(i);
      }
      // Narrow, it scrolls; wide, it fills its width.
      QCOMPARE(sum > table.viewport()->width(), width == 320);
    }
  }

  /// As in a window of 800 × 600.
  void theStepsFitIntoASmallWindow() {
    analysis::LiveStore store;
    test::feed(test::makeSampleRun({.steps = 40}), store);
    StepModel model(&store);
    model.setRange(std::nullopt);
    EventTable table;
    table.setFont(textFont(kText));
    table.setStyleSheet(Theme::light().styleSheet());
    table.setModel(&model);
    table.setEvenColumns();
    table.sortByColumn(StepModel::kStep, Qt::DescendingOrder);
    table.resize(508, 120);
    table.show();
    QHeaderView* head = table.horizontalHeader();
    QVERIFY(head->length() <= table.viewport()->width());
    for (int i = 0; i + 1 < head->count(); ++i) {
      const int width = head->sectionSize(i), fitted = drawnIn(*head, i);
      head->resizeSection(i, width + 60);
      QVERIFY2(fitted >= drawnIn(*head, i), qPrintable(QString::number(i)));
      head->resizeSection(i, width);
    }
  }

  /// Op and place are told apart by their names, whose room no number may take.
  void namesKeepRoomInASmallWindow() {
    models::FallbackModel model;
    std::vector<OpTotal> totals = {total("copy_ to device", 80, 1265, 325 << 10)};
    totals[0].where = "device move";
    model.refresh(totals, 1000);
    EventTable table;
    table.setFont(textFont(kText));
    table.setStyleSheet(Theme::light().styleSheet());
    table.setModel(&model);
    table.setOpLook(EventTable::Kind::kFallbacks, OpTotalsModel::kOp, OpTotalsModel::kShare);
    table.setColumnWidths({124, 206, 54, 68, 92});
    table.resize(508, 120);
    table.show();
    QVERIFY(table.horizontalHeader()->length() <= table.viewport()->width());
    const QFontMetrics metrics(textFont(kText));
    const auto room = [&](int column) {
      return table.columnWidth(column) -
             metrics.horizontalAdvance(model.index(0, column).data().toString());
    };
    QVERIFY(room(OpTotalsModel::kOp) >= 12);
    QVERIFY2(room(OpTotalsModel::kWhere) >= 12,
             qPrintable(QString::number(table.columnWidth(OpTotalsModel::kWhere))));
    for (const int number : {OpTotalsModel::kCount, OpTotalsModel::kTotalMs, OpTotalsModel::kShare,
                             OpTotalsModel::kBytes}) {
      QVERIFY2(room(number) >= 8, qPrintable(QString::number(number)));
    }
    const int withoutBar = table.columnWidth(OpTotalsModel::kShare);
    // Grown, it has bars again, and gives the names what there is, also as the numbers become
    // longer.
    table.resize(800, 120);
    QVERIFY(room(OpTotalsModel::kBytes) >= 12);
    QVERIFY(table.columnWidth(OpTotalsModel::kShare) > withoutBar + 40);
    QVERIFY(table.columnWidth(OpTotalsModel::kShare) < 160);
    table.resize(508, 120);
    QCOMPARE(table.columnWidth(OpTotalsModel::kShare), withoutBar);
    table.resize(800, 120);
    totals[0].op = "aten::an_op_with_a_name_that_is_longer";
    totals[0].totalNs = totals[0].inStepsNs = 123'456'000'000'000;
    model.refresh(totals, 1000);
    QTRY_VERIFY(room(OpTotalsModel::kOp) >= 12);
    QTRY_VERIFY(room(OpTotalsModel::kTotalMs) >= 12);
  }

  void onlyRowsInViewAreMeasured() {
    AskedRows model(50'000);
    EventTable table;
    table.setModel(&model);
    table.setEvenColumns();
    table.resize(120, 240);
    model.changeAll();  // as another range does, while the table's tab is not the current one
    QCOMPARE(model.asked.size(), 0);
    table.show();
    QVERIFY(!model.asked.isEmpty());
    const int needed = QFontMetrics(table.font()).horizontalAdvance(QStringLiteral("1000000000"));
    for (int i = 0; i < model.columnCount(); ++i) QVERIFY(table.columnWidth(i) >= needed);
    model.asked.clear();
    model.changeAll();
    QVERIFY(!model.asked.isEmpty());
    QVERIFY2(model.asked.size() <= 20, qPrintable(QString::number(model.asked.size())));
  }

  void aFilterLooksAtNamesAndPlaces() {
    Shown shown;
    shown.table.setFilter("ATEN::A");
    QCOMPARE(shown.ops(), QString("a"));
    shown.table.setFilter("forw");
    QCOMPARE(shown.ops(), QString("b a c"));
    shown.table.setFilter("100");  // numbers are not searched
    QCOMPARE(shown.ops(), QString());
    QVERIFY(!shown.table.grab().isNull());
    shown.table.markRow(1);  // hidden
    QVERIFY(!shown.table.currentIndex().isValid());
    shown.table.setFilter({});
    QCOMPARE(shown.ops(), QString("b a c"));
  }
  void aFilterPicksNothing() {
    Shown shown;
    QSignalSpy picked(&shown.table, &EventTable::rowPicked);
    shown.table.selectRow(1);  // a
    QCOMPARE(picked.count(), 1);
    shown.table.setFilter("aten::b");
    QCOMPARE(shown.ops(), QString("b"));
    QVERIFY(!shown.table.currentIndex().isValid());
    shown.table.setFilter({});
    shown.table.selectRow(0);  // b
    QCOMPARE(picked.count(), 2);
    shown.table.setFilter("aten::b");
    QCOMPARE(shown.table.currentIndex().row(), 0);
    QCOMPARE(picked.count(), 2);
  }
};

HIGHWATER_TEST(TestEventTable, QApplication)
#include "tst_event_table.moc"
