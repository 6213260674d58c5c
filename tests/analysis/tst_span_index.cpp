#include "analysis/span_index.h"
#include "support/test_program.h"

using namespace highwater::analysis;

namespace {

struct Lane {
  SpanIndex index;
  std::vector<Span> spans;  ///< sorted by begin
};

/// Spans that do not overlap, appended almost in order.
Lane randomLane(unsigned seed, int count, std::int64_t longest) {
  std::mt19937 random(seed);
  Lane lane;
  std::int64_t ns = 1000;
  for (int i = 0; i < count; ++i) {
    ns += static_cast<std::int64_t>(random() % 3 == 0 ? 0
                                                      : random() % static_cast<unsigned>(longest));
    const auto length = static_cast<std::int64_t>(random() % static_cast<unsigned>(longest));
    lane.spans.push_back(
        {ns, ns + length, static_cast<std::uint32_t>(i), static_cast<std::uint8_t>(random() % 6)});
    ns += std::max<std::int64_t>(length, 1);
  }
  std::vector<Span> arrival = lane.spans;
  for (std::size_t i = 0; i + 4 < arrival.size(); i += 3) {
    std::swap(arrival[i], arrival[i + random() % 4]);
  }
  for (const Span& span : arrival) lane.index.append(span);
  return lane;
}

std::vector<VisibleSpan> visible(const SpanIndex& index, std::int64_t begin, std::int64_t end,
                                 double nsPerPixel) {
  std::vector<VisibleSpan> result;
  index.visible(begin, end, nsPerPixel, [&](const VisibleSpan& v) { result.push_back(v); });
  return result;
}

bool touches(const Span& span, std::int64_t begin, std::int64_t end) {
  const bool reachesIn =
      span.endNs > begin || (span.beginNs == span.endNs && span.beginNs == begin);
  return span.beginNs < end && reachesIn;
}

}  // namespace

class TestSpanIndex : public QObject {
  Q_OBJECT

 private slots:
  void emptyLane() {
    const SpanIndex index;
    QVERIFY(index.empty());
    QVERIFY(visible(index, 0, 100, 1).empty());
    QVERIFY(!index.at(5, 100));
    QVERIFY(!index.after(0));
    QVERIFY(!index.before(0));
    QVERIFY(index.touching(0, 100) == std::make_pair(std::size_t{0}, std::size_t{0}));
  }

  void sumsAgreeWithBruteForce() {
    const Lane lane = randomLane(11, 300, 40);
    QCOMPARE(lane.index.summedNs(0, 1), std::int64_t{0});
    for (std::int64_t begin = 900; begin < lane.spans.back().endNs; begin += 97) {
      for (const std::int64_t length : {0, 1, 60, 5000}) {
        std::int64_t expected = 0;
        for (const Span& span : lane.spans) {
          const bool begins = span.beginNs >= begin && span.beginNs < begin + length;
          expected += begins ? span.endNs - span.beginNs : 0;
        }
        QCOMPARE(lane.index.summedNs(begin, begin + length), expected);
      }
    }
  }

  void forgetsItsFirstSpans() {
    SpanIndex lane;
    // The first span contains the next two: its reach must be dropped with it.
    for (const Span& span :
         {Span{0, 100, 0, 0}, Span{10, 20, 1, 0}, Span{30, 40, 2, 0}, Span{200, 210, 3, 0}}) {
      lane.append(span);
    }
    QVERIFY(lane.at(90, 0));
    lane.eraseIf([](const Span& span) { return span.payload == 0; });
    QCOMPARE(lane.size(), std::size_t{3});
    QVERIFY(!lane.at(90, 0));
    QCOMPARE(lane.summedNs(0, 1000), std::int64_t{30});
    lane.append({300, 310, 4, 0});
    QCOMPARE(lane.touching(205, 305), (std::pair<std::size_t, std::size_t>(2, 4)));
    lane.eraseIf([](const Span&) { return true; });
    QVERIFY(lane.empty());
    lane.append({5, 6, 5, 0});
    QCOMPARE(lane.firstFrom(0), std::size_t{0});
    QCOMPARE(lane.firstFrom(6), std::size_t{1});
  }

