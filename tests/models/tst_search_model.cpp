#include "model_test.h"
#include "models/search_model.h"
#include "support/sample_run.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::models;
using analysis::FoundEvent;
using analysis::LiveStore;
using Place = SearchModel::Place;
using namespace highwater::test;

namespace {

struct Bench {
  LiveStore store;
  LogModel log;
  SearchModel search{&store, &log};
  QAbstractItemModelTester tester{&search, kFatal};

  Bench() {
    test::feed(test::makeSampleRun({.steps = 40, .opsFromStep = 5}), store);
    log.append(QStringLiteral("Warning: Embedding is slow"), LogModel::Kind::kPrinted);
    log.append(QStringLiteral("done"), LogModel::Kind::kPrinted);
    log.refresh(store);
  }
  [[nodiscard]] int rowOf(const QString& match, const QString& foundIn) const {
    for (int row = 0; row < search.rowCount(); ++row) {
      if (cell(search, row, SearchModel::kMatch) == match &&
          cell(search, row, SearchModel::kFoundIn).startsWith(foundIn)) {
        return row;
      }
    }
    return -1;
  }
};

}  // namespace

class TestSearchModel : public QObject {
  Q_OBJECT

 private slots:
  void listsMatchesWhateverTheirCase() {
    Bench bench;
    bench.search.setText(QStringLiteral("EMBEDDING"));
    const int fallback = bench.rowOf("embedding_renorm_", "fallback, ");
    QVERIFY(fallback >= 0);
    QCOMPARE(cell(bench.search, fallback, SearchModel::kHits),
             QString::number(bench.store.fallbacks().size()));
    QCOMPARE(cell(bench.search, fallback, SearchModel::kWhere), QStringLiteral("steps 4–40"));
    QCOMPARE(bench.search.index(fallback, 0).data(SearchModel::kFoundAtRole).toInt(), 0);
    QVERIFY(bench.rowOf("embedding", "module") >= 0);
    const int line = bench.rowOf("Warning: Embedding is slow", "log");
    QVERIFY(line >= 0);
    QCOMPARE(bench.search.index(line, 0).data(SearchModel::kFoundAtRole).toInt(), 9);
    QCOMPARE(bench.search.logRowOf(line), 0);
    QVERIFY(!bench.search.firstOf(line));
    QCOMPARE(bench.search.count(Place::kLog), 1U);
    QCOMPARE(bench.search.logRowOf(fallback), -1);
  }

  /// As the window's thread searches millions of events.
  void aSearchInPartsFindsTheSame() {
    Bench whole, parts;
    parts.search.setMostAtOnce(7);
    for (const char* text : {"a", "renorm", "linear"}) {
      whole.search.setText(QString::fromLatin1(text));
      parts.search.setText(QString::fromLatin1(text));
      QVERIFY(!whole.search.hits().empty());
      QTRY_COMPARE(parts.search.hits().size(), whole.search.hits().size());
      QVERIFY(std::is_sorted(parts.search.hits().begin(), parts.search.hits().end(),
                             [](const auto& a, const auto& b) { return a.timeNs < b.timeNs; }));
      QTRY_COMPARE(parts.search.rowHits(), whole.search.rowHits());
      QCOMPARE(parts.search.rowCount(), whole.search.rowCount());
    }
    // Another text before the first was found everywhere.
    parts.search.setText(QStringLiteral("a"));
    parts.search.setText(QStringLiteral("nonzero"));
    whole.search.setText(QStringLiteral("nonzero"));
    QTRY_COMPARE(parts.search.hits().size(), whole.search.hits().size());
    parts.search.setText({});
    QCoreApplication::processEvents();
    QVERIFY(parts.search.hits().empty());
  }

  void aNamespaceIsShownWhereItWasFound() {
    Bench bench;
    bench.search.setText(QStringLiteral("aten::non"));
    QCOMPARE(cell(bench.search, 0, SearchModel::kMatch), QStringLiteral("aten::nonzero"));
    bench.search.setText(QStringLiteral("nonz"));
    QCOMPARE(cell(bench.search, 0, SearchModel::kMatch), QStringLiteral("nonzero"));
  }

  void aMarkerIsFoundOnce() {
    Bench bench;
    bench.search.setText(QStringLiteral("batch 16"));
    QCOMPARE(bench.search.rowCount(), 1);  // not in the log, which has it too
    QCOMPARE(bench.search.count(Place::kMarkers), 1U);
    QCOMPARE(bench.search.count(Place::kLog), 0U);
    QCOMPARE(cell(bench.search, 0, SearchModel::kWhere), QStringLiteral("step 30"));
  }

