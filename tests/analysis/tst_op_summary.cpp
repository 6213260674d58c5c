#include <QtTest>
#include <random>

#include "analysis/op_summary.h"
#include "step_events.h"

using namespace highwater;
using namespace highwater::test;
using namespace highwater::analysis;
using events::Phase;

namespace {

constexpr NameId kLinear = 100, kAddmm = 101, kView = 102, kNode = 103, kShapes = 104;

/// An op as it is written down; what it misses is made up by span().
struct Op {
  NameId op = kLinear;
  std::int64_t beginMs = 0, ms = 1;
  std::uint16_t depth = 0;
  std::int64_t currentBytes = -1;
  std::uint64_t outputBytes = 0;
  ModuleId module = kNoId;
  bool backward = false;
  ThreadId thread = kTrainingThread;
  std::uint32_t step = 2;

  [[nodiscard]] events::OpSpan span() const {
    return {beginMs * kMs,
            ms * kMs,
            currentBytes,
            outputBytes,
            step,
            op,
            module,
            kShapes,
            thread,
            depth,
            backward ? Phase::Backward : Phase::Forward,
            static_cast<std::uint8_t>(backward)};
  }
};

/// Steps 1 and 2, of 100 ms each from 0 on.
OpSummary summaryOf(const std::vector<Op>& ops, OwnedBatch batch = {}) {
  LiveStore store;
  defineNames(store);
  store.apply(Definitions{{{kLinear, "aten::linear"},
                           {kAddmm, "aten::addmm"},
                           {kView, "aten::view"},
                           {kNode, "AddmmBackward0"},
                           {kShapes, "[4, 4] float32"}},
                          {},
                          {},
                          {}});
  batch.steps = {stepAt(1, 0, 100), stepAt(2, 100, 100)};
  for (const Op& op : ops) batch.ops.push_back(op.span());
  store.apply(batch.view());
  return summarizeOps(store);
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
    ops.push_back({static_cast<NameId>(kLinear + random() % 3), at, ms, depth, -1, 0,
                   random() % 2 == 0 ? kNoId : ModuleId{kLayer1}, false, thread});
    at += ms + random() % 3;
  }
}

}  // namespace

class TestOpSummary : public QObject {
  Q_OBJECT

 private slots:
  void selfTimeIsWithoutTheOpsWithin() {
    const OpSummary summary = summaryOf({{kAddmm, 112, 5, 1, -1, 0, kLayer1},
                                         {kView, 118, 1, 1},
                                         {kLinear, 110, 10, 0, -1, 0, kLayer1},
                                         {kAddmm, 130, 2}});
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
        {kAddmm, 112, 5, 1, -1, 0, kNoId, true, kAutogradThread},
        {kLinear, 111, 8, 0},  // of the other thread
        {kView, 121, 2, 1},    // its parent was lost
        {kLinear, 125, 4, 0},  // and is not this one
        {kNode, 110, 10, 0, -1, 0, kNoId, true, kAutogradThread},
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
    Op first{kView, 10};
    first.step = 1;
    Op evaluation{kAddmm, 205};
    const OpSummary summary = summaryOf({first, {kLinear, 110}, evaluation});
    QCOMPARE(summary.steps, std::uint64_t{1});
    QCOMPARE(summary.ops, std::uint64_t{1});
    QCOMPARE(summaryOf({first}).ops, std::uint64_t{1});  // there is no other step
    QCOMPARE(summaryOf({}).ops, std::uint64_t{0});
  }

  void increasesAreTheOpsDecreasesTheOneBeforeIts() {
    OwnedBatch batch;
    batch.phaseMemory.emplace_back(150 * kMs, 5000, 5000, 2500, 2, Phase::Forward);
    const OpSummary summary =
        summaryOf({{kView, 101, 1, 0, 1000},
                   {kAddmm, 110, 1, 1, 3000, 2000, kLayer1},
                   {kLinear, 109, 3, 0, 3000, 2000, kLayer1},
                   {kAddmm, 120, 1, 0, 4000, 1000, kEmbedding},
                   {kNode, 160, 1, 0, 4500, 500, kEmbedding, true, kAutogradThread},
                   {kNode, 162, 1, 0, 2000, 0, kLayer1, true, kAutogradThread}},
                  batch);
    QCOMPARE(findModule(summary, "encoder.layers.1")->net.forward, 2000);
    QCOMPARE(findModule(summary, "embedding")->net.forward, 1000);
    // Before the node of the layer ended, the embedding's gave back what it had.
    QCOMPARE(findModule(summary, "embedding")->net.backward, 2000 - 2500);
    QCOMPARE(findModule(summary, "encoder.layers.1")->net.backward, 0);
    QCOMPARE(findModule(summary, "embedding")->net.kept(), 500);
    QCOMPARE(summary.byPhase[0].phase, Phase::Forward);
    QCOMPARE(summary.byPhase[0].inOps, 3000);
    QCOMPARE(summary.byPhase[0].outsideOps, -1500);
  }

  void largeTensorsAreThoseThatWereAllocated() {
    const OpSummary summary = summaryOf(
        {{kView, 101, 1, 0, 1000},
         {kAddmm, 110, 1, 1, 9000, 8000, kLayer1},
         {kLinear, 109, 3, 0, 9000, 8000, kLayer1},  // returns what the op in it allocated
         {kView, 115, 1, 0, 9000, 8000, kLayer1},    // shows the same
         {kAddmm, 120, 1, 0, 12000, 3000, kEmbedding},
         {kAddmm, 125, 1, 0, 14000, 2000, kEmbedding}});
    QCOMPARE(summary.largest.size(), 2u);
    QCOMPARE(summary.largest[0].op, std::string("aten::linear"));
    QCOMPARE(summary.largest[0].bytes, std::uint64_t{8000});
    QCOMPARE(summary.largest[0].module, std::string("encoder.layers.1"));
    QCOMPARE(summary.largest[0].shapes, std::string("[4, 4] float32"));
    QCOMPARE(summary.largest[1].bytes, std::uint64_t{3000});  // the largest of its op and shapes
    QCOMPARE(summary.largest[1].step, 2u);
  }
};

QTEST_APPLESS_MAIN(TestOpSummary)
#include "tst_op_summary.moc"
