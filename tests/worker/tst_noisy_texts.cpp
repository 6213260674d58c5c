#include <QtTest>

#include "support/test_program.h"
#include "worker/data/noisy_texts.h"
#include "worker/data/tokenizer.h"

using namespace highwater::worker;

class TestNoisyTexts : public QObject {
  Q_OBJECT

 private slots:
  void repairsToTheNearestWord() {
    const NoisyTexts texts({"please describe the queue", "the readme is wrong"}, 1);
    QCOMPARE(texts.nearest("qeue"), std::string("queue"));
    QCOMPARE(texts.nearest("wrongg"), std::string("wrong"));
  }

  void givesKnownWordsOnlyAndAsMany() {
    const std::vector<std::string> all = {"the mock of the lock or the dock",
                                          "the example in the readme is wrong"};
    NoisyTexts texts(all, 7);
    const Vocabulary vocabulary = Vocabulary::build(all);
    bool changed = false;
    for (int i = 0; i < 50; ++i) {
      const std::string noisy = texts.next(all[0]);
      const auto ids = vocabulary.encode(noisy);
      QCOMPARE(ids.size(), vocabulary.encode(all[0]).size());
      for (const TokenId id : ids) QVERIFY(id != kUnknownToken);
      changed = changed || noisy != all[0];
    }
    QVERIFY(changed);
  }

  void isTheSameForTheSameSeed() {
    const std::vector<std::string> all = {"please describe the layout of the queue"};
    NoisyTexts a(all, 3), b(all, 3);
    for (int i = 0; i < 10; ++i) QCOMPARE(a.next(all[0]), b.next(all[0]));
  }
};

HIGHWATER_TEST(TestNoisyTexts, QCoreApplication)
#include "tst_noisy_texts.moc"
