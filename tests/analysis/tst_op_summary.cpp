#include "analysis/op_summary.h"
#include "step_events.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;
using namespace highwater::analysis;
using events::Phase;

namespace {

constexpr NameId kLinearOp = 100, kAddmmOp = 101, kViewOp = 102, kNodeOp = 103, kShapeText = 104;

/// A short notation for an op; span() fills in the rest.
struct Op {
  NameId op = kLinearOp;
  std::int64_t beginMs = 0, ms = 1;
  std::uint16_t depth = 0;
  std::int64_t currentBytes = -1;
  std::uint64_t grownBytes = 0;
  ModuleId module = kNoId;
  bool backward = false;
  ThreadId thread = kTrainingThread;
  std::uint32_t step = 2;

  [[nodiscard]] events::OpSpan span() const {
    return {beginMs * kMs,
            ms * kMs,
            currentBytes,
            grownBytes,
            step,
            op,
            module,
            kShapeText,
            thread,
            depth,
            backward ? Phase::Backward : Phase::Forward,
            static_cast<std::uint8_t>(backward)};
  }
};

/// Steps 1 and 2, of 100 ms each from 0 on.
OpSummary summaryOf(const std::vector<Op>& ops, OwnedBatch batch = {},
                    std::size_t most = OpColumns::kMostOps) {
  LiveStore store;
  defineNames(store);
  store.apply(Definitions{{{kLinearOp, "aten::linear"},
                           {kAddmmOp, "aten::addmm"},
                           {kViewOp, "aten::view"},
                           {kNodeOp, "AddmmBackward0"},
                           {kShapeText, "[4, 4] float32"}},
                          {},
                          {},
                          {}});
  batch.steps = {stepAt(1, 0, 100), stepAt(2, 100, 100)};
  for (const Op& op : ops) batch.ops.push_back(op.span());
  store.apply(batch.view());
  return summarizeOps(store, most);
}

const OpShare* find(const OpSummary& summary, const std::string& op) {
  for (const OpShare& each : summary.byOp) {
    if (each.op == op) return &each;
  }
  return nullptr;
}

const ModuleShare* findModule(const OpSummary& summary, const std::string& module) {
  for (const ModuleShare& each : summary.byModule) {
    if (each.module == module) return &each;
  }
  return nullptr;
}

/// Fills [beginMs, endMs) with ops in ops, in the order in which they end.
void addTree(std::vector<Op>& ops, std::mt19937& random, std::int64_t beginMs, std::int64_t endMs,
             std::uint16_t depth, ThreadId thread) {
  for (std::int64_t at = beginMs; at < endMs;) {
    const auto ms = std::min<std::int64_t>(1 + random() % 12, endMs - at);
    if (depth < 5 && ms > 1) addTree(ops, random, at, at + ms - 1, depth + 1, thread);
    ops.push_back({static_cast<NameId>(kLinearOp + random() % 3), at, ms, depth, -1, 0,
                   random() % 2 == 0 ? kNoId : ModuleId{kLayer1}, false, thread});
    at += ms + random() % 3;
  }
}

}  // namespace

class TestOpSummary : public QObject {
  Q_OBJECT

 private slots:
  void ofTheNewestOpsOnlyWholeStepsCount() {
    std::vector<Op> ops;
    for (const std::uint32_t step : {1U, 2U}) {
      for (int i = 0; i < 5; ++i) {
        ops.push_back({.beginMs = (step - 1) * 100 + 10 + i * 10, .ms = 2, .step = step});
      }
    }
    for (const std::size_t most : {5U, 7U}) {  // two of step 1 do not make a step
      const OpSummary summary = summaryOf(ops, {}, most);
      QCOMPARE(summary.steps, std::uint64_t{1});
      QCOMPARE(summary.ops, std::uint64_t{5});
      QCOMPARE(find(summary, "aten::linear")->selfNs, 10 * kMs);
    }
    QCOMPARE(summaryOf(ops, {}, 3).ops, std::uint64_t{0});  // nor three of step 2
  }

  void selfTimeIsWithoutTheOpsWithin() {
    const OpSummary summary = summaryOf({{kAddmmOp, 112, 5, 1, -1, 0, kLayer1},
                                         {kViewOp, 118, 1, 1},
                                         {kLinearOp, 110, 10, 0, -1, 0, kLayer1},
                                         {kAddmmOp, 130, 2}});
    QCOMPARE(summary.steps, std::uint64_t{1});
    QCOMPARE(summary.ops, std::uint64_t{4});
    QCOMPARE(summary.byOp[0].op, std::string("aten::addmm"));
    QCOMPARE(summary.byOp[0].selfNs, 7 * kMs);
    QCOMPARE(summary.byOp[0].count, std::uint64_t{2});
    QCOMPARE(find(summary, "aten::linear")->selfNs, 4 * kMs);
    QCOMPARE(findModule(summary, "encoder.layers.1")->selfNs, 9 * kMs);
    QCOMPARE(findModule(summary, "")->selfNs, 3 * kMs);
  }

