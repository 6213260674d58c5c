#include "support/test_program.h"
#include "worker/data/csv.h"

using namespace highwater;
using namespace highwater::worker;

class TestCsv : public QObject {
  Q_OBJECT
 private slots:
  void readsQuotesAndLineBreaks() {
    const auto rows = parseCsv("text,label\r\n\"a, \"\"b\"\"\nc\",x\r\nplain,y", "t");
    QVERIFY(rows);
    QCOMPARE(rows->size(), std::size_t{3});
    QCOMPARE((*rows)[1].fields, (std::vector<std::string>{"a, \"b\"\nc", "x"}));
    QCOMPARE((*rows)[1].line, std::size_t{2});
    QCOMPARE((*rows)[2].fields, (std::vector<std::string>{"plain", "y"}));
    QCOMPARE((*rows)[2].line, std::size_t{4});
  }

  void skipsByteOrderMarkAndEmptyLines() {
    const auto rows = parseCsv("\xEF\xBB\xBFtext,label\n\n\na,b\n\n", "t");
    QVERIFY(rows);
    QCOMPARE(rows->size(), std::size_t{2});
    QCOMPARE((*rows)[0].fields[0], std::string("text"));
    QCOMPARE((*rows)[1].line, std::size_t{4});
  }

  void keepsEmptyFields() {
    const auto rows = parseCsv("a,,b,\n\"\",x\n", "t");
    QVERIFY(rows);
    QCOMPARE((*rows)[0].fields, (std::vector<std::string>{"a", "", "b", ""}));
    QCOMPARE((*rows)[1].fields, (std::vector<std::string>{"", "x"}));
  }

  void refuses_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QString>("says");
    QTest::newRow("open quote") << QByteArray("a,b\nc,\"d\ne\n")
                                << "t, line 2: a quote that is never";
    QTest::newRow("after quote") << QByteArray("\"a\"b,c\n")
                                 << "t, line 1: text after a closing quote";
    QTest::newRow("quote inside") << QByteArray("a\"b,c\n") << "t, line 1: a quote inside";
    QTest::newRow("latin 1") << QByteArray("a,b\nc\xE9,d\n") << "t, line 2: not UTF-8";
    QTest::newRow("overlong") << QByteArray("\xC0\xAF,b\n") << "not UTF-8";
    QTest::newRow("surrogate") << QByteArray("\xED\xA0\x80,b\n") << "not UTF-8";
    QTest::newRow("cut off") << QByteArray("a,\xE2\x82") << "not UTF-8";
    QTest::newRow("NUL") << QByteArray("a,b\nc\0,d\n", 9) << "t, line 2: a NUL byte";
    QTest::newRow("CR alone") << QByteArray("a,b\rc,d\r")
                              << "lines end with a carriage return alone";
    QTest::newRow("UTF-16") << QByteArray("\xFF\xFEt\0e\0x\0", 8) << "not UTF-8";
  }

  void refuses() {
    QFETCH(QByteArray, text);
    QFETCH(QString, says);
    const auto rows = parseCsv({text.constData(), static_cast<std::size_t>(text.size())}, "t");
    QVERIFY(!rows);
    QCOMPARE(rows.error().code, ErrorCode::kMalformed);
    const QString message = QString::fromStdString(rows.error().message);
    QVERIFY2(message.contains(says), qPrintable(message));
  }

  void namesAnAbsentFile() {
    QTemporaryDir folder;
    const auto rows = readCsv(folder.filePath("none.csv").toStdString());
    QVERIFY(!rows);
    QCOMPARE(rows.error().code, ErrorCode::kNotFound);
    QVERIFY(rows.error().message.find("none.csv") != std::string::npos);
    QVERIFY(!readCsv(folder.path().toStdString()));
  }
};

HIGHWATER_TEST(TestCsv, QCoreApplication)
#include "tst_csv.moc"
