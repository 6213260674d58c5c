// Compares the report's estimate of the device's idle time with the gaps between kernels in the
// simulated device's ledger. The ledger does not know the host's work, so the causes of its gaps
// come from the recording's phases, like those of the estimate.
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "analysis/device/device_timeline.h"
#include "analysis/device/idle_estimate.h"
#include "core/exit_codes.h"
#include "session/recording_loader.h"
#include "support/run_program.h"

using namespace highwater;
using namespace highwater::analysis;
using highwater::test::runHighwater;

namespace {

constexpr int kRunTimeoutMs = 240'000;
constexpr double kTolerance = 0.05;  ///< of a step: what two busy cores add and hide

/// Of the time; the start, in which the device compiles, is part of it.
constexpr double kLeastAgreement = 0.8;

struct Interval {
  std::int64_t beginNs = 0, endNs = 0;
};

/// Times in which the device had nothing to run, in ns since the run's epoch; sorted.
std::vector<Interval> gapsOf(const QString& path, std::int64_t epochNs) {
  std::vector<Interval> kernels, gaps;
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) return gaps;
  while (!file.atEnd()) {
    const QJsonObject entry = QJsonDocument::fromJson(file.readLine()).object();
    if (entry["event"] != "kernel" || entry["end_ns"].toInteger() == 0) continue;
    kernels.push_back(
        {entry["start_ns"].toInteger() - epochNs, entry["end_ns"].toInteger() - epochNs});
  }
  for (std::size_t i = 1; i < kernels.size(); ++i) {
    gaps.push_back({kernels[i - 1].endNs, kernels[i].beginNs});
  }
  return gaps;
}

double overlapMs(const std::vector<Interval>& gaps, std::int64_t beginNs, std::int64_t endNs) {
  std::int64_t ns = 0;
  auto gap = std::lower_bound(gaps.begin(), gaps.end(), beginNs,
                              [](const Interval& g, std::int64_t at) { return g.endNs < at; });
  for (; gap != gaps.end() && gap->beginNs < endNs; ++gap) {
    ns += std::max<std::int64_t>(std::min(gap->endNs, endNs) - std::max(gap->beginNs, beginNs), 0);
  }
  return static_cast<double>(ns) / 1e6;
}

/// The share of the steps' time in which the lane of the device and the ledger agree: busy or not.
double agreementOf(const LiveStore& store, const std::vector<Interval>& gaps) {
  const DeviceTimeline& device = store.deviceTimeline();
  const std::int64_t beginNs = device.beginNs(), endNs = device.endNs();
  double disagreeMs = 0;
  std::int64_t idleFromNs = beginNs;
  const auto compare = [&](std::int64_t fromNs, std::int64_t toNs, bool busy) {
    const double gapMs = overlapMs(gaps, fromNs, toNs);
    disagreeMs += busy ? gapMs : static_cast<double>(toNs - fromNs) / 1e6 - gapMs;
  };
  for (std::size_t i = 0; i < device.activity().size(); ++i) {
    const Span& span = device.activity()[i];
    compare(idleFromNs, span.beginNs, false);
    if (span.category == DeviceTimeline::kBusy) compare(span.beginNs, span.endNs, true);
    idleFromNs = span.endNs;
  }
  compare(idleFromNs, endNs, false);
  return 1 - disagreeMs / (static_cast<double>(endNs - beginNs) / 1e6);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

/// Medians over the steps of the estimate.
struct Truth {
  double idleMs = 0;
  std::map<HostWork, double> byWork;
};

Truth truthOf(const LiveStore& store, const std::vector<Interval>& gaps) {
  const auto& records = store.steps().records;
  const std::size_t rows = records.size();
  std::vector<double> idle(rows);
  std::map<HostWork, std::vector<double>> byWork;
  for (const HostSpan& span : makeHostTimeline(store).work) {
    auto& ofWork = byWork.try_emplace(span.work, rows).first->second;
    ofWork[span.row] += overlapMs(gaps, span.beginNs, span.endNs);
  }
  for (std::size_t row = 1; row + 1 < rows; ++row) {
    idle[row] = overlapMs(gaps, records[row].begin_ns(), records[row + 1].begin_ns());
  }
  const auto judged = [](const std::vector<double>& all) {
    return median({all.begin() + 1, all.end() - 1});
  };
  Truth truth;
  truth.idleMs = judged(idle);
  for (const auto& [work, ms] : byWork) truth.byWork[work] = judged(ms);
  return truth;
}

/// The cause of idle time that the scenario provokes.
struct Expected {
  QString scenario;
  std::optional<IdleCause> cause;
  HostWork work = HostWork::Queueing;
};

const std::vector<Expected> kExpected = {
    {"clean", std::nullopt, HostWork::Queueing},
    {"host-bound", IdleCause::BatchAssembly, HostWork::BatchAssembly},
    {"hidden-fallback", IdleCause::Fallback, HostWork::Fallback},
    {"chatty-logging", IdleCause::Reading, HostWork::Reading},
};

/// The estimate may differ by a fifth, and by what a busy machine adds to short times.
bool isClose(double estimateMs, double truthMs) {
  return std::fabs(estimateMs - truthMs) <= std::max(0.2 * truthMs, 0.3);
}

QByteArray inWords(const IdleSummary& idle, const Truth& truth) {
  const auto time = [](const IdleTime& each) {
    return QString("%1 (%2 to %3)").arg(each.probable).arg(each.low).arg(each.high);
  };
  QString words = QString("idle of a step of %1 ms: estimate %2, ledger %3 ms; ")
                      .arg(idle.stepMsP50)
                      .arg(time(idle.p50))
                      .arg(truth.idleMs);
  for (const CauseOfIdle& each : idle.causes) {
    const std::string_view key = idleCauseKey(each.cause);
    words += QString::fromUtf8(key.data(), qsizetype(key.size())) + ' ' + time(each.p50) + ", ";
  }
  words += "ledger by what the host did:";
  for (const auto& [work, ms] : truth.byWork) words += QString(" %1: %2").arg(int(work)).arg(ms);
  return words.toUtf8();
}

}  // namespace

