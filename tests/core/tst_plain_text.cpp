#include <string_view>

#include "core/plain_text.h"
#include "support/test_program.h"

using namespace highwater;

class TestPlainText : public QObject {
  Q_OBJECT

 private slots:
  void replacesWhatATerminalWouldObey_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QByteArray>("plain");
    const QByteArray replaced = "\xef\xbf\xbd";
    QTest::newRow("words stay") << QByteArray("aten::gelu, schön → 早い 🙂")
                                << QByteArray("aten::gelu, schön → 早い 🙂");
    QTest::newRow("tab") << QByteArray("a\tb") << QByteArray("a b");
    QTest::newRow("escape sequence") << QByteArray("\x1b[2J") << replaced + "[2J";
    QTest::newRow("new line") << QByteArray("a\nb\r") << "a" + replaced + "b" + replaced;
    QTest::newRow("C1 control") << QByteArray(
                                       "\xc2\x9b"
                                       "31m")
                                << replaced + "31m";
    QTest::newRow("right-to-left override") << QByteArray(
                                                   "a\xe2\x80\xae"
                                                   "b")
                                            << "a" + replaced + "b";
    QTest::newRow("line separator") << QByteArray("\xe2\x80\xa8") << replaced;
    QTest::newRow("tag character") << QByteArray("\xf3\xa0\x81\x81") << replaced;
    QTest::newRow("byte that starts nothing") << QByteArray("a\xff") << "a" + replaced;
    QTest::newRow("overlong slash") << QByteArray("\xc0\xaf") << replaced + replaced;
    QTest::newRow("cut short") << QByteArray("a\xe2\x80") << "a" + replaced + replaced;
    QTest::newRow("surrogate") << QByteArray("\xed\xa0\x80") << replaced + replaced + replaced;
  }
  void replacesWhatATerminalWouldObey() {
    QFETCH(QByteArray, text);
    QFETCH(QByteArray, plain);
    QCOMPARE(QByteArray::fromStdString(plainText(text.toStdString())), plain);
  }

  void cutsNoCharacter() {
    const std::string text = "aé€🙂";  // of 1, 2, 3 and 4 bytes
    const std::array<std::size_t, 11> kept = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
    for (std::size_t most = 0; most < kept.size(); ++most) {
      QCOMPARE(cutText(text, most).size(), kept[most]);
    }
    QCOMPARE(cutText(text, 100), std::string_view(text));
    // Bytes that are no UTF-8 end somewhere too.
    QVERIFY(cutText(std::string(10, '\x80'), 4).size() <= 4);
  }
};

HIGHWATER_TEST(TestPlainText, QCoreApplication)
#include "tst_plain_text.moc"