  void keepsOrder() {
    const Lane lane = randomLane(1, 2000, 50);
    QCOMPARE(lane.index.size(), lane.spans.size());
    for (std::size_t i = 0; i < lane.spans.size(); ++i) {
      QCOMPARE(lane.index[i].payload, lane.spans[i].payload);
    }
  }

  void touchingAgreesWithBruteForce() {
    const Lane lane = randomLane(2, 500, 40);
    std::mt19937 random(3);
    const std::int64_t limit = lane.spans.back().endNs + 100;
    for (int round = 0; round < 2000; ++round) {
      const auto begin = static_cast<std::int64_t>(random() % static_cast<unsigned>(limit));
      const std::int64_t end = begin + 1 + static_cast<std::int64_t>(random() % 300);
      const auto [first, last] = lane.index.touching(begin, end);
      bool same = true;
      for (std::size_t i = 0; i < lane.spans.size(); ++i) {
        const bool in = i >= first && i < last;
        same = same && in == touches(lane.spans[i], begin, end);
      }
      QVERIFY2(same, qPrintable(QString("[%1, %2)").arg(begin).arg(end)));
    }
  }

  void touchingFindsTheOuterOfNestedSpans() {
    SpanIndex index;
    index.append({0, 1000, 0, 0});
    index.append({100, 200, 1, 0});
    index.append({300, 310, 2, 0});
    index.append({2000, 2100, 3, 0});
    const auto [first, last] = index.touching(500, 600);
    QCOMPARE(first, 0u);
    QVERIFY(last >= 1 && last <= 3);
    QVERIFY(index.at(500, 0) == std::optional<std::size_t>(0));
    QVERIFY(index.at(150, 0) == std::optional<std::size_t>(1));
    const auto [firstLate, lastLate] = index.touching(1500, 3000);
    QCOMPARE(firstLate, 3u);
    QCOMPARE(lastLate, 4u);
  }

  void neighboursAgreeWithBruteForce() {
    const Lane lane = randomLane(4, 300, 30);
    for (std::int64_t ns = 0; ns < lane.spans.back().endNs + 10; ns += 7) {
      std::optional<std::size_t> after;
      std::optional<std::size_t> before;
      for (std::size_t i = 0; i < lane.spans.size(); ++i) {
        if (!after && lane.spans[i].beginNs > ns) after = i;
        if (lane.spans[i].beginNs < ns) before = i;
      }
      QVERIFY(lane.index.after(ns) == after);
      QVERIFY(lane.index.before(ns) == before);
    }
  }

  void atFindsTheSpanOrTheNearest() {
    SpanIndex index;
    index.append({100, 200, 0, 0});
    index.append({300, 400, 1, 0});
    QVERIFY(index.at(100, 0) == std::optional<std::size_t>(0));
    QVERIFY(index.at(199, 0) == std::optional<std::size_t>(0));
    QVERIFY(!index.at(250, 40));
    QVERIFY(index.at(240, 40) == std::optional<std::size_t>(0));
    QVERIFY(index.at(270, 40) == std::optional<std::size_t>(1));
    QVERIFY(!index.at(50, 49));
    QVERIFY(index.at(50, 50) == std::optional<std::size_t>(0));
    QVERIFY(index.at(450, 60) == std::optional<std::size_t>(1));
    QVERIFY(!index.at(500, 60));
  }

