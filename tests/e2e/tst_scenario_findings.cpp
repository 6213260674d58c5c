// Every scenario of resources/scenarios with the real worker on the simulated device. The report's
// first finding is the scenario's problem, and the probe's waits and fallbacks equal those in the
// device's ledger.

#include "analysis/findings/findings.h"
#include "analysis/live_store.h"
#include "core/exit_codes.h"
#include "core/scenarios.h"
#include "e2e/runs.h"
#include "e2e/wait_accounts.h"
#include "run/recording_loader.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;

namespace {

constexpr std::size_t kEnoughWaits = 10;  ///< for a median that one wait cannot move far
/// Between a step and the sum of its phases, in the steps with the least. Work that belongs to no
/// phase would be in nearly every step of a scenario.
constexpr double kStepTolerance = 0.01;

/// What a busy machine makes true of any run; made-up runs show when it is found
/// (tests/analysis/tst_finding_rules).
bool isOfTheMachine(const QString& finding) {
  return finding == QLatin1String("step_time_swings");
}

/// Each step's share that is in no phase.
std::vector<double> sharesOutsideOfPhases(const analysis::LiveStore& store) {
  std::map<std::uint32_t, std::int64_t> phases;
  for (const events::PhaseSpan& each : store.phases()) phases[each.step()] += each.duration_ns();
  std::vector<double> shares;
  for (const events::StepRecord& each : store.steps().records) {
    const auto step = static_cast<double>(each.duration_ns());
    shares.push_back(1 - static_cast<double>(phases[each.step()]) / step);
  }
  return shares;
}

}  // namespace

class TestScenarioFindings : public QObject {
  Q_OBJECT

 private slots:
  void namesItsProblemFirst_data() {
    QTest::addColumn<QString>("problem");
    for (const Scenario& each : scenarios()) {
      QTest::newRow(each.name) << QString::fromUtf8(each.problem);
    }
  }
  void namesItsProblemFirst() {
    QFETCH(QString, problem);
    const QString scenario = QString::fromUtf8(QTest::currentDataTag());
    const QString file = record(scenario);
    QVERIFY(!file.isEmpty());
    const QJsonObject report = jsonOf(runHighwater({"report", file, "--json"}));
    QCOMPARE(report["run"]["scenario"].toString(), scenario);
    QVERIFY(report["judged_steps"].toInt() >= 20);
    std::set<std::string>& found = foundBy_[QTest::currentDataTag()];
    QString first;
    for (const QJsonValue& each : report["findings"].toArray()) {
      const QString kind = each["kind"].toString();
      qInfo("%s: %s", qPrintable(each["title"].toString()),
            qPrintable(each["evidence"].toString()));
      // How long the device idles while the host queues is the machine's: where other programs
      // have its cores, and on a device that begins its work only at a wait.
      const bool isOfQueueing = kind == QLatin1String("host_bound") && !found.empty();
      if (isOfTheMachine(kind) || isOfQueueing) continue;
      if (found.empty()) first = kind;
      found.insert(kind.toStdString());
    }
    QCOMPARE(first, problem);
    for (const std::string& each : found) {
      QVERIFY2(each == problem.toStdString(), ("also found: " + each).c_str());
    }

    analysis::LiveStore store;
    QVERIFY(run::loadRecording(file.toStdString(), store));
    const test::Account probe = test::byProbe(store);
    const test::Account ledger = test::byLedger(folder_.filePath(scenario + ".jsonl"), store);
    const QByteArray both = "\nprobe  " + text(probe) + "\nledger " + text(ledger);
    qInfo("%s", both.constData());
    QVERIFY(!ledger.waits.empty());
    test::WaitComparison waits;
    const QByteArray difference = waits.add(probe, ledger);
    QVERIFY2(difference.isEmpty(), (difference + both).constData());
    for (const auto& [kind, ofRun] : waits.kinds()) {
      const QByteArray line = kind.toUtf8() + ": " + ofRun.text();
      qInfo("%s", line.constData());
      // The median of fewer may be one whose thread lost its core: see waitsAreTheLedgers().
      QVERIFY2(ofRun.ledger.size() < kEnoughWaits || ofRun.agrees(), line.constData());
    }
    QVERIFY(waits_.add(probe, ledger).isEmpty());
    // The lowest quarter: where other programs have the cores, most steps lose theirs between two
    // phases.
    std::vector<double> outside = sharesOutsideOfPhases(store);
    std::sort(outside.begin(), outside.end());
    const double share = outside[outside.size() / 4];
    QVERIFY2(outside.front() >= 0, "phases overlap");
    QVERIFY2(share <= kStepTolerance, qPrintable(QString("%1 of a step").arg(share)));
  }

  void rulesAndScenarios_data() {
    QTest::addColumn<QStringList>("options");
    QTest::addColumn<QString>("problem");
    const QStringList hidden{"--sim-hidden-growth", "2MiB"};
    QTest::newRow("clean, hidden growth") << hidden << "hidden_growth";
    const QStringList others{"--sim-system-memory", "4GiB", "--sim-other-memory", "6500MiB"};
    QTest::newRow("clean, other programs") << others << "system_pressure";
    // The learning rate is what lets the logits leave the range of float16 within few steps.
    // A CPU takes seconds for such a step.
    const QStringList float16{"--precision",  "float16", "--lr",    "10",
                              "--loss-every", "5",       "--steps", "16"};
    QTest::newRow("clean, float16") << float16 << "float16_unscaled";
  }

