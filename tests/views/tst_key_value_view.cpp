#include <QStandardItemModel>
#include <QTest>

#include "support/test_program.h"
#include "views/panels/key_value_view.h"

using namespace highwater::views;

class TestKeyValueView : public QObject {
  Q_OBJECT

 private slots:
  void isAsHighAsItsRows() {
    QStandardItemModel model(2, 2);
    KeyValueView view(&model);
    const int two = view.sizeHint().height();
    model.setRowCount(0);
    const int none = view.sizeHint().height();
    QVERIFY(none > 0 && two > none);
    model.setRowCount(4);
    QCOMPARE(view.sizeHint().height() - none, 2 * (two - none));
    QCOMPARE(view.minimumSizeHint(), view.sizeHint());
  }

  void drawsNewValues() {
    QStandardItemModel model(1, 2);
    model.setData(model.index(0, 0), QStringLiteral("Loss"));
    model.setData(model.index(0, 1), QStringLiteral("0.1"));
    KeyValueView view(&model);
    view.resize(200, view.sizeHint().height());
    const QImage before = view.grab().toImage();
    model.setData(model.index(0, 1), QStringLiteral("7.5"));
    QVERIFY(view.grab().toImage() != before);
  }
};

HIGHWATER_TEST(TestKeyValueView, QApplication)
#include "tst_key_value_view.moc"
