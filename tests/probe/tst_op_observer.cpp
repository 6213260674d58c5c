#include "support/test_program.h"
#include "worker/worker_process.h"

using namespace highwater;
using worker::test::Stream;
using worker::test::WorkerProcess;

/// Tests the observer on real ops of a device, in a process with libtorch.
class TestOpObserver : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() {
    // Before PyTorch 2.14 linalg_svd falls back anyway.
    WorkerProcess process(
        OBSERVER_CHECK, {SIMMPS_LIBRARY},
        {{"PYTORCH_ENABLE_MPS_FALLBACK", "1"}, {"HIGHWATER_SIM_MISSING_OPS", "aten::_linalg_svd"}});
    const int code = process.finish();
    QVERIFY2(code == 0, qPrintable(process.errors()));
    stream_ = process.stream();
    QCOMPARE(stream_.complaint, QString());
  }

  void reportsFallbacks() {
    QCOMPARE(stream_.fallbacks.size(), std::size_t{3});  // the third at level ops
    const auto& svd = stream_.fallbacks[0];
    QCOMPARE(svd.step(), 1u);
    QVERIFY2(stream_.nameOf(svd.op()).find("linalg_svd") != std::string::npos,
             stream_.nameOf(svd.op()).c_str());
    QCOMPARE(svd.bytes_to_cpu(), std::uint64_t{6 * 4 * 4});
    QCOMPARE(svd.bytes_to_device(), std::uint64_t{(6 * 4 + 4 + 4 * 4) * 4});
    QVERIFY(svd.duration_ns() > 0);
    QVERIFY(svd.wait_ns() > 0 && svd.wait_ns() <= svd.duration_ns());

    const auto& renorm = stream_.fallbacks[1];
    QCOMPARE(renorm.step(), 3u);
    QCOMPARE(stream_.nameOf(renorm.op()), std::string("aten::embedding_renorm_"));
    QCOMPARE(renorm.bytes_to_cpu(), std::uint64_t{10 * 4 * 4 + 4 * 8});
    QCOMPARE(renorm.bytes_to_device(), std::uint64_t{10 * 4 * 4});
  }

  void reportsSyncPoints() {
    std::map<std::uint32_t, std::vector<events::SyncPoint>> byStep;
    for (const auto& sync : stream_.syncPoints) byStep[sync.step()].push_back(sync);
    // A fallback's waits are part of it.
    QVERIFY(byStep[1].empty());
    QVERIFY(byStep[3].empty());
    const auto only = [&byStep](std::uint32_t step) {
      return byStep[step].size() == 1 ? byStep[step][0] : events::SyncPoint();
    };
    QCOMPARE(byStep[2].size(), std::size_t{2});
    QCOMPARE(byStep[2][0].kind(), events::SyncKind::CopyToDevice);
    QCOMPARE(byStep[2][0].bytes(), std::uint64_t{160});
    QCOMPARE(only(4).kind(), events::SyncKind::ScalarRead);
    QCOMPARE(stream_.nameOf(only(4).op()), std::string("aten::_local_scalar_dense"));
    QCOMPARE(only(5).kind(), events::SyncKind::CopyToHost);
    QCOMPARE(only(5).bytes(), std::uint64_t{96});
    QCOMPARE(only(6).kind(), events::SyncKind::Nonzero);
    QCOMPARE(only(7).kind(), events::SyncKind::Synchronize);
    QVERIFY(byStep[8].empty());
  }

  void namesCallSites() {
#if defined(CALL_SITES_HAVE_LINES)
    const std::string file = "observer_check.cpp:";
#else
    const std::string file = "observer_check (";
#endif
    const auto placeIn = [&](const auto& event, const char* function) {
      const std::string place = stream_.definitions.callSite(event.call_site());
      return place.find(file) == 0 && place.find(function) != std::string::npos;
    };
    QVERIFY(placeIn(stream_.fallbacks[0], "runOps"));
    std::set<std::uint32_t> places;
    for (const auto& sync : stream_.syncPoints) {
      const std::string place = stream_.definitions.callStack(sync.call_site());
      QVERIFY2(placeIn(sync, "run"), place.c_str());
      if (sync.step() >= 20) QVERIFY2(placeIn(sync, "runOpsThatReadValues"), place.c_str());
      if (sync.step() >= 20) places.insert(sync.call_site());
      if (sync.step() >= 20) QVERIFY2(place.find("main") != std::string::npos, place.c_str());
    }
    QVERIFY(places.size() >= 7);  // each on its own line
  }

  void recordsOpsOfForward() {
    const auto linear = opsOf(9, "aten::linear");
    QCOMPARE(linear.size(), std::size_t{1});
    QCOMPARE(linear[0].depth(), std::uint16_t{0});
    QCOMPARE(linear[0].phase(), events::Phase::Forward);
    QCOMPARE(linear[0].backward(), std::uint8_t{0});
    // Its 72 bytes use the smallest idle buffer: 512 bytes if the queue still holds the 256-byte
    // ones.
    QVERIFY2(linear[0].grown_bytes() == 256 || linear[0].grown_bytes() == 512,
             qPrintable(QString::number(linear[0].grown_bytes())));
    QVERIFY(linear[0].current_bytes() > 0);
    QCOMPARE(stream_.nameOf(linear[0].shapes()), std::string("[6, 4] float32, [3, 4] float32"));
    QCOMPARE(stream_.definitions.modulePath(linear[0].module_id()), std::string("layers.0"));
    const auto sum = opsOf(9, "aten::sum");
    QVERIFY(!sum.empty());
    QCOMPARE(sum[0].module_id(), kNoId);
    int inside = 0;
    for (const auto& op : opsOf(9)) {
      const bool within = op.begin_ns() > linear[0].begin_ns() &&
                          op.begin_ns() < linear[0].begin_ns() + linear[0].duration_ns() &&
                          op.thread() == linear[0].thread();
      if (!within) continue;
      ++inside;
      QVERIFY(op.depth() > 0);
      QCOMPARE(op.module_id(), linear[0].module_id());
      QVERIFY(op.begin_ns() + op.duration_ns() <= linear[0].begin_ns() + linear[0].duration_ns());
    }
    QVERIFY(inside > 0);
  }

  void recordsOpsOfBackward() {
    std::map<std::string, std::string> modules;
    int insideNodes = 0;
    const auto linear = opsOf(9, "aten::linear");
    for (const auto& op : opsOf(9)) {
      if (!op.backward()) continue;
      QCOMPARE(op.phase(), events::Phase::Backward);
      QVERIFY(op.thread() != linear[0].thread());  // autograd's own
      const std::string name = stream_.nameOf(op.op());
      if (name.find("Backward0") != std::string::npos) {
        modules[name.substr(name.rfind(':') + 1)] = stream_.definitions.modulePath(op.module_id());
      }
      insideNodes += op.depth() > 0 && op.module_id() == linear[0].module_id() ? 1 : 0;
    }
    QVERIFY2(modules.count("SumBackward0") == 1, "no node of sum");
    QCOMPARE(modules["SumBackward0"], std::string());
    QVERIFY(modules.count("MmBackward0") + modules.count("LinearBackward0") +
                modules.count("AddmmBackward0") >
            0);
    modules.erase("SumBackward0");
    for (const auto& [node, path] : modules) QCOMPARE(path, std::string("layers.0"));
    QVERIFY(insideNodes > 0);
  }

  void namesTheThreadOfBackward() {
    std::set<std::string> forward, backward;
    for (const auto& op : opsOf(9)) {
      const auto thread = stream_.threads.find(op.thread());
      QVERIFY(thread != stream_.threads.end());
      if (op.backward()) backward.insert(thread->second);
      if (op.phase() == events::Phase::Forward) forward.insert(thread->second);
    }
    QCOMPARE(backward, std::set<std::string>{"autograd (mps)"});
    QCOMPARE(forward, std::set<std::string>{"thread 1"});
  }

  void recordsTheOpsOfAFallback() {
    QVERIFY(!opsOf(10, "aten::_to_cpu").empty());
    QCOMPARE(stream_.fallbacks[2].step(), 10u);
    for (const auto& sync : stream_.syncPoints) QVERIFY(sync.step() != 10);
  }

  void followsTheLevel() {
    for (const auto& op : stream_.ops) QVERIFY(op.step() == 9 || op.step() == 10);
    std::vector<std::uint32_t> steps;
    for (const auto& sync : stream_.syncPoints) steps.push_back(sync.step());
    QVERIFY(std::count(steps.begin(), steps.end(), 11u) == 0);
    QVERIFY(std::count(steps.begin(), steps.end(), 12u) == 1);
    QCOMPARE(stream_.drops.size(), std::size_t{0});
  }

 private:
  /// The names of one step's ops, ordered by begin.
  std::vector<events::OpSpan> opsOf(std::uint32_t step, const std::string& name = {}) const {
    std::vector<events::OpSpan> found;
    for (const auto& op : stream_.ops) {
      if (op.step() == step && (name.empty() || stream_.nameOf(op.op()) == name)) {
        found.push_back(op);
      }
    }
    std::sort(found.begin(), found.end(),
              [](const auto& a, const auto& b) { return a.begin_ns() < b.begin_ns(); });
    return found;
  }
  Stream stream_;
};

HIGHWATER_TEST(TestOpObserver, QCoreApplication)
#include "tst_op_observer.moc"
