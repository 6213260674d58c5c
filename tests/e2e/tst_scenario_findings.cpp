// Every scenario of resources/scenarios with the real worker on the simulated device: the report
// names its problem first, and what the probe says of waits and fallbacks is what the device's own
// account, the ledger, says: no more, no less.
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/live_store.h"
#include "core/exit_codes.h"
#include "core/names.h"
#include "core/scenarios.h"
#include "session/recording_loader.h"
#include "support/run_program.h"

using namespace highwater;
using highwater::test::runHighwater;

namespace {

constexpr int kRunTimeoutMs = 240'000;
constexpr double kTolerance = 0.02;
/// Beside the 2 %, of each wait: an observer sees the op around it, with its copy.
constexpr double kToleranceMs = 0.05;
/// The observed op took so much longer than the wait in it that its thread had most likely lost the
/// core: an outlier, listed and not summed.
constexpr double kLostCoreMs = 0.2;
constexpr double kMostOutliers = 0.25;  // of single waits; two busy cores have shown 6 % over 1 ms

struct Span {
  std::int64_t beginNs = 0, endNs = 0;
  [[nodiscard]] bool holds(std::int64_t ns) const { return ns >= beginNs && ns < endNs; }
};

bool anyHolds(const std::vector<Span>& spans, std::int64_t ns) {
  return std::any_of(spans.begin(), spans.end(), [ns](const Span& each) { return each.holds(ns); });
}

/// How long the host waited within the steps, in ms, wait for wait, by the time of its begin.
struct Waits {
  std::map<std::int64_t, double> byBeginNs;
  void add(std::int64_t beginNs, std::int64_t ns) {
    byBeginNs[beginNs] += static_cast<double>(ns) / 1e6;
  }
  [[nodiscard]] std::size_t count() const { return byBeginNs.size(); }
  [[nodiscard]] double ms() const {
    double sum = 0;
    for (const auto& [begin, each] : byBeginNs) sum += each;
    return sum;
  }
};
using WaitsByKind = std::map<QString, Waits>;
using CountsByOp = std::map<QString, int>;

struct Account {
  WaitsByKind waits;     ///< outside of fallbacks
  Waits ofFallbacks;     ///< one for each, by its own begin
  CountsByOp fallbacks;  ///< in the whole run
};

/// The ledger's word for a wait, as the probe has it. Waits for events are left out: the probe
/// itself asks for the time between two that have passed (tst_queue holds that it waits for none).
QString kindOf(const QString& cause) {
  return cause == QLatin1String("result_size") ? QStringLiteral("nonzero") : cause;
}

std::vector<Span> stepSpans(const analysis::LiveStore& store) {
  std::vector<Span> spans;
  for (const events::StepRecord& each : store.steps().records) {
    spans.push_back({each.begin_ns(), each.begin_ns() + each.duration_ns()});
  }
  return spans;
}

Account byProbe(const analysis::LiveStore& store) {
  const std::vector<Span> steps = stepSpans(store);
  Account account;
  std::vector<Span> fallbacks;
  for (const events::FallbackEvent& each : store.fallbacks()) {
    fallbacks.push_back({each.begin_ns(), each.begin_ns() + each.duration_ns()});
    ++account.fallbacks[QString::fromStdString(store.name(each.op()))];
    if (anyHolds(steps, each.begin_ns())) account.ofFallbacks.add(each.begin_ns(), each.wait_ns());
  }
  for (const events::SyncPoint& each : store.syncPoints()) {
    if (each.kind() == events::SyncKind::Fallback || !anyHolds(steps, each.begin_ns()) ||
        anyHolds(fallbacks, each.begin_ns())) {
      continue;
    }
    const std::string_view kind = syncKindKey(each.kind());
    account.waits[QString::fromUtf8(kind.data(), qsizetype(kind.size()))].add(each.begin_ns(),
                                                                              each.duration_ns());
  }
  return account;
}

Account byLedger(const QString& path, const analysis::LiveStore& store) {
  const std::vector<Span> steps = stepSpans(store);
  const std::int64_t epochNs = store.hello()->clock.monotonicEpochNs;
  Account account;
  std::vector<Span> fallbacks;
  std::vector<std::pair<QString, Span>> drains;
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) return account;
  while (!file.atEnd()) {
    const QJsonObject entry = QJsonDocument::fromJson(file.readLine()).object();
    const Span span{entry["begin_ns"].toInteger() - epochNs, entry["end_ns"].toInteger() - epochNs};
    if (entry["event"] == "fallback") {
      fallbacks.push_back(span);
      ++account.fallbacks[entry["op"].toString().section(u'.', 0, 0)];
      if (anyHolds(steps, span.beginNs)) account.ofFallbacks.add(span.beginNs, 0);
    } else if (entry["event"] == "drain" && entry["cause"] != "event" &&
               anyHolds(steps, span.beginNs)) {
      drains.emplace_back(entry["cause"].toString(), span);
    }
  }
  for (const auto& [cause, span] : drains) {
    const std::int64_t ns = span.endNs - span.beginNs;
    const auto holder = std::find_if(fallbacks.begin(), fallbacks.end(),
                                     [&](const Span& each) { return each.holds(span.beginNs); });
    if (holder != fallbacks.end()) {
      account.ofFallbacks.add(holder->beginNs, ns);
    } else {
      account.waits[kindOf(cause)].add(span.beginNs, ns);
    }
  }
  return account;
}