  void visibleShowsEverySpanOnce_data() {
    QTest::addColumn<double>("nsPerPixel");
    for (const double nsPerPixel : {0.3, 1.0, 7.5, 64.0, 1000.0, 12'345.6, 1e7}) {
      QTest::addRow("%g", nsPerPixel) << nsPerPixel;
    }
  }

  void visibleShowsEverySpanOnce() {
    QFETCH(double, nsPerPixel);
    const Lane lane = randomLane(7, 4000, 100);
    std::mt19937 random(8);
    for (int round = 0; round < 20; ++round) {
      const auto limit = static_cast<unsigned>(lane.spans.back().endNs);
      const auto begin = static_cast<std::int64_t>(random() % limit);
      const std::int64_t end = begin + 1 + static_cast<std::int64_t>(random() % limit);
      const auto [first, last] = lane.index.touching(begin, end);
      std::size_t next = first;
      std::int64_t drawnUpTo = std::numeric_limits<std::int64_t>::min();
      for (const VisibleSpan& v : visible(lane.index, begin, end, nsPerPixel)) {
        // The spans it stands for are the next ones, lie in it, and make up its busy share.
        QCOMPARE(v.firstPayload, lane.spans[next].payload);
        double busy = 0;
        for (std::size_t i = next; i < next + v.count; ++i) {
          QVERIFY(lane.spans[i].beginNs >= v.beginNs && lane.spans[i].endNs <= v.endNs);
          busy += static_cast<double>(lane.spans[i].endNs - lane.spans[i].beginNs);
        }
        QVERIFY(std::abs(v.busyShare * static_cast<double>(v.endNs - v.beginNs) - busy) < 1e-3);
        QVERIFY(v.beginNs >= drawnUpTo);
        // No span shorter than a pixel is visited alone: a run is about a pixel wide unless long
        // spans leave it less room.
        if (v.count > 1) QVERIFY(static_cast<double>(v.endNs - v.beginNs) <= 2 * nsPerPixel + 2);
        drawnUpTo = v.endNs;
        next += v.count;
      }
      QCOMPARE(next, last);
    }
  }

  void visibleIsBoundedByPixels() {
    SpanIndex index;
    for (int i = 0; i < 100'000; ++i) index.append({i * 10, i * 10 + 4, 0, 0});
    const auto runs = visible(index, 0, 1'000'000, 1'000'000 / 800.0);
    QVERIFY(runs.size() <= 801);
    std::uint64_t count = 0;
    for (const VisibleSpan& v : runs) {
      QVERIFY(std::abs(v.busyShare - 0.4) < 0.02);
      count += v.count;
    }
    QCOMPARE(count, 100'000u);
  }

  void longSpansComeAlone() {
    SpanIndex index;
    index.append({0, 5, 0, 1});
    index.append({10, 15, 1, 1});
    index.append({20, 900, 2, 2});
    index.append({905, 910, 3, 3});
    const auto shown = visible(index, 0, 1000, 100);
    QCOMPARE(shown.size(), 3u);
    QCOMPARE(shown[0].count, 2u);
    QCOMPARE(shown[0].beginNs, 0);
    QCOMPARE(shown[0].endNs, 20);
    QCOMPARE(shown[1].count, 1u);
    QCOMPARE(shown[1].firstPayload, 2u);
    QCOMPARE(shown[1].busyShare, 1.0);
    QCOMPARE(shown[2].beginNs, 900);
    QCOMPARE(shown[2].endNs, 1000);
    QCOMPARE(shown[2].busyShare, 0.05);
  }

  void runTakesTheLongestCategory() {
    SpanIndex index;
    index.append({0, 5, 0, 1});
    index.append({10, 40, 1, 5});
    index.append({50, 60, 2, 2});
    const auto shown = visible(index, 0, 100, 100);
    QCOMPARE(shown.size(), 1u);
    QCOMPARE(int(shown[0].category), 5);
  }

  /// Many short spans of one category outweigh a longer one, in runs of any length.
  void runTakesTheCategoryWithMostTime() {
    std::mt19937 random(7);
    for (const double nsPerPixel : {150.0, 900.0, 7000.0, 60'000.0}) {
      const Lane lane = randomLane(static_cast<unsigned>(nsPerPixel), 3000, 40);
      std::size_t at = 0;
      for (const VisibleSpan& run :
           visible(lane.index, 1000, lane.spans.back().endNs + 1, nsPerPixel)) {
        std::array<std::int64_t, 256> ns{}, count{};
        for (std::size_t i = 0; i < run.count; ++i, ++at) {
          ns[lane.spans[at].category] += lane.spans[at].endNs - lane.spans[at].beginNs;
          ++count[lane.spans[at].category];
        }
        // Where no span has a length, the number decides. Of equal ones it is the lowest.
        const bool anyTime = std::any_of(ns.begin(), ns.end(), [](auto each) { return each > 0; });
        const auto& rank = anyTime ? ns : count;
        const auto best =
            static_cast<std::size_t>(std::max_element(rank.begin(), rank.end()) - rank.begin());
        QCOMPARE(std::size_t(run.category), best);
      }
      QCOMPARE(at, lane.spans.size());
    }
  }

  /// Overlapping and nested spans, late ones, categories that change and spans that are dropped.
  void sharesAgreeWithBruteForce_data() {
    QTest::addColumn<unsigned>("seed");
    QTest::addColumn<int>("categories");
    for (unsigned seed = 0; seed < 12; ++seed) {
      QTest::addRow("seed %u", seed) << seed << std::array{1, 6, 40}[seed % 3];
    }
  }

  void sharesAgreeWithBruteForce() {
    QFETCH(unsigned, seed);
    QFETCH(int, categories);
    std::mt19937 random(seed);
    const auto upTo = [&random](std::int64_t most) {
      return static_cast<std::int64_t>(random() % static_cast<unsigned>(most));
    };
    SpanIndex index;
    std::vector<Span> peer;
    for (int i = 0; i < 2000; ++i) {
      const bool nested = seed % 4 == 3, late = seed % 2 == 1;
      const std::int64_t begin = i * 10 + (late ? upTo(500) : 0);
      const std::int64_t length = nested && upTo(50) == 0 ? upTo(9000) : upTo(nested ? 30 : 11);
      const Span span{begin, begin + length, static_cast<std::uint32_t>(i),
                      static_cast<std::uint8_t>(upTo(categories))};
      index.append(span);
      peer.push_back(span);
      if (i % 97 == 0) {
        const Span& marked = peer[static_cast<std::size_t>(upTo(i + 1))];
        const bool alone = std::count_if(peer.begin(), peer.end(), [&marked](const Span& each) {
                             return each.beginNs == marked.beginNs;
                           }) == 1;
        if (alone) {
          QVERIFY(index.addCategoryBits(marked.beginNs, 0x40));
          peer[marked.payload].category |= 0x40;
        }
      }
      if (i % 211 != 210 && i != 1999) continue;
      const std::int64_t beginNs = upTo(i * 10 + 2000) - 1000;
      const double nsPerPixel = std::array{0.7, 3.0, 14.5, 333.3, 5000.0}[std::size_t(upTo(5))];
      const int columns = static_cast<int>(1 + upTo(200));
      std::vector<std::vector<CategoryTime>> wanted(static_cast<std::size_t>(columns));
      std::vector<std::int64_t> lengths;
      for (int column = 0; column < columns; ++column) {
        const auto edge = [&](int k) {
          return beginNs + static_cast<std::int64_t>(std::ceil(k * nsPerPixel));
        };
        const std::int64_t from = edge(column), to = edge(column + 1);
        lengths.push_back(to - from);
        std::map<std::uint8_t, CategoryTime> parts;
        for (const Span& each : peer) {
          const std::int64_t ns = std::min(each.endNs, to) - std::max(each.beginNs, from);
          const bool begins = each.beginNs >= from && each.beginNs < to;
          if (ns <= 0 && !begins) continue;
          CategoryTime& part = parts[each.category];
          part.category = each.category;
          part.ns += std::max<std::int64_t>(ns, 0);
          part.begun += begins;
        }
        for (const auto& [category, part] : parts) {
          wanted[static_cast<std::size_t>(column)].push_back(part);
        }
      }
      std::vector<std::vector<CategoryTime>> found(static_cast<std::size_t>(columns));
      int before = -1;
      index.shares(beginNs, nsPerPixel, columns, [&](int column, const ColumnShares& shares) {
        QVERIFY(column > before && column < columns);
        before = column;
        QCOMPARE(shares.columnNs, lengths[static_cast<std::size_t>(column)]);
        found[static_cast<std::size_t>(column)].assign(shares.parts.begin(), shares.parts.end());
      });
      QVERIFY(found == wanted);
      if (i == 1054) {
        std::vector<Span*> earliest;
        for (Span& each : peer) earliest.push_back(&each);
        std::stable_sort(earliest.begin(), earliest.end(),
                         [](const Span* a, const Span* b) { return a->beginNs < b->beginNs; });
        std::set<std::uint32_t> dropped;
        for (std::size_t k = 0; k < 300; ++k) dropped.insert(earliest[k]->payload);
        index.eraseIf([&](const Span& each) { return dropped.count(each.payload) > 0; });
        for (std::size_t k = 0; k < 300; ++k) {
          earliest[k]->beginNs = earliest[k]->endNs = -10'000'000;  // long before all columns
        }
      }
    }
  }

  void sharesTakeLittleMemory() {
    for (const int categories : {1, 6, 12, 100, 256}) {
      CategoryShares shares;
      const auto at = [categories](std::size_t i) {
        return Span{0, 1, 0, static_cast<std::uint8_t>(i % static_cast<std::size_t>(categories))};
      };
      constexpr std::size_t kSpans = 1'000'000;
      shares.extend(kSpans, at);
      QCOMPARE(shares.slotCount(), static_cast<std::size_t>(categories));
      QVERIFY2(shares.bytes() <= 7 * kSpans, qPrintable(QString::number(shares.bytes())));
    }
  }

  /// Spans that overlap and share begins, in an order that `seed` draws; some queries in between.
  void anyOrderAgreesWithBruteForce_data() {
    QTest::addColumn<unsigned>("seed");
    QTest::addColumn<int>("queryEvery");
    for (unsigned seed = 0; seed < 12; ++seed) {
      QTest::addRow("seed %u", seed) << seed << std::array{1, 7, 97, 100'000}[seed % 4];
    }
  }

  void anyOrderAgreesWithBruteForce() {
    QFETCH(unsigned, seed);
    QFETCH(int, queryEvery);
    std::mt19937 random(seed);
    const auto upTo = [&random](int most) {
      return static_cast<std::int64_t>(random() % static_cast<unsigned>(most));
    };
    SpanIndex index;
    std::vector<Span> peer;  // sorted by begin, of equal ones as they came
    for (int i = 0; i < 3000; ++i) {
      const std::int64_t begin = seed < 4   ? 3000 - i + upTo(3)
                                 : seed < 8 ? upTo(500)
                                            : i + upTo(400);
      const Span span{begin, begin + upTo(60), static_cast<std::uint32_t>(i), 0};
      const auto later = [](const Span& a, const Span& b) { return a.beginNs < b.beginNs; };
      peer.insert(std::upper_bound(peer.begin(), peer.end(), span, later), span);
      index.append(span);
      if (i % 5 == 0) {  // marked while spans arrive
        const std::int64_t at = upTo(3500);
        const auto first = std::lower_bound(peer.begin(), peer.end(), Span{at, 0, 0, 0}, later);
        const bool there = first != peer.end() && first->beginNs == at;
        if (there) first->category |= 4;
        QCOMPARE(index.addCategoryBits(at, 4), there);
        std::vector<std::uint32_t> seen, wanted;
        index.eachAt(at, [&](const Span& each) { return seen.push_back(each.payload), false; });
        for (auto each = first; each != peer.end() && each->beginNs == at; ++each) {
          wanted.push_back(each->payload);
        }
        QVERIFY(seen == wanted);
      }
      QCOMPARE(index.size(), peer.size());
      if (i % queryEvery != 0) continue;
      const std::int64_t begin2 = upTo(3500), end2 = begin2 + upTo(300);
      std::int64_t sum = 0;
      for (const Span& each : peer) {
        if (each.beginNs >= begin2 && each.beginNs < end2) sum += each.endNs - each.beginNs;
      }
      QCOMPARE(index.summedNs(begin2, end2), sum);
    }
    std::int64_t reach = std::numeric_limits<std::int64_t>::min();
    for (std::size_t i = 0; i < peer.size(); ++i) {
      QCOMPARE(index[i].payload, peer[i].payload);
      QCOMPARE(index[i].category, peer[i].category);
      reach = std::max(reach, peer[i].endNs);
      // A span that reaches to here is found, however early it began.
      QVERIFY(index.touching(reach - 1, reach).first <= i);
    }
  }

  /// Inserted one by one they would move 16 TB.
  void aMillionReversedSpansAreQuick() {
    constexpr std::int64_t kSpans = 1'000'000;
    SpanIndex index;
    for (std::int64_t i = kSpans; i-- > 0;) {
      index.append({i * 10, i * 10 + 4, static_cast<std::uint32_t>(i), 0});
      if (i % 3 == 0) QVERIFY(index.addCategoryBits(i * 10, 1));
    }
    QCOMPARE(index.size(), std::size_t{kSpans});
    QCOMPARE(index[0].payload, 0u);
    QCOMPARE(index.summedNs(0, kSpans * 10), kSpans * 4);
  }
};

HIGHWATER_TEST(TestSpanIndex, QCoreApplication)
#include "tst_span_index.moc"
