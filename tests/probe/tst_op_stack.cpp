#include "probe/observer/deliberate_scope.h"
#include "probe/observer/op_stack.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::probe;
using events::SyncKind;

namespace {

/// Begins and ends ops by name, as the kernels of watched ops do.
class Ops {
 public:
  explicit Ops(OpLayer layer = OpLayer::kDispatch)
      : layer_(layer), recorder_(RunClock::startingNow()), stack_(recorder_, recorder_.lane()) {}

  Ops& begin(const char* name, OpWait wait = {}, bool mayFallBack = true) {
    stack_.begin(stack_.name(name), layer_, wait, mayFallBack);
    return *this;
  }
  Ops& call(const char* name, SyncKind kind) {
    stack_.beginCall(stack_.name(name), kind);
    return *this;
  }
  bool passes(const char* name) { return stack_.passes(stack_.name(name), nullptr); }
  Ops& end(int count = 1) {
    while (count-- > 0) stack_.end();
    return *this;
  }
  Ops& op(const char* name, OpWait wait = {}) { return begin(name, wait).end(); }

  Recorder& recorder() { return recorder_; }
  std::string nameOf(NameId id) {
    for (const auto& d : definitions().names) {
      if (d.id == id) return d.text;
    }
    return "?";
  }
  void drain() {
    recorder_.lane().drain(
        [this](const EventRecord& record) { record.visit([this](const auto& e) { keep(e); }); });
  }

  std::vector<events::SyncPoint> syncs;
  std::vector<events::FallbackEvent> fallbacks;
  std::vector<events::NamedSpan> named;

 private:
  const Definitions& definitions() {
    recorder_.names().takeNew(definitions_);
    return definitions_;
  }
  void keep(const events::SyncPoint& e) { syncs.push_back(e); }
  void keep(const events::FallbackEvent& e) { fallbacks.push_back(e); }
  void keep(const events::NamedSpan& e) { named.push_back(e); }
  template <typename T>
  void keep(const T&) {
    QFAIL("an event of another kind");
  }

  OpLayer layer_;
  Recorder recorder_;
  OpStack stack_;
  Definitions definitions_;
};

constexpr OpWait kToCpu{SyncKind::Fallback, 100};
constexpr OpWait kToDevice{SyncKind::CopyToDevice, 40};
constexpr OpWait kScalar{SyncKind::ScalarRead, 4};

}  // namespace

class TestOpStack : public QObject {
  Q_OBJECT
 private slots:
  void aCallThatWaitsHoldsTheWaitsInIt() {
    Ops ops;
    ops.call("torch.mps.synchronize", SyncKind::Synchronize);
    ops.op("aten::_local_scalar_dense", kScalar).op("aten::mul").end();
    ops.begin("aten::_local_scalar_dense", kScalar)
        .call("torch.mps.synchronize", SyncKind::Synchronize)
        .end(2);
    ops.drain();
    QCOMPARE(ops.syncs.size(), std::size_t{2});
    QCOMPARE(ops.nameOf(ops.syncs[0].op()), std::string("torch.mps.synchronize"));
    QVERIFY(ops.syncs[0].kind() == SyncKind::Synchronize && ops.syncs[0].deliberate() == 0);
    QCOMPARE(ops.nameOf(ops.syncs[1].op()), std::string("aten::_local_scalar_dense"));
  }

  void theTrainingIsBlockedFromTheOutermostWaitToItsEnd() {
    Ops ops;
    Recorder& recorder = ops.recorder();
    recorder.setTrainingThread(recorder.lane().id());
    const auto isBlocked = [&recorder] { return recorder.blocked().now; };
    QVERIFY(!ops.begin("aten::item").recorder().blocked().now);
    ops.begin("aten::_local_scalar_dense", kScalar);
    QVERIFY(isBlocked());
    ops.begin("aten::copy_", {SyncKind::CopyToHost, 4}).end();
    QVERIFY(isBlocked());
    ops.end();
    QVERIFY(!isBlocked());
    ops.end().begin("aten::kthvalue").begin("aten::_to_cpu", kToCpu).end();
    QVERIFY(isBlocked());  // the op still runs on the CPU
    ops.end().call("torch.mps.synchronize", SyncKind::Synchronize);
    QVERIFY(isBlocked());
    ops.end().op("aten::copy_", {SyncKind::CopyToHost, 4, false});
    QVERIFY(recorder.blocked() == (Recorder::Blocked{false, 3}));
  }

