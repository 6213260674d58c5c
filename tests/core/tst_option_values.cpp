#include "core/option_values.h"
#include "support/test_program.h"

using namespace highwater;

class TestOptionValues : public QObject {
  Q_OBJECT

 private slots:
  void refusesEveryWrongNumberInOneForm_data() {
    QTest::addColumn<QByteArray>("text");
    for (const char* text :
         {"0", "-1", "99999999", "99999999999999999999999", "abc", "1.5", "1e3", "+3", " 3", "3 ",
          "", "0x10", "nan", "inf", "3,5", "\xd9\xa3", "3\n"}) {
      QTest::newRow(text) << QByteArray(text);
    }
  }
  void refusesEveryWrongNumberInOneForm() {
    QFETCH(QByteArray, text);
    const auto read = parseWhole<std::uint32_t>("--batch", text.toStdString(), 1, 4096);
    QVERIFY(!read);
    QVERIFY(read.error().code == ErrorCode::kUsage);
    QCOMPARE(QByteArray::fromStdString(read.error().message),
             "--batch is \"" + text + "\"; give a whole number from 1 to 4096");
  }
  void readsNumbers() {
    QCOMPARE(*parseWhole<std::uint32_t>("n", "1", 1, 4096), 1u);
    QCOMPARE(*parseWhole<std::uint32_t>("n", "4096", 1, 4096), 4096u);
    QCOMPARE(*parseWhole<std::uint32_t>("n", "007", 1, 4096), 7u);
  }

  void doesNotRepeatAWholeFile() {
    std::string huge(199, 'x');
    huge += "\xc3\xa4";
    huge.append(100'000, 'x');
    const std::string said = refusedValue("--seq", huge, "a number").message;
    QVERIFY(said.size() < 300);
    QVERIFY2(said.ends_with("xxx…\"; give a number"), said.c_str());
  }

  void refusesOtherChoices() {
    constexpr std::string_view kChoices[] = {"off", "monitor", "ops"};
    QVERIFY(checkChoice("--level", "ops", kChoices));
    for (const char* wrong : {"", "OPS", "op", "ops "}) {
      const auto checked = checkChoice("--level", wrong, kChoices);
      QVERIFY(!checked);
      QCOMPARE(checked.error().message,
               std::string("--level is \"") + wrong + "\"; give off, monitor or ops");
    }
  }

  void countsEdits() {
    QCOMPARE(editDistance("queue", "queue"), 0u);
    QCOMPARE(editDistance("kitten", "sitting"), 3u);
    QCOMPARE(editDistance("", "abc"), 3u);
    QCOMPARE(editDistance("abc", ""), 3u);
    QCOMPARE(editDistance("gleu", "gelu"), 1u);
    QCOMPARE(editDistance("abcd", "badc"), 2u);
  }

  void findsTheNearestWords() {
    const std::string known[] = {"aten::embedding", "aten::embedding_renorm",
                                 "aten::gelu",      "aten::embedding_renorm_",
                                 "aten::gelu",      "aten::gelu_"};
    using Words = std::vector<std::string>;
    QCOMPARE(nearestWords("aten::embeding_renorm_", known),
             (Words{"aten::embedding_renorm_", "aten::embedding_renorm"}));
    QCOMPARE(nearestWords("aten::embeding_renorm_", known, 1), Words{"aten::embedding_renorm_"});
    QCOMPARE(nearestWords("aten::gleu", known), (Words{"aten::gelu", "aten::gelu_"}));
    QCOMPARE(nearestWords("something else", known), Words{});
    QCOMPARE(nearestWords("", known), Words{});
  }
};

HIGHWATER_TEST(TestOptionValues, QCoreApplication)
#include "tst_option_values.moc"