QByteArray text(const Account& account) {
  QByteArray line;
  for (const auto& [kind, waits] : account.waits) {
    line += kind.toUtf8() + " " + QByteArray::number(waits.count()) + " x, " +
            QByteArray::number(waits.ms(), 'f', 2) + " ms; ";
  }
  line += "fallbacks " + QByteArray::number(account.ofFallbacks.count()) + " x, " +
          QByteArray::number(account.ofFallbacks.ms(), 'f', 2) + " ms:";
  for (const auto& [op, count] : account.fallbacks) {
    line += " " + op.toUtf8() + " " + QByteArray::number(count);
  }
  return line;
}

bool agree(const Waits& probe, const Waits& ledger) {
  if (probe.count() != ledger.count()) return false;
  double byProbe = 0, byLedger = 0;
  std::size_t outliers = 0;
  auto own = ledger.byBeginNs.begin();
  for (const auto& [begin, ms] : probe.byBeginNs) {
    const double ledgerMs = (own++)->second;
    if (ms - ledgerMs > kTolerance * ledgerMs + kLostCoreMs) {
      ++outliers;
      qInfo("outlier: %.3f ms by the probe, %.3f ms by the ledger", ms, ledgerMs);
      continue;
    }
    byProbe += ms;
    byLedger += ledgerMs;
  }
  const auto count = static_cast<double>(probe.count());
  return static_cast<double>(outliers) <= std::ceil(kMostOutliers * count) &&
         std::fabs(byProbe - byLedger) <= kTolerance * byLedger + kToleranceMs * count;
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
  void namesItsProblemFirst();
  void refusesAnUnknownScenario();
  void keepsAnAcceptedFallback();

 private:
  QString record(const QString& scenario, const QStringList& more = {});

  QTemporaryDir folder_;
};

QString TestScenarioFindings::record(const QString& scenario, const QStringList& more) {
  const QString file = folder_.filePath(scenario + ".highwater");
  const auto run =
      runHighwater(QStringList{"record", "--device", "sim", "--scenario", scenario, "--force",
                               "--sim-ledger", folder_.filePath(scenario + ".jsonl"), "-o", file} +
                       more,
                   {}, kRunTimeoutMs);
  if (run.exitCode == kExitDone) return file;
  qWarning("%s", qPrintable(run.err));
  return {};
}

void TestScenarioFindings::namesItsProblemFirst() {
  QFETCH(QString, problem);
  const QString scenario = QString::fromUtf8(QTest::currentDataTag());
  const QString file = record(scenario);
  QVERIFY(!file.isEmpty());
  const QByteArray json = runHighwater({"report", file, "--json"}).out.toUtf8();
  const QJsonObject report = QJsonDocument::fromJson(json).object();
  QCOMPARE(report["run"]["scenario"].toString(), scenario);
  QVERIFY(report["judged_steps"].toInt() >= 20);
  const QJsonArray findings = report["findings"].toArray();
  for (const QJsonValue& each : findings) {
    qInfo("%s: %s", qPrintable(each["title"].toString()), qPrintable(each["evidence"].toString()));
  }
  QCOMPARE(findings.isEmpty() ? QString() : findings[0]["kind"].toString(), problem);

  analysis::LiveStore store;
  QVERIFY(session::loadRecording(file.toStdString(), store));
  const Account probe = byProbe(store);
  const Account ledger = byLedger(folder_.filePath(scenario + ".jsonl"), store);
  const QByteArray both = "\nprobe  " + text(probe) + "\nledger " + text(ledger);
  qInfo("%s", both.constData());
  QVERIFY2(probe.fallbacks == ledger.fallbacks, both.constData());
  QVERIFY2(agree(probe.ofFallbacks, ledger.ofFallbacks), both.constData());
  QVERIFY2(probe.waits.size() == ledger.waits.size(), both.constData());
  for (const auto& [kind, waits] : ledger.waits) {
    QVERIFY2(probe.waits.contains(kind) && agree(probe.waits.at(kind), waits), both.constData());
  }
}

void TestScenarioFindings::refusesAnUnknownScenario() {
  const auto run = runHighwater({"record", "--scenario", "chatty", "-o", folder_.filePath("x")});
  QCOMPARE(run.exitCode, int{kExitUsage});
  QVERIFY2(run.err.contains("chatty-logging, clean, hidden-fallback"), qPrintable(run.err));
}

void TestScenarioFindings::keepsAnAcceptedFallback() {
  const QString file = record("hidden-fallback", {"--accept-fallback", "embedding_renorm_=rare"});
  QVERIFY(!file.isEmpty());
  const auto accept = runHighwater(
      {"accept", file, "--fallback", "aten::multi_margin_loss", "--reason", "the loss is small"});
  QVERIFY2(accept.exitCode == kExitDone, qPrintable(accept.err));
  const auto report = runHighwater({"report", file});
  QVERIFY2(report.out.contains("Accepted: aten::embedding_renorm_ on the CPU"),
           qPrintable(report.out));
  QVERIFY2(report.out.contains(": the loss is small"), qPrintable(report.out));
  QVERIFY(!report.out.contains("Fallback: aten::embedding_renorm_"));
  QVERIFY(!report.out.contains("Fallback: aten::multi_margin_loss runs"));
  const auto none = runHighwater({"accept", file, "--fallback", "aten::mm", "--reason", "why not"});
  QCOMPARE(none.exitCode, int{kExitUsage});
  QVERIFY2(none.err.contains("aten::embedding_renorm_, "), qPrintable(none.err));
}

QTEST_GUILESS_MAIN(TestScenarioFindings)
#include "tst_scenario_findings.moc"
