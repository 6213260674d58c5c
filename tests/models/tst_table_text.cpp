#include <QAbstractTableModel>

#include "models/op_totals_model.h"
#include "models/table_text.h"
#include "support/test_program.h"

using namespace highwater::models;

namespace {

/// A table of texts, of which one cell is exported as a number.
struct Texts final : QAbstractTableModel {
  QStringList head{"Op", "Count", "Bytes"};
  QList<QStringList> cells{{"copy_", "3", "4.0 KiB"}, {"a\tb\nc", "1", "0 B"}};

  int rowCount(const QModelIndex& = {}) const override { return static_cast<int>(cells.size()); }
  int columnCount(const QModelIndex& = {}) const override { return static_cast<int>(head.size()); }
  QVariant headerData(int section, Qt::Orientation, int) const override { return head[section]; }
  QVariant data(const QModelIndex& index, int role) const override {
    if (role == OpTotalsModel::kExportRole && index.row() == 0 && index.column() == 2) return 4096;
    return role == Qt::DisplayRole ? cells[index.row()][index.column()] : QVariant();
  }
};

}  // namespace

class TestTableText : public QObject {
  Q_OBJECT

 private slots:
  void copiesRowsAndTables() {
    const Texts model;
    QCOMPARE(rowText(model, 0), QString("copy_\t3\t4.0 KiB"));
    QCOMPARE(rowText(model, 1), QString("a b c\t1\t0 B"));
    QCOMPARE(rowText(model, 0, {2, 0}), QString("4.0 KiB\tcopy_"));
    QCOMPARE(csvOf(model), QString("Op,Count,Bytes\r\ncopy_,3,4096\r\n\"a\tb\nc\",1,0 B\r\n"));
    QCOMPARE(csvOf(model, {1}), QString("Count\r\n3\r\n1\r\n"));
  }
};

HIGHWATER_TEST(TestTableText, QCoreApplication)
#include "tst_table_text.moc"