  void whatOtherThreadsWaitForBlocksNoTraining() {
    Ops ops;
    ops.recorder().setTrainingThread(ops.recorder().lane().id() + 1);
    ops.call("torch.mps.synchronize", SyncKind::Synchronize);
    QVERIFY(ops.recorder().blocked() == Recorder::Blocked{});
    // Backward's threads work for the one that trains, which stands still at one line.
    ops.end().recorder().setAutograd({[]() noexcept { return AutogradPlace{}; },
                                      []() noexcept { return RunningNode{&kScalar}; }});
    ops.call("torch.mps.synchronize", SyncKind::Synchronize);
    QVERIFY(ops.recorder().blocked() == (Recorder::Blocked{true, 0}));
    ops.end();
    QVERIFY(ops.recorder().blocked() == Recorder::Blocked{});
  }

  void reportsTheOutermostOpThatWaits() {
    Ops ops;
    ops.begin("aten::item").begin("aten::_local_scalar_dense", kScalar);
    ops.begin("aten::copy_", {SyncKind::CopyToHost, 4}).op("aten::_copy_from").end(3);
    ops.drain();
    QCOMPARE(ops.syncs.size(), std::size_t{1});
    QCOMPARE(ops.nameOf(ops.syncs[0].op()), std::string("aten::_local_scalar_dense"));
    QCOMPARE(ops.syncs[0].kind(), SyncKind::ScalarRead);
    QCOMPARE(ops.syncs[0].bytes(), std::uint64_t{4});
    QVERIFY(ops.fallbacks.empty());
  }

  void ignoresCopiesThatDoNotBlock() {
    Ops ops;
    ops.op("aten::copy_", {SyncKind::CopyToHost, 4, false});
    // An op inside it may still wait.
    ops.begin("aten::copy_", {SyncKind::CopyToHost, 4, false})
        .op("aten::nonzero", {SyncKind::Nonzero, 8});
    ops.end();
    ops.drain();
    QCOMPARE(ops.syncs.size(), std::size_t{1});
    QCOMPARE(ops.syncs[0].kind(), SyncKind::Nonzero);
  }

  void marksDeliberateWaits() {
    Ops ops;
    ops.recorder().setPhase(events::Phase::LossRead);
    ops.op("aten::_local_scalar_dense", kScalar).op("aten::copy_", kToDevice);
    ops.recorder().setPhase(events::Phase::DeviceMove);
    ops.op("aten::copy_", kToDevice).op("aten::_local_scalar_dense", kScalar);
    ops.drain();
    std::vector<int> deliberate;
    for (const auto& sync : ops.syncs) deliberate.push_back(sync.deliberate());
    QCOMPARE(deliberate, (std::vector<int>{1, 0, 1, 0}));
  }

  void waitsInADeliberateScopeAreDeliberate() {
    Ops ops;
    {
      const DeliberateScope evaluation(ops.recorder(), "evaluation");
      ops.op("aten::_local_scalar_dense", kScalar);
    }
    ops.op("aten::_local_scalar_dense", kScalar);
    ops.drain();
    QCOMPARE(ops.syncs.size(), std::size_t{2});
    QCOMPARE(ops.syncs[0].deliberate(), std::uint8_t{1});
    QCOMPARE(ops.syncs[1].deliberate(), std::uint8_t{0});
    QCOMPARE(ops.named.size(), std::size_t{1});
    QCOMPARE(ops.nameOf(ops.named[0].name()), std::string("evaluation"));
    QCOMPARE(ops.named[0].continued(), std::uint8_t{0});
    QVERIFY(ops.named[0].begin_ns() <= ops.syncs[0].begin_ns());
    QVERIFY(endNsOf(ops.named[0]) >= endNsOf(ops.syncs[0]));
  }

  void mergesAFallback() {
    Ops ops;
    // cat: one _to_cpu for the tensor list, one for the rest; the CPU's op; the result back.
    ops.begin("aten::cat");
    ops.begin("aten::_to_cpu", kToCpu).op("aten::copy_", {SyncKind::CopyToHost, 100}).end();
    ops.op("aten::_to_cpu", kToCpu).op("aten::cat");
    ops.begin("aten::_to_copy").op("aten::copy_", kToDevice).end();
    ops.op("aten::_copy_from_and_resize", {SyncKind::CopyToDevice, 2}).end();
    ops.drain();
    QVERIFY(ops.syncs.empty());
    QCOMPARE(ops.fallbacks.size(), std::size_t{1});
    const auto& fallback = ops.fallbacks[0];
    QCOMPARE(ops.nameOf(fallback.op()), std::string("aten::cat"));
    QCOMPARE(fallback.bytes_to_cpu(), std::uint64_t{200});
    QCOMPARE(fallback.bytes_to_device(), std::uint64_t{42});
    QVERIFY(fallback.wait_ns() <= fallback.duration_ns());
  }

