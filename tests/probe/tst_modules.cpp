#include <QTest>
#include <thread>
#include <type_traits>
#include <vector>

#include "core/definition_table.h"
#include "probe/observer/module_scope.h"
#include "probe/observer/op_stack.h"

using namespace highwater;
using namespace highwater::probe;

namespace {

/// Reads modules back from a recorder, as text.
class Words {
 public:
  explicit Words(Recorder& recorder) : recorder_(recorder) {}
  std::string path(ModuleId id) {
    Definitions definitions;
    recorder_.modules().takeNew(definitions);
    table_.add(definitions);
    return table_.modulePath(id);
  }
  /// The module of the one sync point recorded since the last call.
  std::string pathOfSync() {
    std::vector<events::SyncPoint> found;
    recorder_.lane().drain([&found](const EventRecord& record) {
      record.visit([&found](const auto& event) {
        if constexpr (std::is_same_v<decltype(event), const events::SyncPoint&>) {
          found.push_back(event);
        }
      });
    });
    return found.size() == 1 ? path(found[0].module_id()) : "not one";
  }

 private:
  Recorder& recorder_;
  DefinitionTable table_;
};

constexpr OpWait kScalar{events::SyncKind::ScalarRead, 4};
constexpr std::uint64_t kForwardThread = 7;

OpLink forwardOp(std::int64_t sequence) {
  return {false, kForwardThread, sequence};
}
OpLink node(std::int64_t sequence) {
  return {true, kForwardThread, sequence};
}

}  // namespace

class TestModules : public QObject {
  Q_OBJECT
 private slots:
  void internsByParentAndName();
  void capsModules();
  void scopesNestAndEnd();
  void keepsDepthBounded();
  void doesNothingWithoutARecorder();
  void findsTheModuleOfANode();
  void forgetsOldSequenceNumbers();
  void namesTheModuleOfWaitsInForwardAndBackward();
};

void TestModules::internsByParentAndName() {
  ModuleTable table;
  const ModuleId layers = table.intern(kNoId, "layers").id;
  const ModuleId first = table.intern(layers, std::string("0")).id;
  QCOMPARE(table.intern(layers, "0").id, first);
  QVERIFY(table.intern(kNoId, "0").id != first);
  Definitions definitions;
  QVERIFY(table.takeNew(definitions, 1));  // one at a time, the parent first
  QCOMPARE(definitions.modules.size(), std::size_t{1});
  QCOMPARE(definitions.modules[0].name, std::string("layers"));
  QVERIFY(!table.takeNew(definitions));
  QCOMPARE(definitions.modules.size(), std::size_t{3});
  QCOMPARE(definitions.modules[1].parent, layers);
}

void TestModules::capsModules() {
  ModuleTable table;
  for (ModuleId i = kOtherId + 1; i < kMaxModules; ++i) {
    QCOMPARE(table.intern(kNoId, std::to_string(i)).id, i);
  }
  QCOMPARE(table.intern(kNoId, "one more").id, kOtherId);
  QCOMPARE(table.intern(kOtherId, "below it").id, kOtherId);
  QCOMPARE(table.intern(kNoId, "2").id, ModuleId{2});
}

void TestModules::scopesNestAndEnd() {
  Recorder recorder(RunClock::startingNow());
  Words words(recorder);
  ModuleStack& stack = recorder.lane().modules();
  {
    const ModuleScope layers(&recorder, "layers");
    const ModuleScope first(&recorder, "0");
    {
      const ModuleScope attention(&recorder, "attention");
      QCOMPARE(words.path(stack.current()), std::string("layers.0.attention"));
      std::thread([&recorder] { QCOMPARE(recorder.lane().modules().current(), kNoId); }).join();
    }
    QCOMPARE(words.path(stack.current()), std::string("layers.0"));
  }
  QCOMPARE(stack.current(), kNoId);
}

