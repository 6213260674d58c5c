// `doctor --selftest` on the simulated device: all checks pass. If a knob changes the device's
// behaviour, the check of that behaviour fails and the others still run.
#include <QSet>

#include "core/exit_codes.h"
#include "e2e/runs.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;

namespace {

QJsonObject checkOf(const QJsonObject& report, const QString& id) {
  for (const QJsonValue& each : report["checks"].toArray()) {
    if (each["id"] == id) return each.toObject();
  }
  return {};
}

Outcome selfTest(const QStringList& more, const QStringList& environment = {}) {
  // A check that waits for a core is not to look like one that hangs.
  return runHighwater(QStringList{"doctor", "--device", "sim", "--selftest"} + more,
                      QStringList{"HIGHWATER_HANG_TIMEOUT_MS=60000"} + environment);
}

}  // namespace

class TestSelfTest : public QObject {
  Q_OBJECT

 private slots:
  // Whoever runs the tests may have set it, as many do on a Mac.
  void initTestCase() { qunsetenv("PYTORCH_ENABLE_MPS_FALLBACK"); }

  void tellsWhoSetAVariable() {
    const auto outcome = runHighwater({"doctor", "--json"});
    const QJsonObject report = jsonOf(outcome);
    QJsonObject variables;
    for (const QJsonValue& each : report["environment"].toArray()) {
      variables[each["name"].toString()] = each;
    }
    // Highwater's own mark of each worker is nobody's setting.
    QVERIFY(!variables.contains("HIGHWATER_LAUNCH_ID"));
    const QJsonObject fallback = variables["PYTORCH_ENABLE_MPS_FALLBACK"].toObject();
    QVERIFY(fallback["value"].isNull() && !fallback["set_by_worker"].toBool(true));
    QCOMPARE(fallback["default"].toString(), QString("off"));
#ifndef Q_OS_MACOS
    const QJsonObject policy = variables["OMP_WAIT_POLICY"].toObject();
    QCOMPARE(policy["value"].toString(), qEnvironmentVariable("OMP_WAIT_POLICY", "PASSIVE"));
    QCOMPARE(policy["set_by_worker"].toBool(), !qEnvironmentVariableIsSet("OMP_WAIT_POLICY"));
#endif
  }

  void holdsOnTheSimulatedDevice() {
    const QString path = folder_.filePath("report.json");
    // The self-test ignores variables that would change what it tests.
    const auto run = selfTest({"--json", path}, {"PYTORCH_ENABLE_MPS_FALLBACK=1",
                                                 "PYTORCH_MPS_HIGH_WATERMARK_RATIO=1.8"});
    QVERIFY2(run.exitCode == kExitDone, qPrintable(run.out + run.err));
    QVERIFY2(run.out.contains("Self-test of the simulated mps"), qPrintable(run.out));
    QVERIFY2(run.out.contains(" pass, 0 fail, "), qPrintable(run.out));

    const QJsonObject report = jsonIn(path);
    QCOMPARE(report["schema"].toInt(), 1);
    QVERIFY(report["device"]["simulated"].toBool());
    QVERIFY(!report["versions"]["torch"].toString().isEmpty());
    QVERIFY(!report["environment"].toArray().isEmpty());
    QVERIFY(report["time_ms"].toDouble() > 0);
    const QJsonArray checks = report["checks"].toArray();
    QVERIFY(checks.size() >= 40);
    QSet<QString> ids;
    for (const QJsonValue& each : checks) {
      const QString id = each["id"].toString();
      QVERIFY2(!ids.contains(id), qPrintable(id));
      ids.insert(id);
      for (const char* member : {"assumption", "relied_on_by", "detail"}) {
        QVERIFY2(!each[QLatin1String(member)].toString().isEmpty(), qPrintable(id));
      }
      const QString outcome = each["outcome"].toString();
      // On a busy machine a wait may be uncertain, but no check may fail.
      QVERIFY2(outcome == "pass" || outcome == "skipped" || id.startsWith("wait-") ||
                   id.startsWith("enqueue-") || id.startsWith("event-"),
               qPrintable(id + ": " + outcome));
    }
    const QJsonObject memory = checkOf(report, "current-counts");
    QVERIFY(memory["measures"][1]["value"].toDouble() >= 3 * 1024 * 1024 + 1);
  }