  void keepsTwoFallbacksApart() {
    Ops ops;
    ops.begin("aten::outer");
    ops.begin("aten::erfinv").op("aten::_to_cpu", kToCpu).end();
    ops.begin("aten::sort").op("aten::_to_cpu", kToCpu).end().end();
    ops.drain();
    QCOMPARE(ops.fallbacks.size(), std::size_t{2});
    QCOMPARE(ops.nameOf(ops.fallbacks[0].op()), std::string("aten::erfinv"));
    QCOMPARE(ops.nameOf(ops.fallbacks[1].op()), std::string("aten::sort"));
  }

  void namesTheFunctionalFormOnce() {
    Ops ops;
    ops.begin("aten::index_put_").begin("aten::erfinv_").begin("aten::erfinv");
    ops.op("aten::_to_cpu", kToCpu);
    ops.op("aten::_copy_from_and_resize", {SyncKind::CopyToDevice, 8}).end();
    // In the outer form of the op that fell back: still part of the fallback.
    ops.op("aten::copy_", kToDevice).end(2);
    ops.drain();
    QVERIFY(ops.syncs.empty());
    QCOMPARE(ops.fallbacks.size(), std::size_t{1});
    QCOMPARE(ops.nameOf(ops.fallbacks[0].op()), std::string("aten::erfinv_"));
    QCOMPARE(ops.fallbacks[0].bytes_to_device(), std::uint64_t{48});
  }

  void reportsAFallbackInsteadOfItsWaits() {
    Ops ops;
    ops.begin("aten::nonzero", {SyncKind::Nonzero, 8}).op("aten::_to_cpu", kToCpu).end();
    ops.op("aten::_local_scalar_dense", kScalar);
    ops.drain();
    QCOMPARE(ops.fallbacks.size(), std::size_t{1});
    QCOMPARE(ops.syncs.size(), std::size_t{1});
    QCOMPARE(ops.syncs[0].kind(), SyncKind::ScalarRead);
  }

  void timesAFallbackFromItsBegin() {
    constexpr std::int64_t kBeforeNs = 2'000'000;  // in the op, before it goes to the CPU
    Ops ops;
    const std::int64_t beginNs = ops.recorder().now();
    ops.begin("aten::mode");
    const std::int64_t until = monotonicNs() + kBeforeNs;
    while (monotonicNs() < until) {
    }
    ops.op("aten::_to_cpu", kToCpu).end();
    const std::int64_t endNs = ops.recorder().now();
    ops.drain();
    QCOMPARE(ops.fallbacks.size(), std::size_t{1});
    const auto& fallback = ops.fallbacks[0];
    QVERIFY(fallback.begin_ns() >= beginNs);
    QVERIFY(fallback.begin_ns() + fallback.duration_ns() <= endNs);
    // The recorder's clock may differ from the system's by a few parts in a thousand.
    QVERIFY(fallback.duration_ns() > kBeforeNs / 10 * 9);
  }

  void reportsTheFallbackOfAnOpThatIsNotWatched() {
    Ops ops;
    // Around it only an op that never falls back.
    ops.begin("aten::allclose", {}, false).op("aten::_to_cpu", kToCpu).end();
    ops.drain();
    QCOMPARE(ops.fallbacks.size(), std::size_t{1});
    QCOMPARE(ops.nameOf(ops.fallbacks[0].op()), std::string("aten::_to_cpu"));
    QCOMPARE(ops.fallbacks[0].bytes_to_cpu(), std::uint64_t{100});

    Ops all(OpLayer::kCallback);  // who sees all ops knows that nobody fell back
    all.op("aten::_to_cpu", kToCpu);
    all.drain();
    QVERIFY(all.fallbacks.empty());
  }

  void reportsAStagedOpThatCopiesByItself() {
    Ops ops;
    const OpWait onDevice{SyncKind::None, 64}, onCpu{SyncKind::Fallback, 64};
    ops.begin("aten::linalg_svd", onDevice).begin("aten::_linalg_svd", onDevice);
    ops.op("aten::copy_", {SyncKind::CopyToHost, 64});
    ops.op("aten::_linalg_svd", onCpu);
    ops.op("aten::copy_", {SyncKind::CopyToDevice, 80}).end(2);
    ops.drain();
    QVERIFY(ops.syncs.empty());
    QCOMPARE(ops.fallbacks.size(), std::size_t{1});
    QCOMPARE(ops.nameOf(ops.fallbacks[0].op()), std::string("aten::linalg_svd"));
    QCOMPARE(ops.fallbacks[0].bytes_to_cpu(), std::uint64_t{64});
    QCOMPARE(ops.fallbacks[0].bytes_to_device(), std::uint64_t{80});
    QVERIFY(ops.fallbacks[0].wait_ns() > 0);

    // On CPU tensors alone it is no fallback.
    ops.begin("aten::linalg_svd", onCpu).op("aten::_linalg_svd", onCpu).end();
    ops.drain();
    QCOMPARE(ops.fallbacks.size(), std::size_t{1});
  }

