// Ops that were dropped, and shown again once they have been read back.

#include "analysis/live_store.h"
#include "analysis/op_times.h"
#include "support/sample_run.h"
#include "support/test_program.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

using namespace highwater;
using analysis::LiveStore;
using analysis::OpColumns;

namespace {

constexpr std::int64_t kOpNs = 1000;

/// Ops of two threads and two depths, in the order in which they end, as a stream has them.
std::vector<events::OpSpan> makeOps(std::size_t count, unsigned seed = 3) {
  std::mt19937 random(seed);
  std::vector<events::OpSpan> ops;
  for (std::size_t i = 0; i < count; ++i) {
    const bool outer = i % 4 == 3;  // of the three before it
    const std::int64_t begin =
        static_cast<std::int64_t>(outer ? i - 3 : i) * kOpNs + (outer ? 0 : 1);
    const std::int64_t length = outer ? 4 * kOpNs - 1 : static_cast<std::int64_t>(random() % 900);
    ops.emplace_back(begin, length, -1, 0, static_cast<std::uint32_t>(i / 100 + 1),
                     static_cast<std::uint32_t>(2 + random() % 5), kNoId, kNoId,
                     static_cast<std::uint16_t>(1 + i / 4 % 2), std::uint16_t(outer ? 0 : 1),
                     events::Phase::Forward, std::uint8_t(0));
  }
  return ops;
}

void add(LiveStore& store, std::span<const events::OpSpan> ops) {
  test::OwnedBatch batch;
  batch.ops.assign(ops.begin(), ops.end());
  batch.completeUpToNs = ops.back().begin_ns() + ops.back().duration_ns();
  store.apply(batch.view());
}

/// All that touch [beginNs, endNs), as a recording would give them.
OpColumns::ReadBack touching(const std::vector<events::OpSpan>& ops, std::int64_t beginNs,
                             std::int64_t endNs) {
  OpColumns::ReadBack read{{}, beginNs, endNs};
  std::copy_if(ops.begin(), ops.end(), std::back_inserter(read.records), [&](const auto& op) {
    return op.begin_ns() < endNs && op.begin_ns() + op.duration_ns() >= beginNs;
  });
  return read;
}

/// The begins of the ops that the lanes have in a range, by the store's rows.
std::vector<std::int64_t> begins(const LiveStore& store, std::int64_t beginNs, std::int64_t endNs) {
  std::vector<std::int64_t> found;
  for (const auto& [key, lane] : store.ops().lanes) {
    const std::size_t last = lane.firstFrom(endNs);
    for (std::size_t i = lane.firstFrom(beginNs); i < last; ++i) {
      const events::OpSpan* op = store.ops().at(lane[i].payload);
      found.push_back(op && op->begin_ns() == lane[i].beginNs ? op->begin_ns() : -1);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

class TestOpReadBack : public QObject {
  Q_OBJECT

 private slots:
  /// Where ops were read back, the store shows what one that dropped none shows.
  void showsWhatWasDropped() {
    const auto ops = makeOps(4000);
    LiveStore all, some;
    add(all, ops);
    add(some, ops);
    const_cast<OpColumns&>(some.ops()).forgetDownTo(1000);
    const std::int64_t forgotten = some.ops().forgottenUpToNs;
    QVERIFY(some.ops().isMissing(0, 10) && some.ops().isMissing(0, forgotten + 10));
    QVERIFY(!some.ops().isMissing(forgotten, forgotten + 10));
    analysis::RunningOpTimes times(&some);
    std::mt19937 random(9);
    for (int round = 0; round < 30; ++round) {
      const auto begin = static_cast<std::int64_t>(random() % 3500) * kOpNs;
      const auto end = begin + static_cast<std::int64_t>(1 + random() % 1000) * kOpNs;
      const std::uint64_t before = some.revision();
      // The self time of an op at the edge needs the ops within it that begin later.
      some.showReadBack(touching(ops, begin - 4 * kOpNs, end + 4 * kOpNs));
      QVERIFY(some.revision() > before);
      QVERIFY(!some.ops().isMissing(begin, end));
      QCOMPARE(begins(some, begin, end), begins(all, begin, end));
      QCOMPARE(begins(some, forgotten, 4000 * kOpNs), begins(all, forgotten, 4000 * kOpNs));
      const auto shown = analysis::opTimesIn(some, {begin, end});
      const auto truth = analysis::opTimesIn(all, {begin, end});
      QVERIFY(!shown.partial);
      const auto running = times.in({begin, end});
      QVERIFY(!running.partial);
      QCOMPARE(running.selfNs, truth.selfNs);
      QCOMPARE(shown.byOp.size(), truth.byOp.size());
      for (std::size_t i = 0; i < truth.byOp.size(); ++i) {
        QCOMPARE(shown.byOp[i].count, truth.byOp[i].count);
        QCOMPARE(shown.byOp[i].selfNs, truth.byOp[i].selfNs);
      }
    }
  }

  /// A row never becomes another op: what was selected is gone, not replaced.
  void rowsAreNotReused() {
    const auto ops = makeOps(400);
    LiveStore store;
    add(store, ops);
    const_cast<OpColumns&>(store.ops()).forgetDownTo(100);
    store.showReadBack(touching(ops, 0, 50 * kOpNs));
    const std::uint32_t row = store.ops().lanes.begin()->second[0].payload;
    QVERIFY(store.ops().at(row));
    store.showReadBack(touching(ops, 100 * kOpNs, 150 * kOpNs));
    QVERIFY(!store.ops().at(row));
    const std::uint32_t next = store.ops().lanes.begin()->second[0].payload;
    QVERIFY(next != row && store.ops().at(next));
    // New ops that displace old ones displace those that were read back first.
    const_cast<OpColumns&>(store.ops()).forgetDownTo(50);
    QVERIFY(!store.ops().at(next));
    QVERIFY(store.ops().isMissing(100 * kOpNs, 150 * kOpNs));
  }

  void keepsToItsBudget() {
#if defined(__GLIBC__)
    constexpr std::size_t kBudget = std::size_t{96} << 20;
    const auto heap = [] {
      const auto info = mallinfo2();
      return info.uordblks + info.hblkhd;
    };
    const std::size_t before = heap();
    LiveStore store;
    store.setMemoryBudget(kBudget);
    const auto ops = makeOps(20'000);
    std::int64_t atNs = 0;
    for (int round = 0; round < 100; ++round, atNs += 20'000 * kOpNs) {
      test::OwnedBatch batch;
      for (const events::OpSpan& op : ops) {
        batch.ops.push_back(op);
        batch.ops.back().mutate_begin_ns(op.begin_ns() + atNs);
      }
      batch.completeUpToNs = atNs + 20'000 * kOpNs;
      store.apply(batch.view());
    }
    store.prepareForDrawing();
    QVERIFY(store.ops().firstRow > 0);
    QVERIFY(store.ops().records.size() >= OpColumns::kFewestOps);
    const auto records = static_cast<std::ptrdiff_t>(store.mostReadBack());
    std::vector<events::OpSpan> old;
    while (std::ssize(old) < records) old.insert(old.end(), ops.begin(), ops.end());
    old.resize(store.mostReadBack());
    store.showReadBack({std::move(old), 0, 20'000 * kOpNs});
    store.prepareForDrawing();
    const std::size_t taken = heap() - before;
    QVERIFY2(taken <= kBudget, qPrintable(QStringLiteral("%1 MiB").arg(double(taken) / (1 << 20))));
    // A smaller budget counts at once.
    store.setMemoryBudget(kBudget / 4);
    QVERIFY(store.ops().records.size() <= store.ops().most);
    store.clear();
    QCOMPARE(store.memoryBudget(), kBudget / 4);
#else
    QSKIP("needs mallinfo2(), which only glibc has");
#endif
  }
};

HIGHWATER_TEST(TestOpReadBack, QCoreApplication)
#include "tst_op_read_back.moc"