  void saysWhichCheckDeviates_data() {
    QTest::addColumn<QStringList>("knobs");
    QTest::addColumn<QString>("deviates");
    QTest::addColumn<QString>("outcome");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* name, const QStringList& knobs, const char* deviates,
                        const char* outcome, const char* says) {
      QTest::newRow(name) << knobs << QString::fromUtf8(deviates) << QString::fromUtf8(outcome)
                          << QString::fromUtf8(says);
    };
    row("a queue that hangs", {"--sim-hang-at", "40"}, "wait-item", "fail", "hung: no answer");
    row("a process that aborts", {"--sim-crash-at", "40"}, "wait-item", "fail", "SIGABRT");
    row("an op without its kernel", {"--sim-missing-ops", "mm"}, "dispatcher-table", "fail",
        "mm or add has no kernel");
  }

  void saysWhichCheckDeviates() {
    QFETCH(QStringList, knobs);
    QFETCH(QString, deviates);
    QFETCH(QString, outcome);
    QFETCH(QString, says);
    const auto run =
        selfTest(QStringList{"counters,dispatcher-table,wait-item,buffer-size", "--json"} + knobs,
                 {"HIGHWATER_HANG_TIMEOUT_MS=8000"});
    QCOMPARE(run.exitCode, outcome == "fail" ? int{kExitFailed} : int{kExitDone});
    const QJsonObject report = jsonOf(run);
    QCOMPARE(report["checks"].toArray().size(), 4);
    const QJsonObject check = checkOf(report, deviates);
    QVERIFY2(check["outcome"] == outcome, qPrintable(run.out));
    QVERIFY2(check["detail"].toString().contains(says), qPrintable(check["detail"].toString()));
    // The other checks ran nevertheless.
    QCOMPARE(checkOf(report, "buffer-size")["outcome"].toString(), QString("pass"));
    QVERIFY(report["counts"]["pass"].toInt() >= 2);
  }

  void measuresWhenWorkStarts_data() {
    QTest::addColumn<QStringList>("knobs");
    QTest::addColumn<QString>("says");
    const QString eager = "eager: queued work starts at once";
    const QString deferred = "deferred: queued work starts when it is committed";
    QTest::newRow("eager") << QStringList() << eager;
    QTest::newRow("deferred") << QStringList{"--sim-commit", "deferred"} << deferred;
  }

  void measuresWhenWorkStarts() {
    QFETCH(QStringList, knobs);
    QFETCH(QString, says);
    // A busy machine may hide when work starts, even in several runs, but nothing makes one kind
    // look like the other.
    constexpr int kMostRuns = 12;
    bool known = false;
    for (int i = 0; i < kMostRuns && !known; ++i) {
      const auto run = selfTest(QStringList{"work-start", "--json"} + knobs);
      QVERIFY2(run.exitCode == kExitDone, qPrintable(run.out + run.err));
      const QJsonObject check = checkOf(jsonOf(run), "work-start");
      if (check["outcome"] == "unknown") continue;
      QCOMPARE(check["detail"].toString(), says);
      known = true;
    }
    QVERIFY2(known, "it is not known in any of the runs");
  }

  void savesWhyNothingCanBeChecked_data() {
    QTest::addColumn<QString>("worker");
    QTest::addColumn<QString>("problem");
    QTest::addColumn<QString>("says");
    QTest::newRow("no worker") << folder_.filePath("none") << "which does not exist" << QString();
    // Ends as one does whose libraries are missing.
    const QString broken = folder_.filePath("broken-worker");
    QFile file(broken);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("#!/bin/sh\necho 'dyld: Library not loaded: @rpath/libtorch.dylib' >&2\nexit 127\n");
    file.close();
    QVERIFY(file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner));
    QTest::newRow("a worker that does not load") << broken << "libtorch.dylib"
                                                 << "dyld: Library not loaded";
  }

  void savesWhyNothingCanBeChecked() {
    QFETCH(QString, worker);
    QFETCH(QString, problem);
    QFETCH(QString, says);
    const QString path = folder_.filePath("problem.json");
    QFile::remove(path);
    const auto run = selfTest({"--json", path}, {"HIGHWATER_WORKER=" + worker});
    QVERIFY(run.exitCode != kExitDone);
    const QJsonObject report = jsonIn(path);
    QVERIFY2(report["problem"].toString().contains(problem),
             qPrintable(report["problem"].toString()));
    QVERIFY(!report["complete"].toBool(true));
    QVERIFY(!report["system"].toObject().isEmpty());
    if (says.isEmpty()) return;
    const QJsonObject loader = report["loader"].toObject();
    QVERIFY2(loader["says"].toArray().first().toString().contains(says), qPrintable(run.err));
    QVERIFY(!loader["linked_libraries"].toArray().isEmpty());
    QCOMPARE(loader["exit_code"].toInt(), 127);
  }

  void refusesAnUnknownCheck() {
    const auto run = selfTest({"peaks,counters-of-mine"});
    QCOMPARE(run.exitCode, int{kExitUsage});
    QVERIFY2(run.err.contains("counters-of-mine: no check is called so; there are counters, "),
             qPrintable(run.err));
  }

  void saysWhereItCannotWrite() {
    const auto run = selfTest({"counters", "--json", "/nowhere/report.json"});
    QCOMPARE(run.exitCode, int{kExitFailed});
    QVERIFY2(run.err.contains("/nowhere/report.json cannot be written"), qPrintable(run.err));
  }

 private:
  QTemporaryDir folder_;
};

HIGHWATER_TEST(TestSelfTest, QCoreApplication)
#include "tst_self_test.moc"
