#include "analysis/search.h"
#include "support/sample_run.h"
#include "support/test_program.h"
#include "support/text.h"

using namespace highwater;
using namespace highwater::analysis;
using test::contains;

namespace {

auto containing(const std::string& part) {
  return [part](const std::string& name) { return contains(name, part); };
}

/// The hits by comparing the names of each event, in any order.
std::vector<SearchHit> bruteForce(const LiveStore& store, const std::string& part) {
  std::vector<SearchHit> hits;
  const auto add = [&](const auto& e, FoundEvent kind, std::size_t index, CallSiteId site) {
    std::uint8_t places = 0;
    if (contains(store.name(e.op()), part)) places |= 1;
    if (contains(store.modulePath(e.module_id()), part)) places |= 2;
    if (contains(store.callSite(site), part)) places |= 8;
    if (places != 0) {
      hits.push_back({e.begin_ns(), static_cast<std::uint32_t>(index), kind, places});
    }
  };
  for (std::size_t i = 0; i < store.fallbacks().size(); ++i) {
    add(store.fallbacks()[i], FoundEvent::kFallback, i, store.fallbacks()[i].call_site());
  }
  for (std::size_t i = 0; i < store.syncPoints().size(); ++i) {
    add(store.syncPoints()[i], FoundEvent::kSyncPoint, i, store.syncPoints()[i].call_site());
  }
  for (std::size_t i = store.ops().firstRow; i < store.ops().endRow(); ++i) {
    add(*store.ops().at(i), FoundEvent::kOp, i, kNoId);
  }
  for (std::size_t i = 0; i < store.markers().size(); ++i) {
    if (contains(store.markerText(store.markers()[i]), part)) {
      hits.push_back(
          {store.markers()[i].time_ns(), static_cast<std::uint32_t>(i), FoundEvent::kMarker, 4});
    }
  }
  return hits;
}

auto keyOf(const SearchHit& hit) {
  return std::tuple(hit.timeNs, hit.event, hit.index, hit.places);
}

std::vector<SearchHit> sorted(std::vector<SearchHit> hits) {
  std::sort(hits.begin(), hits.end(),
            [](const auto& a, const auto& b) { return keyOf(a) < keyOf(b); });
  return hits;
}

const SearchMatch* find(const StoreSearch& search, SearchPlace place, const std::string& text,
                        FoundEvent event = FoundEvent::kOp) {
  const auto& all = search.matches();
  const auto found = std::find_if(all.begin(), all.end(), [&](const SearchMatch& match) {
    return match.place == place && match.text == text &&
           (place != SearchPlace::kOps || match.event == event);
  });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

class TestSearch : public QObject {
  Q_OBJECT

 private slots:
  void findsWhatAFullComparisonFinds_data() {
    QTest::addColumn<QString>("part");
    for (const char* part : {"embedding", "aten", "nonzero", "encoder.layers", "train.cpp", "batch",
                             "e", "Mm", "no such name"}) {
      QTest::newRow(part) << QString::fromUtf8(part);
    }
  }
  void findsWhatAFullComparisonFinds() {
    QFETCH(QString, part);
    LiveStore store;
    test::feed(test::makeSampleRun({.opsFromStep = 20}), store);
    StoreSearch search(&store);
    search.start(containing(part.toStdString()));
    search.update();
    const auto& hits = search.hits();
    QVERIFY(std::is_sorted(hits.begin(), hits.end(),
                           [](const auto& a, const auto& b) { return a.timeNs < b.timeNs; }));
    QVERIFY(sorted(hits) == sorted(bruteForce(store, part.toStdString())));
    QCOMPARE(hits.empty(), part == "no such name");
    // Each match counts the events that have its name.
    for (const SearchMatch& match : search.matches()) {
      const auto bit = 1U << static_cast<unsigned>(match.place);
      QVERIFY(contains(match.text, part.toStdString()));
      QVERIFY(match.events <= hits.size());
      QVERIFY(match.events == 0 || (match.first.places & bit) != 0);
    }
  }

  void countsByName() {
    LiveStore store;
    test::feed(test::makeSampleRun({.steps = 40, .opsFromStep = 5}), store);
    StoreSearch search(&store);
    search.start(containing("embedding_renorm_"));
    search.update();
    const auto* fallback =
        find(search, SearchPlace::kOps, "aten::embedding_renorm_", FoundEvent::kFallback);
    QVERIFY(fallback);
    QCOMPARE(fallback->events, store.fallbacks().size());
    QCOMPARE(fallback->firstStep, store.fallbacks().front().step());
    QCOMPARE(fallback->lastStep, store.fallbacks().back().step());
    QCOMPARE(fallback->first.timeNs, store.fallbacks().front().begin_ns());
    // The same op as it was recorded is a match of its own.
    const auto* op = find(search, SearchPlace::kOps, "aten::embedding_renorm_", FoundEvent::kOp);
    QVERIFY(op && op->events > 0 && op->events < fallback->events);
  }

  /// Once the store has dropped ops, the counts are those of a search of what is left.
  void droppedOpsDoNotCount() {
    const auto batchOf = [](std::size_t count, NameId op, std::int64_t fromNs) {
      test::OwnedBatch batch;
      for (std::size_t i = 0; i < count; ++i) {
        batch.ops.emplace_back(fromNs + static_cast<std::int64_t>(i) * 10, 5, -1, 0, 1, op, kNoId,
                               kNoId, test::kTrainingThread, std::uint16_t{0},
                               events::Phase::Forward, std::uint8_t{0});
      }
      return batch;
    };
    LiveStore store;
    store.apply(Definitions{{{100, "aten::wanted"}, {101, "aten::other"}}, {}, {}, {}});
    StoreSearch search(&store);
    search.start(containing("wanted"));
    constexpr std::size_t kEarly = 1000, kLate = 10, kBatch = std::size_t{1} << 18;
    store.apply(batchOf(kEarly, 100, 0).view());
    std::int64_t ns = 100'000;
    while (store.ops().endRow() + kLate < OpColumns::kMostOps) {
      const std::size_t count =
          std::min(kBatch, OpColumns::kMostOps - kLate - store.ops().endRow());
      store.apply(batchOf(count, 101, ns).view());
      ns += static_cast<std::int64_t>(count) * 10;
    }
    const std::int64_t lateNs = ns;
    store.apply(batchOf(kLate, 100, lateNs).view());
    QCOMPARE(store.ops().firstRow, std::size_t{0});
    search.update();
    const auto wanted = [&] { return find(search, SearchPlace::kOps, "aten::wanted"); };
    QCOMPARE(wanted()->events, std::uint64_t{kEarly + kLate});
    QCOMPARE(wanted()->first.timeNs, std::int64_t{0});
    store.apply(batchOf(1, 101, lateNs + 1'000'000).view());
    QVERIFY(store.ops().firstRow > kEarly);
    QVERIFY(search.update());
    QCOMPARE(wanted()->events, std::uint64_t{kLate});
    QCOMPARE(wanted()->first.timeNs, lateNs);
    QCOMPARE(search.hits().size(), kLate);
    // Once all are dropped, nothing is left to count; an op that comes again counts from there.
    ns = lateNs + 2'000'000;
    for (std::size_t sent = 0; sent < OpColumns::kMostOps; sent += kBatch) {
      store.apply(batchOf(kBatch, 101, ns).view());
      ns += std::int64_t{kBatch} * 10;
    }
    search.update();
    QCOMPARE(wanted()->hits(), std::uint64_t{0});
    store.apply(batchOf(2, 100, ns).view());
    search.update();
    QCOMPARE(wanted()->events, std::uint64_t{2});
    QCOMPARE(wanted()->first.timeNs, ns);
  }

  void findsNamesWithoutEvents() {
    LiveStore store;
    test::feed(test::makeSampleRun({.steps = 3}), store);
    Definitions more;
    more.modules.push_back({500, test::kEncoder, "unused"});
    more.callSites.push_back({600, kNoId, "never", "idle.py", 7});
    store.apply(more);
    StoreSearch search(&store);
    search.start(containing("unused"));
    search.update();
    const auto* module = find(search, SearchPlace::kModules, "encoder.unused");
    QVERIFY(module);
    QCOMPARE(module->events, 0U);
    QCOMPARE(module->hits(), 1U);
    QVERIFY(search.hits().empty());
    search.start(containing("idle.py"));
    search.update();
    QVERIFY(find(search, SearchPlace::kCallSites, "idle.py:7 (never)"));
  }

  /// What a growing run adds is found as by a search of the whole run.
  void followsARun() {
    LiveStore store;
    StoreSearch search(&store);
    search.start(containing("e"));
    search.update();
    int updates = 0;
    test::forEachMessage(test::makeSampleRun({.opsFromStep = 20}), [&](const Message& message) {
      store.apply(message);
      if (++updates % 3 == 0) search.update();
    });
    // A note about an earlier time.
    store.apply(Note{1'000'000, 0, "before the first step", 1});
    QVERIFY(search.update());
    QVERIFY(!search.update());
    QVERIFY(sorted(search.hits()) == sorted(bruteForce(store, "e")));
    StoreSearch whole(&store);
    whole.start(containing("e"));
    whole.update();
    const auto eventsByName = [](const StoreSearch& of) {
      std::map<std::tuple<SearchPlace, FoundEvent, std::string>, std::uint64_t> counts;
      for (const auto& match : of.matches()) {
        const auto event = match.place == SearchPlace::kOps ? match.event : FoundEvent::kOp;
        counts[{match.place, event, match.text}] += match.events;
      }
      return counts;
    };
    QVERIFY(eventsByName(search) == eventsByName(whole));
    QCOMPARE(search.hits().front().timeNs, whole.hits().front().timeNs);
  }

  void anEmptySearchFindsNothing() {
    LiveStore store;
    test::feed(test::makeSampleRun({.steps = 5}), store);
    StoreSearch search(&store);
    QVERIFY(!search.update());
    search.start(containing("aten"));
    QVERIFY(search.update());
    search.start({});
    QVERIFY(!search.update());
    QVERIFY(search.hits().empty() && search.matches().empty());
  }
};

HIGHWATER_TEST(TestSearch, QCoreApplication)
#include "tst_search.moc"