  void placesCanBeLeftOut() {
    Bench bench;
    bench.search.setText(QStringLiteral("embedding"));
    const int rows = bench.search.rowCount();
    const std::size_t hits = bench.search.hits().size();
    const std::uint64_t ops = bench.search.count(Place::kOps);
    bench.search.setShown(Place::kModules, false);
    // The events of the op are those of the module.
    QCOMPARE(bench.search.hits().size(), ops);
    QVERIFY(bench.rowOf("embedding", "module") < 0);
    bench.search.setShown(Place::kOps, false);
    QVERIFY(bench.search.hits().empty());
    QCOMPARE(bench.search.count(Place::kOps), ops);  // still counted
    bench.search.setShown(Place::kOps, true);
    bench.search.setShown(Place::kModules, true);
    QCOMPARE(bench.search.hits().size(), hits);
    QCOMPARE(bench.search.rowCount(), rows);
  }

  void stepsThroughAllHitsAndAround() {
    Bench bench;
    bench.search.setText(QStringLiteral("nonzero"));
    const auto hits = bench.search.hits();
    QVERIFY(hits.size() > 2);
    QVERIFY(!bench.search.current());
    QCOMPARE(*bench.search.step(1, 0), hits.front());
    for (std::size_t i = 1; i < hits.size(); ++i) {
      QCOMPARE(*bench.search.step(1, 0), hits[i]);
      QCOMPARE(*bench.search.current(), i);
    }
    QCOMPARE(*bench.search.step(1, 0), hits.front());
    QCOMPARE(*bench.search.step(-1, 0), hits.back());
    QVERIFY(bench.search.currentRow() >= 0);
    bench.search.setText(QStringLiteral("no such name"));
    QVERIFY(!bench.search.step(1, 0) && !bench.search.step(-1, 0));
  }

  void withoutACurrentHitThePreviousIsBeforeTheTime() {
    Bench bench;
    bench.search.setText(QStringLiteral("nonzero"));
    const auto hits = bench.search.hits();
    // An op and its wait begin at one time.
    QCOMPARE(bench.search.step(-1, hits[2].timeNs + 1)->timeNs, hits[2].timeNs);
    bench.search.setCurrent({});
    QCOMPARE(bench.search.step(1, hits[2].timeNs)->timeNs, hits[2].timeNs);
    bench.search.setCurrent({});
    QCOMPARE(*bench.search.step(-1, 0), hits.back());
    bench.search.setCurrent({});
    QCOMPARE(*bench.search.step(1, hits.back().timeNs + 1), hits.front());
  }

  void anEventThatIsNoHitClearsTheCurrentOne() {
    Bench bench;
    bench.search.setText(QStringLiteral("nonzero"));
    bench.search.setCurrent(bench.search.hits()[1]);
    QCOMPARE(*bench.search.current(), 1U);
    const SearchModel::Hit other{bench.store.fallbacks()[0].begin_ns(), 0, FoundEvent::kFallback,
                                 0};
    bench.search.setCurrent(other);
    QVERIFY(!bench.search.current());
  }

  /// Rows keep their places, and the current hit stays, while a run adds hits.
  void followsARun() {
    LiveStore store;
    LogModel log;
    SearchModel search(&store, &log);
    const QAbstractItemModelTester tester(&search, kFatal);
    search.setText(QStringLiteral("renorm"));
    QCOMPARE(search.rowCount(), 0);
    std::vector<std::size_t> seen;
    test::forEachMessage(test::makeSampleRun({.steps = 40}), [&](const Message& message) {
      store.apply(message);
      search.refresh();
      if (search.hits().size() == 1 && !search.current()) search.setCurrent(search.hits()[0]);
      seen.push_back(search.hits().size());
    });
    QVERIFY(std::is_sorted(seen.begin(), seen.end()));
    QCOMPARE(seen.back(), store.fallbacks().size());
    QCOMPARE(*search.current(), 0U);
    QCOMPARE(search.rowCount(), 1);
    log.append(QStringLiteral("renorm is slow"), LogModel::Kind::kPrinted);
    search.refresh();
    QCOMPARE(search.rowCount(), 2);
    store.clear();
    search.startOver();
    QCOMPARE(search.hits().size(), 0U);
    QVERIFY(!search.current());
  }
};

HIGHWATER_TEST(TestSearchModel, QCoreApplication)
#include "tst_search_model.moc"