class TestIdle : public QObject {
  Q_OBJECT

 private slots:
  void namesTheCause_data();
  void namesTheCause();
};

void TestIdle::namesTheCause_data() {
  QTest::addColumn<int>("index");
  for (std::size_t i = 0; i < kExpected.size(); ++i) {
    QTest::newRow(qPrintable(kExpected[i].scenario)) << static_cast<int>(i);
  }
}

void TestIdle::namesTheCause() {
  QFETCH(int, index);
  const Expected& expected = kExpected[static_cast<std::size_t>(index)];
  const QTemporaryDir folder;
  const QString file = folder.filePath("a.highwater"), ledger = folder.filePath("ledger.jsonl");
  const auto run = runHighwater({"record", "--device", "sim", "--scenario", expected.scenario,
                                 "--sim-ledger", ledger, "-o", file},
                                {}, kRunTimeoutMs);
  QVERIFY2(run.exitCode == kExitDone, qPrintable(run.err));
  LiveStore store;
  QVERIFY(session::loadRecording(file.toStdString(), store));
  const std::vector<Interval> gaps = gapsOf(ledger, store.hello()->clock.monotonicEpochNs);
  QVERIFY(gaps.size() > 1000);
  const Truth truth = truthOf(store, gaps);
  const IdleSummary idle = estimateIdle(store);
  const QByteArray words = inWords(idle, truth);
  qInfo("%s", words.constData());
  const double agreement = agreementOf(store, gaps);
  qInfo("the lane of the device agrees with the ledger in %.1f %% of the time", agreement * 100);
  QVERIFY2(agreement > kLeastAgreement, words.constData());
  const double tolerance = kTolerance * idle.stepMsP50;
  QVERIFY2(idle.p50.low <= truth.idleMs + tolerance, words.constData());
  QVERIFY2(truth.idleMs <= idle.p50.high + tolerance, words.constData());
  if (!expected.cause) {
    QVERIFY2(idle.p50.probable <= tolerance, words.constData());
    return;
  }
  const CauseOfIdle& first = idle.causes.at(0);
  QVERIFY2(first.cause == *expected.cause, words.constData());
  QVERIFY2(isClose(first.p50.probable, truth.byWork.at(expected.work)), words.constData());
}

QTEST_GUILESS_MAIN(TestIdle)
#include "tst_idle.moc"
