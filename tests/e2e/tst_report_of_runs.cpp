// The report on real recordings from the simulated device: the path of a step, and what steps leave
// in memory, compared with the device's ledger.
#include <QVersionNumber>

#include "analysis/live_store.h"
#include "core/exit_codes.h"
#include "e2e/runs.h"
#include "run/recording_loader.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;

namespace {

/// Current allocated in the ledger's last entry before a time of the run.
std::int64_t currentAt(const Ledger& ledger, std::int64_t ns) {
  const auto& changes = ledger.currentBytes;
  const auto after = std::upper_bound(changes.begin(), changes.end(), std::pair(ns, INT64_MAX));
  return after == changes.begin() ? 0 : std::prev(after)->second;
}

/// Empty: there is none. On a busy machine the one evaluation of so short a run may cost the most,
/// and comes before what costs each step.
QJsonObject firstFinding(const QJsonObject& report, const QString& kind) {
  for (const QJsonValue& each : report["findings"].toArray()) {
    if (each["kind"].toString() == kind) return each.toObject();
  }
  return {};
}

}  // namespace

class TestReportOfRuns : public QObject {
  Q_OBJECT

 private slots:
  void theCleanPathIsOneMove() {
    const QJsonObject report = reportOf("clean");
    const QJsonObject paths = report["device_path"].toObject();
    QCOMPARE(paths["chains"][0]["chain"].toString(), QStringLiteral("host \u2192 mps"));
    QCOMPARE(paths["changes_p50"].toDouble(), 1.0);
    QCOMPARE(paths["deliberate_p50"].toDouble(), 1.0);
    // Steps 1, 10 and 12 read their loss.
    QCOMPARE(paths["chains"][1]["chain"].toString(), QStringLiteral("host \u2192 mps \u2192 host"));
    QCOMPARE(paths["chains"][1]["steps"].toInt(), 3);
    QCOMPARE(paths["chains"][1]["deliberate"].toInt(), 2);
    // Which of the three it is depends on who gets the cores.
    const QString verdict = report["verdict"]["text"].toString();
    QVERIFY2(verdict.contains("bottleneck") || verdict.contains("take turns"), qPrintable(verdict));
    // Two small blocks take turns: what a batch needs is handed out from either.
    QVERIFY(std::abs(report["memory_growth"]["median_bytes"].toInteger(-10'000)) <= 1024);
    QVERIFY(report["ops"].isNull());
    for (const QJsonValue& each : report["findings"].toArray()) {
      QCOMPARE(each["kind"].toString(), QString("evaluation"));  // see firstFinding()
    }
  }

  void fallbacksAreSwitches() {
    const QJsonObject report = reportOf("hidden-fallback");
    const QJsonObject paths = report["device_path"].toObject();
    QCOMPARE(paths["changes_p50"].toDouble(), 7.0);
    QCOMPARE(paths["unplanned_p50"].toDouble(), 6.0);
    QCOMPARE(paths["chains"][0]["chain"].toString(),
             QStringLiteral("host \u2192 mps \u2192 cpu: aten::embedding_renorm_ \u2192 mps \u2192 "
                            "cpu: aten::multi_margin_loss \u2192 mps \u2192 "
                            "cpu: aten::multi_margin_loss_backward \u2192 mps"));
    const QString evidence = firstFinding(report, "fallback")["evidence"].toString();
    QVERIFY2(evidence.contains("; 7 device switches a step (1 planned"), qPrintable(evidence));
  }

  void growthIsTheLedgers() {
    const QJsonObject report = reportOf("memory-growth", {"--level", "ops"});
    analysis::LiveStore store;
    QVERIFY(run::loadRecording(path("a.highwater").toStdString(), store));
    const Ledger ledger = Ledger::read(path("ledger.jsonl"), store.hello()->clock.monotonicEpochNs);
    std::vector<std::int64_t> grown;
    const auto& records = store.steps().records;
    for (std::size_t row = 2; row < records.size(); ++row) {
      const auto atEnd = [&](std::size_t i) {
        return currentAt(ledger, records[i].begin_ns() + records[i].duration_ns());
      };
      grown.push_back(atEnd(row) - atEnd(row - 1));
    }
    std::nth_element(grown.begin(), grown.begin() + std::ptrdiff_t(grown.size() / 2), grown.end());
    const std::int64_t truth = grown[grown.size() / 2];
    QVERIFY(truth > (1 << 20));
    QCOMPARE(report["memory_growth"]["median_bytes"].toInteger(), qint64{truth});
    const QJsonObject finding = firstFinding(report, "memory_growth");
    QVERIFY2(finding["where"].toString().startsWith("layers."),
             qPrintable(finding["where"].toString()));
    // PyTorch has no peaks of the phases before 2.9, and so no memory at their end.
    const bool hasPeaks =
        QVersionNumber::fromString(QStringLiteral(TORCH_VERSION)) >= QVersionNumber(2, 9);
    QCOMPARE(store.phaseMemory().empty(), !hasPeaks);
    if (!hasPeaks) return;
    // By phase: what the steps leave, except what is freed between them.
    double net = 0;
    for (const QJsonValue& each : report["ops"]["by_phase"].toArray()) {
      net +=
          each["net_bytes_per_step"].toDouble() + each["outside_ops_net_bytes_per_step"].toDouble();
    }
    QVERIFY2(std::abs(net / double(truth) - 1) < 0.05, qPrintable(QString::number(net)));
  }

  void opsAddUp() {
    const QJsonObject report = reportOf("clean", {"--level", "ops"});
    const QJsonObject ops = report["ops"].toObject();
    QCOMPARE(ops["steps"].toInt(), 11);
    double byOp = 0, byModule = 0;
    qint64 count = 0;
    for (const QJsonValue& each : ops["by_op"].toArray()) {
      byOp += each["self_ms"].toDouble();
      count += each["count"].toInteger();
    }
    for (const QJsonValue& each : ops["by_module"].toArray())
      byModule += each["self_ms"].toDouble();
    QCOMPARE(count, ops["count"].toInteger());
    QVERIFY(std::abs(byOp - byModule) < 1e-6 * byOp);
    // Two threads take turns: no longer than the steps, and no shorter than the waits in them.
    analysis::LiveStore store;
    QVERIFY(run::loadRecording(path("a.highwater").toStdString(), store));
    const auto& records = store.steps().records;
    double stepsMs = 0, waitsMs = 0;
    for (std::size_t row = 1; row < records.size(); ++row) {
      const std::int64_t beginNs = records[row].begin_ns(), ns = records[row].duration_ns();
      stepsMs += double(ns) / 1e6;
      for (const events::SyncPoint& each : store.syncPoints()) {
        const bool within = each.begin_ns() >= beginNs && each.begin_ns() < beginNs + ns;
        if (within) waitsMs += double(each.duration_ns()) / 1e6;
      }
    }
    QVERIFY(waitsMs > 0);
    const QByteArray words = QByteArray::number(byOp) + " ms in ops, " +
                             QByteArray::number(waitsMs) + " ms of waits, " +
                             QByteArray::number(stepsMs) + " ms of steps";
    QVERIFY2(byOp > waitsMs && byOp < stepsMs, words.constData());
    QCOMPARE(ops["by_op"][0]["op"].toString(), QString("aten::copy_"));  // it waits
    // A reused block counts whole: a small tensor in the block of the optimizer's scratch memory
    // comes before the largest.
    const QJsonArray largest = ops["largest_tensors"].toArray();
    const auto ofLayer = std::find_if(largest.begin(), largest.end(), [](const QJsonValue& each) {
      return each["module"].toString().startsWith("layers.");
    });
    QVERIFY(ofLayer != largest.end());
    const QJsonObject tensor = ofLayer->toObject();
    QCOMPARE(tensor["bytes"].toInteger(), qint64{16 * 64 * 512 * 4});  // batch, length, 4 × width
    QVERIFY2(tensor["module"].toString().startsWith("layers."),
             qPrintable(tensor["module"].toString()));
    for (const QJsonValue& each : ops["by_module"].toArray()) {
      const QString module = each["module"].toString();
      if (module == "layers.0.attention")
        QVERIFY(each["net_bytes_per_step"].toInteger() > (1 << 20));
    }
  }

 private:
  QJsonObject reportOf(const QString& scenario, const QStringList& more = {}) {
    const auto run = runHighwater(QStringList{"record", "--device", "sim", "--scenario", scenario,
                                              "--steps", "12", "--force", "--sim-ledger",
                                              path("ledger.jsonl"), "-o", path("a.highwater")} +
                                  more);
    if (run.exitCode != kExitDone) {
      qWarning("%s", qPrintable(run.err));
      return {};
    }
    const auto report = runHighwater({"report", path("a.highwater"), "--json"});
    return jsonOf(report);
  }

  [[nodiscard]] QString path(const QString& name) const { return folder_.filePath(name); }

  QTemporaryDir folder_;
};

HIGHWATER_TEST(TestReportOfRuns, QCoreApplication)
#include "tst_report_of_runs.moc"
