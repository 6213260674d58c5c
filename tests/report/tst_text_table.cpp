#include "report/text_table.h"
#include "support/test_program.h"

using highwater::report::TextTable;

class TestTextTable : public QObject {
  Q_OBJECT

 private slots:
  void alignsColumns() {
    TextTable table({TextTable::Align::kLeft, TextTable::Align::kRight});
    QVERIFY(table.empty());
    table.add({"a", "1"});
    table.add({"long", "100"});
    QVERIFY(!table.empty());
    QCOMPARE(table.text(), std::string("a       1\nlong  100\n"));
    QCOMPARE(table.text(2), std::string("  a       1\n  long  100\n"));
  }

  void countsCodePointsAndTrimsLines() {
    TextTable table({TextTable::Align::kLeft, TextTable::Align::kLeft});
    table.add({"\u00d7\u2192", "x"});
    table.add({"ab"});
    QCOMPARE(table.text(), std::string("\u00d7\u2192  x\nab\n"));
  }

  void shortensTheMiddleOfALongCell() {
    TextTable table({TextTable::Align::kLeft, TextTable::Align::kLeft});
    table.limit(0, 7);
    table.add({"1234567", "x"});
    table.add({"12345678", "x"});
    table.add({"\u00d7\u00d7\u00d7\u00d7\u00d7\u00d7\u00d7\u2192", "12345678"});
    QCOMPARE(table.text(), std::string("1234567  x\n123\u2026678  x\n"
                                       "\u00d7\u00d7\u00d7\u2026\u00d7\u00d7\u2192  12345678\n"));
  }
};

HIGHWATER_TEST(TestTextTable, QCoreApplication)
#include "tst_text_table.moc"
