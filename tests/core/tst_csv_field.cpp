#include "core/csv_field.h"
#include "support/test_program.h"

using namespace highwater;

class TestCsvField : public QObject {
  Q_OBJECT

 private slots:
  void quotesWhatNeedsIt_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QByteArray>("field");
    const auto row = [](const char* name, const char* text, const char* field) {
      QTest::newRow(name) << QByteArray(text) << QByteArray(field);
    };
    row("plain", "copy_", "copy_");
    row("empty", "", "");
    row("comma", "forward, act", "\"forward, act\"");
    row("semicolon", "a;b", "\"a;b\"");
    row("tab", "a\tb", "\"a\tb\"");
    row("quote", "say \"a\"", "\"say \"\"a\"\"\"");
    row("line end", "a\nb", "\"a\nb\"");
    row("space at the begin", " a", "\" a\"");
    row("space at the end", "a ", "\"a \"");
    row("UTF-8", "größer", "größer");
    row("formula", "=1+1", "\"'=1+1\"");
    row("formula with comma", "=A(1,2)", "\"'=A(1,2)\"");
    row("command", "@SUM(A1)", "\"'@SUM(A1)\"");
    row("tab before a formula", "\t=1", "\"'\t=1\"");
    row("line end before a formula", "\n=1", "\"'\n=1\"");
    row("negative number", "-3.5", "-3.5");
    row("small number", "+1.5e-07", "+1.5e-07");
    row("minus and text", "-rm", "\"'-rm\"");
    row("a sign alone", "-", "\"'-\"");
    row("sum", "+1+cmd", "\"'+1+cmd\"");
    row("no exponent", "-1e", "\"'-1e\"");
    row("no fraction", "-1.", "\"'-1.\"");
    row("infinity, which is a name to a spreadsheet", "-inf", "\"'-inf\"");
  }
  void quotesWhatNeedsIt() {
    QFETCH(QByteArray, text);
    QFETCH(QByteArray, field);
    std::string line = "1,";
    appendCsvField(line, text.toStdString());
    QCOMPARE(QByteArray::fromStdString(line), "1," + field);
  }
};

HIGHWATER_TEST(TestCsvField, QCoreApplication)
#include "tst_csv_field.moc"
