#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QListView>
#include <QRegularExpression>
#include <QStringListModel>
#include <QTest>

#include "analysis/run_summary.h"
#include "core/units.h"
#include "models/op_totals_model.h"
#include "models/qt_text.h"
#include "models/value_rows.h"
#include "support/active_window.h"
#include "support/sample_run.h"
#include "support/test_program.h"
#include "views/panels/copy_actions.h"
#include "views/panels/event_panel.h"
#include "views/panels/event_table.h"
#include "views/panels/key_value_view.h"
#include "views/panels/selection_panel.h"

using namespace highwater;
using namespace highwater::views;

namespace {

QString clipboard() {
  return QApplication::clipboard()->text();
}

void show(QWidget& widget) {
  widget.resize(700, 300);
  widget.show();
  test::makeActive(widget);
  widget.setFocus();
  QApplication::clipboard()->clear();
}

QAction* actionOf(const QWidget& widget, const char* name) {
  for (QAction* action : widget.actions()) {
    if (action->objectName() == QLatin1String(name)) return action;
  }
  return nullptr;
}

analysis::LiveStore sampleStore() {
  analysis::LiveStore store;
  test::feed(test::makeSampleRun({.steps = 40}), store);
  return store;
}

}  // namespace

class TestCopyActions : public QObject {
  Q_OBJECT

 private slots:
  void aTableCopiesItsSelectedRow() {
    const analysis::LiveStore store = sampleStore();
    models::SyncPointModel model;
    const analysis::RunSummary summary = analysis::summarize(store);
    model.refresh(summary.syncPoints, summary.stepsMs);
    EventTable table;
    table.setModel(&model);
    show(table);
    QTest::keyClick(&table, Qt::Key_C, Qt::ControlModifier);
    QCOMPARE(clipboard(), QString());  // nothing is selected
    table.selectRow(1);
    QTest::keyClick(&table, Qt::Key_C, Qt::ControlModifier);
    const QStringList cells = clipboard().split(QLatin1Char('\t'));
    QCOMPARE(cells.size(), table.model()->columnCount());
    QCOMPARE(cells[0], table.model()->index(1, 0).data().toString());
  }

  void aTableIsCopiedAsItIsShown() {
    const analysis::LiveStore store = sampleStore();
    models::SyncPointModel model;
    const analysis::RunSummary summary = analysis::summarize(store);
    model.refresh(summary.syncPoints, summary.stepsMs);
    EventTable table;
    table.setModel(&model);
    show(table);
    table.sortByColumn(models::OpTotalsModel::kCount, Qt::AscendingOrder);
    table.horizontalHeader()->moveSection(models::OpTotalsModel::kCount, 0);
    actionOf(table, "copyCsvAction")->trigger();
    const QStringList lines = clipboard().split(QStringLiteral("\r\n"), Qt::SkipEmptyParts);
    QCOMPARE(lines.size(), model.rowCount() + 1);
    QVERIFY2(lines[0].startsWith("Count,Op,"), qPrintable(lines[0]));
    int last = 0;
    for (const QString& line : lines.mid(1)) {
      const int count = line.section(QLatin1Char(','), 0, 0).toInt();
      QVERIFY(count >= last);
      last = count;
      QVERIFY2(line.section(QLatin1Char(','), 1, 1).startsWith("aten::"), qPrintable(line));
    }
  }

  void aListCopiesItsSelectedLines() {
    QStringListModel model({"one", "two", "three"});
    QListView list;
    list.setModel(&model);
    list.setSelectionMode(QAbstractItemView::ExtendedSelection);
    addCopyActions(&list);
    show(list);
    QTest::mouseClick(list.viewport(), Qt::LeftButton, {},
                      list.visualRect(model.index(2)).center());
    QTest::mouseClick(list.viewport(), Qt::LeftButton, Qt::ControlModifier,
                      list.visualRect(model.index(0)).center());
    QTest::keyClick(&list, Qt::Key_C, Qt::ControlModifier);
    QCOMPARE(clipboard(), QString("one\nthree"));
    QVERIFY(!actionOf(list, "copyCsvAction"));
  }

  void numbersAreCopiedAsLines() {
    const analysis::LiveStore store = sampleStore();
    models::ValueRows values;
    values.setRows({{"Model", "GPT", {}}, {"dtype", "float32", {}}});
    KeyValueView view(&values);
    show(view);
    QTest::keyClick(&view, Qt::Key_C, Qt::ControlModifier);
    QCOMPARE(clipboard(), QStringLiteral("Model\tGPT\ndtype\tfloat32"));

    SelectionPanel selection;
    selection.showNumbers({.summary = analysis::summarize(store),
                           .head = QStringLiteral("Whole run"),
                           .rate = QStringLiteral("8.5k tokens/s"),
                           .machine = {{"Thermal state", "serious", {}, {}}}});
    show(selection);
    QTest::keyClick(&selection, Qt::Key_C, Qt::ControlModifier);
    QVERIFY2(clipboard().contains("\t8.5k tokens/s\n"), qPrintable(clipboard()));
    QVERIFY(clipboard().contains("Step p50\t"));
    QVERIFY(clipboard().contains("\nThermal state\tserious\n"));
    QVERIFY2(clipboard().contains(QRegularExpression("\nforward\t\\d+ %, [\\d.]+ ms a step\n")),
             qPrintable(clipboard()));
    QVERIFY(!clipboard().contains("Step mean"));

    // Where few steps wait for many, the median says nothing.
    analysis::RunSummary uneven = analysis::summarize(store);
    uneven.stepMsMean = 4 * uneven.stepMsP50;
    selection.showNumbers({.summary = uneven});
    QVERIFY2(selection.asText().contains("Step mean\t" + text(formatMs(uneven.stepMsMean))),
             qPrintable(selection.asText()));

    TimeAxis axis;
    EventFocus focus(&store, &axis);
    EventPanel event(&store, &focus);
    focus.pick({Lane::kFallbacks, 0});
    show(event);
    QTest::keyClick(&event, Qt::Key_C, Qt::ControlModifier);
    QVERIFY2(clipboard().startsWith("Op\taten::embedding_renorm_\n"), qPrintable(clipboard()));
  }
};

HIGHWATER_TEST(TestCopyActions, QApplication)
#include "tst_copy_actions.moc"