  void reportsTheWaitsOfAStagedOpAsItsOwn() {
    Ops ops;
    const OpWait onDevice{SyncKind::None, 64};
    ops.begin("aten::_linalg_eigh", onDevice).op("aten::_local_scalar_dense", kScalar);
    ops.op("aten::copy_", {SyncKind::CopyToHost, 8}).end();
    ops.op("aten::_linalg_eigh", onDevice);  // this one does not wait
    ops.drain();
    QVERIFY(ops.fallbacks.empty());
    QCOMPARE(ops.syncs.size(), std::size_t{1});
    QCOMPARE(ops.nameOf(ops.syncs[0].op()), std::string("aten::_linalg_eigh"));
    QCOMPARE(ops.syncs[0].kind(), SyncKind::ValueRead);
    QCOMPARE(ops.syncs[0].bytes(), std::uint64_t{12});
  }

  void beginsAnOpOnceOnItsWay() {
    Ops callback(OpLayer::kCallback);
    QVERIFY(!callback.passes("aten::copy_"));
    callback.begin("aten::copy_", kToDevice);
    QVERIFY(!callback.passes("aten::nonzero"));
    QVERIFY(callback.passes("aten::copy_"));
    QVERIFY(!callback.passes("aten::copy_"));  // another one, inside it
    callback.end();
    QVERIFY(!callback.passes("aten::copy_"));

    Ops kernel;
    kernel.begin("aten::copy_", kToDevice);
    QVERIFY(!kernel.passes("aten::copy_"));  // another one, inside it
    kernel.end();
  }

  void survivesDepthAndOddEnds() {
    Ops ops;
    ops.recorder().lane().openSpans().push(0, kNoId);
    ops.end();  // began before observation; the phase stays open
    QCOMPARE(ops.recorder().lane().openSpans().depth(), 1u);
    for (int i = 0; i < 200; ++i) ops.begin("aten::add");
    QVERIFY(!ops.passes("aten::add"));  // not kept
    ops.op("aten::_to_cpu", kToCpu).op("aten::_local_scalar_dense", kScalar).end(200);
    ops.op("aten::_local_scalar_dense", kScalar);
    ops.drain();
    QCOMPARE(ops.syncs.size(), std::size_t{1});
    QVERIFY(ops.fallbacks.empty());
  }

  void namesTheOpThatReadsValues() {
    Ops ops;
    ops.begin("aten::masked_fill").begin("aten::masked_fill_").begin("aten::item");
    ops.op("aten::_local_scalar_dense", kScalar).end(3);
    ops.begin("aten::where").op("aten::nonzero", {SyncKind::Nonzero, 8}).end();
    ops.begin("aten::is_nonzero").begin("aten::item");
    ops.op("aten::_local_scalar_dense", kScalar).end(2);
    ops.drain();
    QCOMPARE(ops.syncs.size(), std::size_t{3});
    QCOMPARE(ops.nameOf(ops.syncs[0].op()), std::string("aten::masked_fill"));
    QCOMPARE(ops.syncs[0].kind(), SyncKind::ValueRead);
    QCOMPARE(ops.nameOf(ops.syncs[1].op()), std::string("aten::where"));
    QCOMPARE(ops.syncs[1].kind(), SyncKind::Nonzero);
    QCOMPARE(ops.nameOf(ops.syncs[2].op()), std::string("aten::_local_scalar_dense"));
    QCOMPARE(ops.syncs[2].kind(), SyncKind::ScalarRead);
  }

  void mergesReadsOfAnOpThatIsKnownToWait() {
    Ops ops;
    ops.begin("aten::bincount", {SyncKind::ValueRead, 80});
    ops.begin("aten::item").op("aten::_local_scalar_dense", kScalar).end();
    ops.begin("aten::item").op("aten::_local_scalar_dense", kScalar).end().end();
    ops.drain();
    QCOMPARE(ops.syncs.size(), std::size_t{1});
    QCOMPARE(ops.syncs[0].kind(), SyncKind::ValueRead);
    QCOMPARE(ops.syncs[0].bytes(), std::uint64_t{80});
  }
};

HIGHWATER_TEST(TestOpStack, QCoreApplication)
#include "tst_op_stack.moc"
