#include "report/run_tables.h"

#include <set>

#include "report/csv_tables.h"
#include "support/test_program.h"

using namespace highwater;

/// The tables of a whole run, read by other programs: tests/python/test_tables.py.
class TestRunTables : public QObject {
  Q_OBJECT

 private:
  /// One table as CSV, without its first line.
  template <typename Feed>
  static QByteArray csvOf(const char* table, Feed&& feed) {
    QByteArray out;
    report::CsvTables csv;
    csv.addTable(*report::runTable(table), [&out](std::string_view piece) {
      out.append(piece.data(), qsizetype(piece.size()));
    });
    report::RunTables tables(csv);
    Hello hello;
    hello.device.selected = "mps";
    tables.take({}, hello);
    feed(tables);
    tables.finish();
    csv.finish();
    return out.mid(out.indexOf("\r\n") + 2);
  }

  static events::StepRecord step(std::uint32_t number) {
    return events::StepRecord(1000, 2000, 0, 0, -1, number, 8, 0, 8, 0.5F, 1, 0);
  }

 private slots:
  void textsStayTexts_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QByteArray>("cell");
    QTest::newRow("plain") << QByteArray("fits") << QByteArray("fits");
    QTest::newRow("separators") << QByteArray("a,\"b\"") << QByteArray("\"a,\"\"b\"\"\"");
    QTest::newRow("formula") << QByteArray("=HYPERLINK(1)") << QByteArray("\"'=HYPERLINK(1)\"");
    QTest::newRow("sum") << QByteArray("+1") << QByteArray("\"'+1\"");
    QTest::newRow("minus") << QByteArray("-1") << QByteArray("\"'-1\"");
    QTest::newRow("at") << QByteArray("@SUM(A1)") << QByteArray("\"'@SUM(A1)\"");
    QTest::newRow("control") << QByteArray("a\x1b[31m\nb")
                             << QByteArray(
                                    "a\xef\xbf\xbd[31m\xef\xbf\xbd"
                                    "b");
  }

  /// A name in a program may be anything. A spreadsheet calculates what looks like a formula.
  void textsStayTexts() {
    QFETCH(QByteArray, text);
    QFETCH(QByteArray, cell);
    const QByteArray rows = csvOf("markers", [&](report::RunTables& tables) {
      Note note;
      note.timeNs = 1'500'000;
      note.step = 3;
      note.text = text.toStdString();
      tables.take({}, note);
    });
    QCOMPARE(rows, "1.5,3,note,,," + cell + ",mps\r\n");
  }

  /// The time on the device comes after its step, which waits for it.
  void stepsHaveTheirTimeOnTheDevice() {
    const QByteArray rows = csvOf("steps", [](report::RunTables& tables) {
      const std::vector steps{step(1), step(2), step(3)};
      EventBatch batch;
      batch.steps = steps;
      tables.take({}, batch);
      const events::DeviceSpan second(0, 7'000'000, 2);
      EventBatch later;
      later.deviceSpans = std::span(&second, 1);
      tables.take({}, later);
      const events::DeviceSpan first(0, 6'500'000, 1);
      later.deviceSpans = std::span(&first, 1);
      tables.take({}, later);
    });
    QCOMPARE(rows,
             "1,0.001,0.002,6.5,8,0,8,0.5,0,0,0,mps\r\n2,0.001,0.002,7,8,0,8,0.5,0,0,0,mps\r\n"
             "3,0.001,0.002,,8,0,8,0.5,0,0,0,mps\r\n");
  }

  /// Steps whose time on the device never comes do not gather.
  void stepsDoNotGather() {
    int rowsBeforeEnd = 0;
    constexpr std::uint32_t kSteps = 6000;
    const QByteArray rows = csvOf("steps", [&](report::RunTables& tables) {
      for (std::uint32_t number = 1; number <= kSteps; ++number) {
        const events::StepRecord each = step(number);
        EventBatch batch;
        batch.steps = std::span(&each, 1);
        tables.take({}, batch);
      }
      rowsBeforeEnd = static_cast<int>(tables.written());
    });
    QVERIFY(rowsBeforeEnd > 1000);
    QCOMPARE(rows.count('\n'), qsizetype(kSteps));
  }

  void namesAreUnique() {
    std::set<std::string> names;
    for (const report::RunTable& each : report::runTables()) {
      QVERIFY2(names.insert(each.name).second, each.name);
      QCOMPARE(report::runTable(each.name), &each);
      std::set<std::string> columns;
      for (const report::TableColumn& column : each.columns) {
        QVERIFY2(columns.insert(column.name).second, column.name);
      }
    }
    QVERIFY(!report::runTable("none"));
  }
};

HIGHWATER_TEST(TestRunTables, QCoreApplication)
#include "tst_run_tables.moc"