void TestModules::keepsDepthBounded() {
  ModuleTable table;
  ModuleStack stack;
  for (int i = 0; i < 200; ++i) stack.enter(table, "deeper");
  const ModuleId deepest = stack.current();
  QVERIFY(deepest != kNoId);
  for (std::uint32_t i = 200; i > ModuleStack::kMaxDepth; --i) {
    QCOMPARE(stack.current(), deepest);
    stack.leave();
  }
  for (std::uint32_t i = 1; i < ModuleStack::kMaxDepth; ++i) stack.leave();
  QVERIFY(stack.current() != kNoId && stack.current() != deepest);
  stack.leave();
  stack.leave();
  QCOMPARE(stack.current(), kNoId);
}

void TestModules::doesNothingWithoutARecorder() {
  Recorder recorder(RunClock::startingNow());
  const ModuleScope nobody("layers");
  QCOMPARE(recorder.lane().modules().current(), kNoId);
  Recorder::setActive(&recorder);
  {
    const ModuleScope scope("layers");
    QVERIFY(recorder.lane().modules().current() != kNoId);
  }
  Recorder::setActive(nullptr);
}

void TestModules::findsTheModuleOfANode() {
  SequenceModules sequences;
  QCOMPARE(sequences.find(kForwardThread, 0), kNoId);
  sequences.ring(kForwardThread)->note(0, 5);
  sequences.ring(kForwardThread)->note(1, 6);
  sequences.ring(kForwardThread)->note(1, 8);
  sequences.ring(kForwardThread + 64)->note(0, 9);  // occupies the same slot
  QCOMPARE(sequences.find(kForwardThread, 0), ModuleId{5});
  QCOMPARE(sequences.find(kForwardThread, 1), ModuleId{8});
  QCOMPARE(sequences.find(kForwardThread, 2), kNoId);
  QCOMPARE(sequences.find(kForwardThread, -1), kNoId);
  QCOMPARE(sequences.find(kForwardThread + 64, 0), ModuleId{9});
  QCOMPARE(sequences.find(0, 0), kNoId);
  QVERIFY(!sequences.ring(0));
  for (std::uint64_t thread = 1000; thread < 1062; ++thread) QVERIFY(sequences.ring(thread));
  QVERIFY(!sequences.ring(2000));
  QCOMPARE(sequences.find(2000, 0), kNoId);
}

void TestModules::forgetsOldSequenceNumbers() {
  SequenceModules sequences;
  auto* ring = sequences.ring(kForwardThread);
  const auto size = static_cast<std::int64_t>(SequenceModules::Ring::kSize);
  for (std::int64_t i = 0; i <= size; ++i) ring->note(i, static_cast<ModuleId>(2 + i % 100));
  QCOMPARE(ring->find(0), kNoId);
  QCOMPARE(ring->find(1), ModuleId{3});
  QCOMPARE(ring->find(size), static_cast<ModuleId>(2 + size % 100));
}

void TestModules::namesTheModuleOfWaitsInForwardAndBackward() {
  Recorder recorder(RunClock::startingNow());
  OpStack ops(recorder, recorder.lane());
  Words words(recorder);
  const auto op = [&ops](const char* name, OpWait wait, OpLink link) {
    ops.begin(ops.name(name), wait, link);
    ops.end();
  };
  {
    const ModuleScope head(&recorder, "head");
    op("aten::addmm", {}, forwardOp(3));
    op("aten::_local_scalar_dense", kScalar, forwardOp(4));
    QCOMPARE(words.pathOfSync(), std::string("head"));
  }
  op("aten::sum", {}, forwardOp(4));  // uses the number that the read had only seen
  const auto waitInNode = [&](std::int64_t sequence) {
    ops.begin(ops.name("Node"), {}, node(sequence));
    op("aten::_local_scalar_dense", kScalar, {});
    ops.end();
    return words.pathOfSync();
  };
  QCOMPARE(waitInNode(3), std::string("head"));
  QCOMPARE(waitInNode(4), std::string());
  QCOMPARE(waitInNode(-1), std::string());  // AccumulateGrad
  QCOMPARE(recorder.lane().modules().current(), kNoId);
}

QTEST_GUILESS_MAIN(TestModules)
#include "tst_modules.moc"