  /// Problems that the machine has and not the program: of the clean scenario.
  void rulesAndScenarios() {
    QFETCH(QStringList, options);
    QFETCH(QString, problem);
    const QString file = record("clean", options, QTest::currentDataTag());
    QVERIFY(!file.isEmpty());
    analysis::LiveStore store;
    QVERIFY(run::loadRecording(file.toStdString(), store));
    std::set<std::string>& found = foundBy_[QTest::currentDataTag()];
    for (const analysis::Finding& each : analysis::findProblems(store).found) {
      qInfo("%s: %s", each.title.c_str(), each.evidence.c_str());
      const std::string kind(findingKey(each.kind));
      if (!isOfTheMachine(QString::fromStdString(kind))) found.insert(kind);
    }
    QCOMPARE(found, std::set<std::string>{problem.toStdString()});
  }

  /// The matrix of what was found above. The rules that no scenario shows have made-up runs
  /// (tests/analysis/tst_finding_rules).
  void everyRuleFiresOnItsScenarioAndOnNoOther() {
    if (foundBy_.empty()) QSKIP("no scenario has run");
    for (std::size_t kind = 0; kind < analysis::kFindingKinds; ++kind) {
      const std::string key(findingKey(static_cast<analysis::FindingKind>(kind)));
      QStringList scenarios;
      for (const auto& [scenario, kinds] : foundBy_) {
        if (kinds.contains(key)) scenarios << QString::fromStdString(scenario);
      }
      qInfo("%-18s %s", key.c_str(), qPrintable(scenarios.join(u", ")));
      QVERIFY2(scenarios.size() <= 1, key.c_str());
    }
  }

  void waitsAreTheLedgers() {
    if (waits_.kinds().empty()) QSKIP("no scenario has run");
    for (const auto& [kind, waits] : waits_.kinds()) {
      const QByteArray line = kind.toUtf8() + ": " + waits.text();
      qInfo("%s", line.constData());
      QVERIFY2(waits.agrees(), line.constData());
    }
  }

  void keepsAnAcceptedFallback() {
    const QString file =
        record("hidden-fallback", {"--accept-fallback", "embedding_renorm_=rare"}, "accepted");
    QVERIFY(!file.isEmpty());
    const auto accept = runHighwater(
        {"accept", file, "--fallback", "aten::multi_margin_loss", "--reason", "the loss is small"});
    QVERIFY2(accept.exitCode == kExitDone, qPrintable(accept.err));
    const QString report = test::reportText(file);
    QVERIFY2(report.contains("Accepted: aten::embedding_renorm_ on the CPU"), qPrintable(report));
    QVERIFY2(report.contains(": the loss is small"), qPrintable(report));
    QVERIFY(!report.contains("Fallback: aten::embedding_renorm_"));
    QVERIFY(!report.contains("Fallback: aten::multi_margin_loss runs"));
    // Of each accepted op the way there and back; the loss in backward is nobody's wish.
    QVERIFY2(report.contains("(7 switches, 1 planned, 4 accepted"), qPrintable(report));
    const auto none =
        runHighwater({"accept", file, "--fallback", "aten::mm", "--reason", "why not"});
    QCOMPARE(none.exitCode, int{kExitUsage});
    QVERIFY2(none.err.contains("aten::embedding_renorm_, "), qPrintable(none.err));
  }

  void saysWhatItDidNotLookFor() {
    const QString file = record("hidden-fallback", {"--level", "off", "--steps", "6"}, "off");
    QVERIFY(!file.isEmpty());
    const QString text = test::reportText(file);
    QVERIFY2(text.contains("were not looked for (level off)"), qPrintable(text));
    QVERIFY2(text.contains("not recorded: the level was off"), qPrintable(text));
    for (const char* word : {"Queue", "Idle", "Path ", "Host and device"}) {
      QVERIFY2(!text.contains(QLatin1String(word)), qPrintable(text));
    }
    const QJsonObject report = jsonOf(runHighwater({"report", file, "--json"}));
    QCOMPARE(report["observed"].toBool(true), false);
    QVERIFY(report["queue"].isNull() && report["idle_estimate"].isNull());
  }

 private:
  /// Records the scenario as `name`.highwater with the ledger `name`.jsonl; without a name, as the
  /// scenario's. Later tests read the files of earlier ones, so each kind of run has its own name.
  QString record(const QString& scenario, const QStringList& more = {}, const QString& name = {}) {
    const QString path = folder_.filePath(name.isEmpty() ? scenario : name);
    const QString file = path + ".highwater";
    const auto run =
        runHighwater(QStringList{"record", "--device", "sim", "--scenario", scenario, "--force",
                                 "--sim-ledger", path + ".jsonl", "-o", file} +
                     more);
    if (run.exitCode == kExitDone) return file;
    qWarning("%s", qPrintable(run.err));
    return {};
  }

  QTemporaryDir folder_;
  test::WaitComparison waits_;                            ///< of the scenarios that have run
  std::map<std::string, std::set<std::string>> foundBy_;  ///< kinds of findings by training
};

HIGHWATER_TEST(TestScenarioFindings, QCoreApplication)
#include "tst_scenario_findings.moc"
