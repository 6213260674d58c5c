#include "report/text_wrap.h"
#include "support/test_program.h"

using namespace highwater::report;

class TestTextWrap : public QObject {
  Q_OBJECT

 private slots:
  void hangs() {
    QCOMPARE(hangingText("  ", "a b", 2, kUnlimited), std::string("  a b\n"));
    QCOMPARE(hangingText("", "", 2, 30), std::string("\n"));
    // 26 are left behind "To do: " and 28 in the other line.
    QCOMPARE(hangingText("To do: ", "read the loss less often, every tenth step", 5, 33),
             std::string("To do: read the loss less often,\n     every tenth step\n"));
  }

  void leavesALongBeginningAlone() {
    QCOMPARE(hangingText("a long beginning that takes the line ", "and then text", 4, 40),
             std::string("a long beginning that takes the line and\n    then text\n"));
    QCOMPARE(hangingText("a beginning that is longer than the line ", "and then", 4, 30),
             std::string("a beginning that is longer than the line \n    and then\n"));
  }

  void noLineIsTooLong() {
    const std::string text =
        "of 12 steps each waits 27.4 ms for the device, at train.py:12 of "
        "a/path/that/is/longer/than/any/line/of/this/test/can/be and back";
    for (std::size_t width = 24; width < 90; ++width) {
      for (const std::string first : {"", "  x ", "Recommended  32 × 64: "}) {
        const QString all = QString::fromStdString(hangingText(first, text, 4, width));
        QString joined;
        for (const QString& line : all.split('\n')) {
          QVERIFY2(line.size() <= static_cast<qsizetype>(width), qPrintable(line));
          joined += line.simplified();
        }
        const QString whole = QString::fromStdString(first + text);
        QCOMPARE(joined.remove(' '), QString(whole).remove(' '));
      }
    }
  }
};

HIGHWATER_TEST(TestTextWrap, QCoreApplication)
#include "tst_text_wrap.moc"
