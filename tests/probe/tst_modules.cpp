#include <type_traits>
#include <utility>

#include "core/definition_table.h"
#include "probe/observer/module_scope.h"
#include "probe/observer/op_stack.h"
#include "support/test_program.h"
#include "wire/limits.h"

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

constexpr std::uint64_t kForwardThread = 7;

/// What autograd says of the thread of the test.
struct FakeAutograd {
  std::int64_t nextSequence = 0;
  RunningNode running;
};
FakeAutograd fake;

/// Access to `fake`, which begins anew.
Autograd fakeAutograd() {
  fake = {};
  return {[]() noexcept {
            return AutogradPlace{kForwardThread, fake.nextSequence, fake.running.node};
          },
          []() noexcept { return fake.running; }};
}

}  // namespace

class TestModules : public QObject {
  Q_OBJECT
 private slots:
  void internsByParentAndName() {
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

  void capsModules() {
    ModuleTable table;
    for (ModuleId i = kOtherId + 1; i < kMaxModules; ++i) {
      QCOMPARE(table.intern(kNoId, std::to_string(i)).id, i);
    }
    QCOMPARE(table.intern(kNoId, "one more").id, kOtherId);
    QCOMPARE(table.intern(kOtherId, "below it").id, kOtherId);
    QCOMPARE(table.intern(kNoId, "2").id, ModuleId{2});
  }

  /// The stream counts each module with its whole path.
  void staysWithinTheBytesOfAStream() {
    ModuleTable table;
    const std::string name(wire::kMaxNameBytes, 'x');
    std::size_t bytes = 0, path = 0;
    for (ModuleId parent = kNoId; parent != kOtherId; parent = table.intern(parent, name).id) {
      bytes += path;
      path += name.size() + 1;
      QVERIFY(bytes < wire::kMaxDefinitionBytes);
    }
    QVERIFY(bytes > wire::kMaxDefinitionBytes / 4);
  }

  void scopesNestAndEnd() {
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

  void keepsDepthBounded() {
    ModuleTable table;
    ModuleStack stack;
    for (int i = 0; i < 200; ++i) stack.enter(table, stack.current(), "deeper", nullptr);
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

  void doesNothingWithoutARecorder() {
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

  /// Against a map of all borders, for random passes through modules.
  void findsWhatAMapFinds() {
    constexpr auto kSize = static_cast<std::int64_t>(SequenceModules::Borders::kSize);
    std::mt19937 random(1);
    SequenceModules sequences;
    auto* borders = sequences.borders(kForwardThread);
    std::map<std::int64_t, ModuleId> all{{0, 1}};
    borders->note(0, 1);
    std::int64_t next = 0;
    for (std::int64_t i = 0; i < 2 * kSize; ++i) {
      next += random() % 3;
      const auto module = static_cast<ModuleId>(2 + random() % 5);
      borders->note(next, module);
      all[next] = module;
    }
    // Where every border is kept. At least half of those noted lie at a number of their own.
    const std::int64_t keptFrom = next - kSize / 4;
    int known = 0;
    for (int i = 0; i < 10'000; ++i) {
      const std::int64_t sequence =
          static_cast<std::int64_t>(random() % static_cast<unsigned>(next));
      const ModuleId expected = std::prev(all.upper_bound(sequence))->second;
      const ModuleId found = borders->find(sequence);
      QVERIFY(found == expected || (found == kNoId && sequence < keptFrom));
      known += found != kNoId ? 1 : 0;
    }
    QVERIFY(known > 0);
  }

  void namesTheModuleOfWaitsInForwardAndBackward() {
    Recorder recorder(RunClock::startingNow());
    recorder.setAutograd(fakeAutograd());
    OpStack ops(recorder, recorder.lane());
    Words words(recorder);
    const auto pathOfWait = [&] {
      ops.begin(ops.name("aten::_local_scalar_dense"), OpLayer::kDispatch,
                OpWait{events::SyncKind::ScalarRead, 4}, false);
      ops.end();
      return words.pathOfSync();
    };
    {
      const ModuleScope head(&recorder, "head");
      fake.nextSequence = 4;  // ops that created the nodes 0 to 3
      QCOMPARE(pathOfWait(), std::string("head"));
    }
    fake.nextSequence = 6;
    int nodes[2];
    fake.running = {&nodes[0], kForwardThread, 3};
    QCOMPARE(pathOfWait(), std::string("head"));
    {
      const ModuleScope again(&recorder, "recomputed");  // as a checkpoint does in its node
      QCOMPARE(pathOfWait(), std::string("head.recomputed"));
      fake.running = {&nodes[1], kForwardThread, 3};  // a backward inside it
      QCOMPARE(pathOfWait(), std::string("head"));
      fake.running = {&nodes[0], kForwardThread, 3};
    }
    QCOMPARE(pathOfWait(), std::string("head"));
    fake.running = {&nodes[0], kForwardThread, 4};
    QCOMPARE(pathOfWait(), std::string());
    fake.running = {&nodes[0], kForwardThread, -1};  // AccumulateGrad
    QCOMPARE(pathOfWait(), std::string());
    QCOMPARE(recorder.lane().modules().current(), kNoId);
  }
};

HIGHWATER_TEST(TestModules, QCoreApplication)
#include "tst_modules.moc"
