#include <sstream>

#include "support/test_program.h"
#include "worker/data/batches.h"
#include "worker/data/tokenizer.h"

using namespace highwater::worker;
using Tokens = std::vector<std::string>;

class TestTokenizer : public QObject {
  Q_OBJECT
 private slots:
  void splitsAsDevelopersWrite() {
    QCOMPARE(splitTokens("Fix the crash!"), (Tokens{"fix", "the", "crash", "!"}));
    QCOMPARE(splitTokens("read_csvFile HTTPServer"),
             (Tokens{"read", "csv", "file", "http", "server"}));
    QCOMPARE(splitTokens("`--depth` 5.10"), (Tokens{"`", "-", "-", "depth", "`", "5", ".", "10"}));
    QCOMPARE(splitTokens("utf8"), (Tokens{"utf", "8"}));
    QCOMPARE(splitTokens("naïve \xE2\x80\x93 Ünicode").size(), std::size_t{3});
    QCOMPARE(splitTokens(" \t\n_ ").size(), std::size_t{0});
  }

  void ranksByFrequency() {
    const auto vocabulary = Vocabulary::build({"b a b", "c b a"});
    QCOMPARE(vocabulary.size(), std::size_t{5});
    QCOMPARE(vocabulary.encode("b a c d"), (std::vector<TokenId>{2, 3, 4, kUnknownToken}));
  }

  void capsItsSize() {
    const auto vocabulary = Vocabulary::build({"x x x y y z"}, 2);
    QCOMPARE(vocabulary.size(), std::size_t{4});
    QCOMPARE(vocabulary.encode("x y z"), (std::vector<TokenId>{2, 3, kUnknownToken}));
  }

  void padsAndCuts() {
    EncodedTexts texts;
    texts.ids = {{5}, {6, 7, 8, 9}};
    texts.labels = {0, 1};
    const HostBatch batch = assembleBatch(texts, {1, 0}, 3);
    QCOMPARE(batch.batchSize, std::int64_t{2});
    QCOMPARE(batch.ids, (std::vector<TokenId>{6, 7, 8, 5, kPadToken, kPadToken}));
    QCOMPARE(batch.labels, (std::vector<std::int64_t>{1, 0}));
  }

  void coversEveryRowOnceAnEpoch() {
    RowOrder order(10, 7);
    std::vector<std::size_t> all;
    for (int i = 0; i < 10; ++i) {
      for (const std::size_t row : order.next(4)) all.push_back(row);
    }
    QCOMPARE(all.size(), std::size_t{40});
    for (std::size_t epoch = 0; epoch < 4; ++epoch) {
      std::vector<std::size_t> rows(all.begin() + static_cast<std::ptrdiff_t>(epoch * 10),
                                    all.begin() + static_cast<std::ptrdiff_t>(epoch * 10 + 10));
      std::sort(rows.begin(), rows.end());
      for (std::size_t i = 0; i < 10; ++i) QCOMPARE(rows[i], i);
    }
    QCOMPARE(RowOrder(10, 7).next(10), std::vector<std::size_t>(all.begin(), all.begin() + 10));
    QVERIFY(RowOrder(10, 8).next(10) != std::vector<std::size_t>(all.begin(), all.begin() + 10));
  }

  void goesOnWithTheRowsThatWereSaved() {
    for (const std::size_t taken : {0, 7, 10, 33}) {
      RowOrder order(10, 7);
      (void)order.next(taken);
      const auto dropped = order.next(3);
      order.putBack(dropped);
      std::stringstream text;
      order.save(text);
      text << "and more";
      RowOrder continued(10, 99);
      continued.load(text);
      QVERIFY(text.good());
      QCOMPARE(continued.next(3), dropped);
      (void)order.next(3);
      QCOMPARE(continued.next(50), order.next(50));
    }
    // Of another number of rows, cut off, and no such text: nothing changes.
    std::stringstream saved;
    RowOrder(10, 7).save(saved);
    const std::string whole = saved.str();
    for (const std::string& wrong :
         {whole, whole.substr(0, whole.size() / 2), std::string("rows")}) {
      const std::size_t rows = wrong == whole ? 11 : 10;
      std::stringstream text(wrong);
      RowOrder order(rows, 3);
      order.load(text);
      QVERIFY(text.fail());
      QCOMPARE(order.next(rows), RowOrder(rows, 3).next(rows));
    }
  }
};

HIGHWATER_TEST(TestTokenizer, QCoreApplication)
#include "tst_tokenizer.moc"
