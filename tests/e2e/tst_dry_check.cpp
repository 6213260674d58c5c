// `doctor --workload` predicts what the run on the simulated device then does.
#include <QSet>

#include "analysis/live_store.h"
#include "core/exit_codes.h"
#include "e2e/runs.h"
#include "run/recording_loader.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;

namespace {

/// Ops without their overload, as a run names them.
QSet<QString> opsOf(const QJsonObject& report, const char* happens) {
  QSet<QString> ops;
  for (const QJsonValue& each : report["findings"].toArray()) {
    if (each["happens"] != QLatin1String(happens)) continue;
    ops.insert(each["op"].toString().section(u'.', 0, 0));
  }
  return ops;
}

Outcome askWorkload(const QStringList& more, const QStringList& environment = {}) {
  return runHighwater(QStringList{"doctor", "--workload", "--device", "sim", "--json"} + more,
                      environment);
}

}  // namespace

class TestDryCheck : public QObject {
  Q_OBJECT

 private slots:
  void foretellsTheFallbacks_data() {
    QTest::addColumn<qsizetype>("count");
    QTest::newRow("hidden-fallback") << qsizetype{3};
    QTest::newRow("clean") << qsizetype{0};
  }

  void foretellsTheFallbacks() {
    QFETCH(qsizetype, count);
    const QString scenario = QString::fromUtf8(QTest::currentDataTag());
    const auto asked = askWorkload({"--scenario", scenario});
    QVERIFY2(asked.exitCode == kExitDone, qPrintable(asked.err));
    const QJsonObject report = jsonOf(asked);
    QCOMPARE(report["schema"].toInt(), 1);
    QCOMPARE(report["simulated"].toBool(), true);
    QVERIFY(report["ops_checked"].toInt() > 20);
    QCOMPARE(report["ops_with_mps_kernel"].toInt() + count, report["ops_checked"].toInt());
    const QSet<QString> foretold = opsOf(report, "falls_back");
    QCOMPARE(foretold.size(), count);
    QCOMPARE(report["findings"].toArray().size(), count);
    QCOMPARE(foretold, fallbacksOfRun(scenario));
  }

  void believesTheDeviceAboutMissingOps() {
    const auto asked = askWorkload({"--sim-missing-ops", "gelu,native_layer_norm"});
    QCOMPARE(asked.exitCode, int{kExitFailed});
    QCOMPARE(opsOf(jsonOf(asked), "fails"),
             (QSet<QString>{"aten::gelu", "aten::native_layer_norm"}));
    const QJsonObject first = jsonOf(asked)["findings"].toArray()[0].toObject();
    QCOMPARE(first["op"].toString(), QString("aten::gelu"));
    QCOMPARE(first["times_a_step"].toInt(), 2);
    QCOMPARE(first["places"][0]["module"].toString(), QString("layers.0"));
    QCOMPARE(first["error"].toString(), QString("NotImplementedError"));
    const auto allowed = askWorkload({"--sim-missing-ops", "gelu", "--fallback"});
    QVERIFY2(allowed.exitCode == kExitDone, qPrintable(allowed.out));
  }

 private:
  QSet<QString> fallbacksOfRun(const QString& scenario) {
    const QString file = folder_.filePath(scenario + ".highwater");
    const auto run = runHighwater({"record", "--device", "sim", "--scenario", scenario, "--steps",
                                   "5", "--force", "-o", file});
    if (run.exitCode != kExitDone) return {run.err};
    analysis::LiveStore store;
    if (!run::loadRecording(file.toStdString(), store)) return {"no recording"};
    QSet<QString> ops;
    for (const auto& each : store.fallbacks()) {
      ops.insert(QString::fromStdString(store.name(each.op())));
    }
    return ops;
  }

  QTemporaryDir folder_;
};

HIGHWATER_TEST(TestDryCheck, QCoreApplication)
#include "tst_dry_check.moc"