  void threadsAreApartAndLostOpsHarmNobody() {
    const OpSummary summary = summaryOf({
        {kAddmmOp, 112, 5, 1, -1, 0, kNoId, true, kAutogradThread},
        {kLinearOp, 111, 8, 0},  // of the other thread
        {kViewOp, 121, 2, 1},    // its parent was lost
        {kLinearOp, 125, 4, 0},  // and is not this one
        {kNodeOp, 110, 10, 0, -1, 0, kNoId, true, kAutogradThread},
    });
    QCOMPARE(find(summary, "aten::linear")->selfNs, 12 * kMs);
    QCOMPARE(find(summary, "AddmmBackward0")->selfNs, 5 * kMs);
    QCOMPARE(findModule(summary, "")->backwardSelfNs, 10 * kMs);
  }

  void selfTimesAddUpToTheOutermost() {
    std::mt19937 random(3);
    for (int round = 0; round < 200; ++round) {
      std::vector<Op> ops;
      addTree(ops, random, 101, 199, 0, kTrainingThread);
      const std::size_t ofTraining = ops.size();
      addTree(ops, random, 101, 150, 0, kAutogradThread);
      std::rotate(ops.begin(), ops.begin() + ofTraining, ops.end());
      std::int64_t outermostNs = 0;
      for (const Op& op : ops) outermostNs += op.depth == 0 ? op.ms * kMs : 0;
      const OpSummary summary = summaryOf(ops);
      std::int64_t byOpNs = 0, byModuleNs = 0;
      for (const OpShare& each : summary.byOp) byOpNs += each.selfNs;
      for (const ModuleShare& each : summary.byModule) byModuleNs += each.selfNs;
      QCOMPARE(byOpNs, outermostNs);
      QCOMPARE(byModuleNs, outermostNs);
      QCOMPARE(summary.ops, ops.size());
    }
  }

  void onlyOpsOfStepsCount() {
    Op first{kViewOp, 10};
    first.step = 1;
    Op evaluation{kAddmmOp, 205};
    const OpSummary summary = summaryOf({first, {kLinearOp, 110}, evaluation});
    QCOMPARE(summary.steps, std::uint64_t{1});
    QCOMPARE(summary.ops, std::uint64_t{1});
    QCOMPARE(summaryOf({first}).ops, std::uint64_t{1});  // there is no other step
    QCOMPARE(summaryOf({}).ops, std::uint64_t{0});
  }

  void increasesAreTheOpsDecreasesTheOneBeforeIts() {
    OwnedBatch batch;
    batch.phaseMemory.emplace_back(150 * kMs, 5000, 5000, 2500, 2, Phase::Forward);
    const OpSummary summary =
        summaryOf({{kViewOp, 101, 1, 0, 1000},
                   {kAddmmOp, 110, 1, 1, 3000, 2000, kLayer1},
                   {kLinearOp, 109, 3, 0, 3000, 2000, kLayer1},
                   {kAddmmOp, 120, 1, 0, 4000, 1000, kEmbedding},
                   {kNodeOp, 160, 1, 0, 4500, 500, kEmbedding, true, kAutogradThread},
                   {kNodeOp, 162, 1, 0, 2000, 0, kLayer1, true, kAutogradThread}},
                  batch);
    QCOMPARE(findModule(summary, "encoder.layers.1")->net.forward, 2000);
    QCOMPARE(findModule(summary, "embedding")->net.forward, 1000);
    // The embedding's node freed its memory before the layer's node ended.
    QCOMPARE(findModule(summary, "embedding")->net.backward, 2000 - 2500);
    QCOMPARE(findModule(summary, "encoder.layers.1")->net.backward, 0);
    QCOMPARE(findModule(summary, "embedding")->net.kept(), 500);
    QCOMPARE(summary.byPhase[0].phase, Phase::Forward);
    QCOMPARE(summary.byPhase[0].inOps, 3000);
    QCOMPARE(summary.byPhase[0].outsideOps, -1500);
  }

  void largeTensorsAreThoseThatWereAllocated() {
    const OpSummary summary =
        summaryOf({{kViewOp, 101, 1, 0, 1000},
                   {kAddmmOp, 110, 1, 1, 9000, 8000, kLayer1},
                   {kLinearOp, 109, 3, 0, 9000, 8000, kLayer1},  // allocated by its nested op
                   {kViewOp, 115, 1, 0, 9000, 0, kLayer1},       // shows the same
                   {kAddmmOp, 120, 1, 0, 12000, 3000, kEmbedding},
                   {kAddmmOp, 125, 1, 0, 14000, 2000, kEmbedding},
                   {kAddmmOp, 131, 1, 1, 14100, 100, kEmbedding},
                   {kNodeOp, 130, 4, 0, 15600, 1600, kEmbedding}});  // 1500 of it its own
    QCOMPARE(summary.largest.size(), 3u);
    QCOMPARE(summary.largest[0].op, std::string("aten::linear"));
    QCOMPARE(summary.largest[0].bytes, std::uint64_t{8000});
    QCOMPARE(summary.largest[0].module, std::string("encoder.layers.1"));
    QCOMPARE(summary.largest[0].shapes, std::string("[4, 4] float32"));
    QCOMPARE(summary.largest[1].bytes, std::uint64_t{3000});  // the largest of its op and shapes
    QCOMPARE(summary.largest[1].step, 2u);
    QCOMPARE(summary.largest[2].op, std::string("AddmmBackward0"));
    QCOMPARE(summary.largest[2].bytes, std::uint64_t{1500});
  }
};

HIGHWATER_TEST(TestOpSummary, QCoreApplication)
#include "tst_op_summary.moc"
