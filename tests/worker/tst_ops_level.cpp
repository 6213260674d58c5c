// The worker at probe level ops, on the simulated device.

#include "support/test_program.h"
#include "worker/worker_process.h"

using namespace highwater;
using worker::test::Stream;
using worker::test::WorkerProcess;

class TestOpsLevel : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() {
    WorkerProcess process({"--device", "sim", "--steps", "4", "--batch", "4", "--width", "32",
                           "--layers", "1", "--heads", "2", "--seq", "16", "--level", "ops",
                           "--autostart"});
    const int code = process.finish();
    QVERIFY2(code == 0, qPrintable(process.errors()));
    stream_ = process.stream();
    QCOMPARE(stream_.complaint, QString());
  }

  void recordsEveryStepWithoutLoss() {
    std::map<std::uint32_t, std::size_t> counts;
    for (const auto& op : stream_.ops) ++counts[op.step()];
    for (std::uint32_t step = 1; step <= 4; ++step) QVERIFY(counts[step] > 300);
    QCOMPARE(counts[3], counts[2]);  // the same work, except where a loss is read
    for (const auto& drop : stream_.drops) QVERIFY(drop.kind() != events::EventKind::OpSpan);
  }

  void knowsTheModulesInForwardAndBackward() {
    // "": the loss, and ops of the model outside its modules.
    const std::set<std::string> leaves = {"",
                                          "tokens",
                                          "dropout",
                                          "norm",
                                          "head",
                                          "layers.0",
                                          "layers.0.attention_norm",
                                          "layers.0.attention",
                                          "layers.0.attention.query",
                                          "layers.0.attention.key",
                                          "layers.0.attention.value",
                                          "layers.0.attention.out",
                                          "layers.0.attention.dropout",
                                          "layers.0.feed_forward_norm",
                                          "layers.0.widen",
                                          "layers.0.narrow",
                                          "layers.0.dropout"};
    QCOMPARE(pathsOf(events::Phase::Forward), leaves);
    QCOMPARE(pathsOf(events::Phase::Backward), leaves);
    for (const auto& op : stream_.ops) {
      if (op.phase() != events::Phase::OptimizerStep) continue;
      QCOMPARE(op.module_id(), kNoId);
    }
  }

  void nestsOpsByDepth() {
    // Ops arrive when they end: an inner op before the one around it.
    std::map<std::uint16_t, std::map<std::uint16_t, events::OpSpan>> last;  // by thread and depth
    int nested = 0;
    for (const auto& op : stream_.ops) {
      auto& ofThread = last[op.thread()];
      const auto child = ofThread.find(op.depth() + 1);
      if (child != ofThread.end() && child->second.begin_ns() >= op.begin_ns()) {
        ++nested;
        QVERIFY(child->second.begin_ns() + child->second.duration_ns() <=
                op.begin_ns() + op.duration_ns());
      }
      const auto before = ofThread.find(op.depth());
      if (before != ofThread.end()) {
        QVERIFY(before->second.begin_ns() + before->second.duration_ns() <= op.begin_ns());
      }
      ofThread[op.depth()] = op;
    }
    QVERIFY(nested > 300);
  }

  void knowsCurrentAfterOpsOfTheDevice() {
    int known = 0;
    for (const auto& op : stream_.ops) {
      if (op.phase() != events::Phase::Forward || op.step() != 2) continue;
      const std::string name = stream_.nameOf(op.op());
      if (name != "aten::addmm" && name != "aten::mm" && name != "aten::linear") continue;
      QVERIFY(op.current_bytes() >= static_cast<std::int64_t>(op.grown_bytes()));
      QVERIFY(op.shapes() != kNoId);
      // The inner op may write into memory that the outer one allocated.
      QVERIFY(op.grown_bytes() > 0 || name != "aten::linear");
      ++known;
    }
    QVERIFY(known > 0);
  }

 private:
  std::set<std::string> pathsOf(events::Phase phase) const {
    std::set<std::string> paths;
    for (const auto& op : stream_.ops) {
      if (op.step() == 2 && op.phase() == phase) {
        paths.insert(stream_.definitions.modulePath(op.module_id()));
      }
    }
    return paths;
  }

  Stream stream_;
};

HIGHWATER_TEST(TestOpsLevel, QCoreApplication)
#include "tst_ops_level.moc"
