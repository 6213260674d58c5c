#include "core/units.h"
#include "support/test_program.h"

using namespace highwater;

class TestUnits : public QObject {
  Q_OBJECT

 private slots:
  void bytes_data() {
    QTest::addColumn<quint64>("bytes");
    QTest::addColumn<QString>("text");
    QTest::newRow("zero") << quint64{0} << "0 B";
    QTest::newRow("below a KiB") << quint64{1023} << "1023 B";
    QTest::newRow("a KiB") << quint64{1024} << "1.0 KiB";
    QTest::newRow("the tensor of 32 x 128 x 768 floats") << quint64{12 * kMiB} << "12.0 MiB";
    QTest::newRow("GiB has two decimals") << quint64{5433000000} << "5.06 GiB";
    QTest::newRow("the largest") << std::numeric_limits<quint64>::max() << "17179869184.00 GiB";
  }
  void bytes() {
    QFETCH(quint64, bytes);
    QFETCH(QString, text);
    QCOMPARE(QString::fromStdString(formatBytes(bytes)), text);
  }

  void durations_data() {
    QTest::addColumn<qint64>("ns");
    QTest::addColumn<QString>("text");
    QTest::newRow("microseconds") << qint64{421'000} << "0.42 ms";
    QTest::newRow("rounds into the next form") << qint64{9'996'000} << "10.0 ms";
    QTest::newRow("tens") << qint64{33'600'000} << "33.6 ms";
    QTest::newRow("hundreds") << qint64{201'400'000} << "201 ms";
    QTest::newRow("seconds") << qint64{2'400'000'000} << "2.40 s";
  }
  void durations() {
    QFETCH(qint64, ns);
    QFETCH(QString, text);
    QCOMPARE(QString::fromStdString(formatDuration(ns)), text);
  }

  void rates() {
    QCOMPARE(formatRate(843.2), std::string("843"));
    QCOMPARE(formatRate(20'540), std::string("20.5k"));
    QCOMPARE(formatRate(1'200'000), std::string("1.20M"));
  }

  void runTimes() {
    QCOMPARE(formatRunTime(24'127'000'000), std::string("0:24.127"));
    QCOMPARE(formatRunTime(24'127'000'000, 1), std::string("0:24.1"));
    QCOMPARE(formatRunTime(3'744'000'000'000, 0), std::string("1:02:24"));
    QCOMPARE(formatRunTime(59'999'600'000, 3), std::string("1:00.000"));
    QCOMPARE(formatRunTime(-1'500'000'000, 1), std::string("-0:01.5"));
  }

  void parsesSizes() {
    QCOMPARE(parseBytes("4096", "x").value(), 4096u);
    QCOMPARE(parseBytes("64 MiB", "x").value(), 64 * kMiB);
    QCOMPARE(parseBytes("2.5GiB", "x").value(), 5 * kGiB / 2);
    QCOMPARE(parseBytes("512B", "x").value(), 512u);
    QCOMPARE(parseBytes("1e3 KiB ", "x").value(), 1000 * kKiB);
  }

  void readsLeadingNumbers() {
    const auto check = [](std::string_view text, double value, std::string_view rest) {
      const auto number = parseNumber(text);
      return number && number->value == value && number->rest == rest;
    };
    QVERIFY(check("1.5 GiB", 1.5, " GiB"));
    QVERIFY(check("-3", -3, ""));
    QVERIFY(check(".5e1s:", 5, "s:"));
    QVERIFY(check("12e", 12, "e"));
    QVERIFY(check("4096B", 4096, "B"));
    QVERIFY(check("0x10", 0, "x10"));
    for (const char* text : {"", "-", ".", "+1", "e5", "nan", "inf", " 1", "1e999", ",5"}) {
      QVERIFY2(!parseNumber(text), text);
    }
  }

  void formatsDecimals() {
    QCOMPARE(formatDecimals(1.005, 1), std::string("1.0"));
    QCOMPARE(formatDecimals(-0.5, 2), std::string("-0.50"));
    QCOMPARE(formatDecimals(1e300, 0).size(), std::size_t{301});
    QCOMPARE(formatMs(9.996), std::string("10.0 ms"));
    QCOMPARE(toMs(1'500'000), 1.5);
  }

  void refusesWhatIsNoSize_data() {
    QTest::addColumn<QByteArray>("text");
    for (const char* text : {"", "abc", "-1", "1e400", "nan", "12 MB", "9e30", "7 GiB extra"}) {
      QTest::newRow(text) << QByteArray(text);
    }
  }
  void refusesWhatIsNoSize() {
    QFETCH(QByteArray, text);
    const auto result = parseBytes(text.toStdString(), "HIGHWATER_SIM_RECOMMENDED_MAX");
    QVERIFY(!result);
    QCOMPARE(result.error().code, ErrorCode::kUsage);
    QVERIFY(result.error().message.starts_with("HIGHWATER_SIM_RECOMMENDED_MAX is"));
  }
};

HIGHWATER_TEST(TestUnits, QCoreApplication)
#include "tst_units.moc"
