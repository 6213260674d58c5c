// What the probe says of the queue, step by step, against the simulated device's own account.
//
// The ledger knows kernels and waits but no steps, so a step's host time is the recording's. Of a
// step that takes the host from `begin` to `end`:
//   wait         the calls into the device that waited and began in it, whatever the cause
//   enqueue      `end` - `begin` less that
//   device span  from the start of the first kernel that was enqueued after the batch was on the
//                device (after the last drain for a copy to it in the device move) to the end of
//                the last one enqueued before `end`. A device that defers its work passes the
//                step's first event long before that start: there the span begins when it passed
//                the event. Where notices of events are late, by what the ledger says of both
// The probe has other means: ops that wait as an observer sees them, and a pair of events. Their
// ends lie some 10 us beside the ledger's, and further where a thread loses its core between the
// two: that may be in any step of a busy machine, and lengthens the sum over the run, but not the
// median step.

#include "analysis/live_store.h"
#include "core/exit_codes.h"
#include "e2e/runs.h"
#include "run/recording_loader.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;

namespace {

constexpr std::uint32_t kWarmUpSteps = 5;  ///< with first-time work of libtorch, on both sides
constexpr double kQueueTolerance = 0.02;
/// Of a wait: the probe times the op that waits, the ledger the call into the device that it makes.
/// The same as for single waits (wait_accounts.cpp).
constexpr double kToleranceOfWaitMs = 0.05;

struct HostWaits {
  int count = 0;
  double ms = 0;
  bool read = false;  ///< one of them read the loss
};
HostWaits waitsIn(const Ledger& ledger, const Span& step) {
  HostWaits waits;
  for (const Ledger::Drain& drain : ledger.drains) {
    if (!step.holds(drain.wait.beginNs)) continue;
    ++waits.count;
    waits.ms += drain.call.ms();
    waits.read = waits.read || drain.cause == "scalar_read";
  }
  return waits;
}

/// `movedNs`: when the host had done with moving the batch. Fallbacks copy to the device later.
/// `deferred`: the span begins when the device passes the last event recorded before the first
/// kernel. It may do so late: its thread has to get a core first.
double deviceSpanMs(const Ledger& ledger, const Span& step, std::int64_t movedNs, bool deferred) {
  std::int64_t onDeviceNs = step.beginNs;
  for (const Ledger::Drain& drain : ledger.drains) {
    const std::int64_t beginNs = drain.wait.beginNs;
    const bool moves = drain.cause == "copy_to_device";
    if (moves && beginNs >= step.beginNs && beginNs < movedNs) onDeviceNs = drain.wait.endNs;
  }
  std::int64_t firstNs = INT64_MAX, firstQueuedNs = INT64_MAX, lastNs = INT64_MIN,
               lastQueuedNs = INT64_MIN;
  for (const Ledger::Kernel& kernel : ledger.kernels) {
    if (kernel.enqueuedNs < onDeviceNs || kernel.enqueuedNs >= step.endNs) continue;
    firstNs = std::min(firstNs, kernel.ran.beginNs);
    firstQueuedNs = std::min(firstQueuedNs, kernel.enqueuedNs);
    lastNs = std::max(lastNs, kernel.ran.endNs);
    lastQueuedNs = std::max(lastQueuedNs, kernel.enqueuedNs);
  }
  std::int64_t startLateNs = 0, endLateNs = 0;
  for (const Ledger::EventPass& event : ledger.events) {
    if (event.recordedNs < onDeviceNs || event.recordedNs > firstQueuedNs) continue;
    startLateNs = event.lateNs;
    if (deferred) firstNs = event.passedNs;
  }
  const auto end = std::find_if(
      ledger.events.begin(), ledger.events.end(),
      [&](const Ledger::EventPass& event) { return event.recordedNs >= lastQueuedNs; });
  if (end != ledger.events.end()) endLateNs = end->lateNs;
  return static_cast<double>(lastNs + endLateNs - firstNs - startLateNs) / 1e6;
}

std::int64_t movedNs(const analysis::LiveStore& store, std::uint32_t step) {
  for (const events::PhaseSpan& phase : store.phases()) {
    if (phase.step() == step && phase.phase() == events::Phase::DeviceMove) {
      return phase.begin_ns() + phase.duration_ns();
    }
  }
  return 0;
}

/// One number of all steps, by the probe and by the ledger.
struct Comparison {
  double probe = 0, ledger = 0;
  int steps = 0, close = 0;

  /// `waits`: how many of them are in the step, each of which may differ by kToleranceOfWaitMs.
  void add(double byProbe, double byLedger, int waits) {
    probe += byProbe;
    ledger += byLedger;
    ++steps;
    const double tolerance = std::max(kQueueTolerance * byLedger, kToleranceOfWaitMs * waits);
    if (std::fabs(byProbe - byLedger) <= tolerance) ++close;
  }
  [[nodiscard]] double error() const { return probe / ledger - 1; }
  [[nodiscard]] QByteArray text(const char* what) const {
    return QByteArray(what) + ": probe " + QByteArray::number(probe) + " ms, ledger " +
           QByteArray::number(ledger) + " ms, " + QByteArray::number(100 * error(), 'f', 2) +
           " %; " + QByteArray::number(close) + " of " + QByteArray::number(steps) + " steps agree";
  }
};

}  // namespace

class TestQueue : public QObject {
  Q_OBJECT

 private slots:
  void agreesWithTheLedger_data() {
    QTest::addColumn<QStringList>("more");
    QTest::newRow("plain") << QStringList();
    QTest::newRow("fallback") << QStringList{"--fallback", "--sim-missing-ops", "gelu"};
  }

  void agreesWithTheLedger() {
    QFETCH(QStringList, more);
    const QTemporaryDir folder;
    const QString file = folder.filePath("a.highwater"),
                  ledgerFile = folder.filePath("ledger.jsonl");
    const auto run =
        runHighwater(QStringList{"record", "--device", "sim", "--steps", "60", "--batch", "16",
                                 "--seq", "64", "--loss-every", "5", "-o", file} +
                         more,
                     {"HIGHWATER_SIM_LEDGER=" + ledgerFile});
    QVERIFY2(run.exitCode == kExitDone, qPrintable(run.err));
    analysis::LiveStore store;
    QVERIFY(run::loadRecording(file.toStdString(), store));
    const Ledger ledger = Ledger::read(ledgerFile, store.hello()->clock.monotonicEpochNs);
    QVERIFY(!ledger.kernels.empty() && !ledger.drains.empty());
    const auto report = runHighwater({"report", file, "--json"});
    const QJsonArray steps = jsonOf(report)["queue"].toObject()["steps"].toArray();
    QCOMPARE(steps.size(), 60);

    // Apart, so that half of the steps cannot agree without the steps that read the loss.
    Comparison readWait, otherWait, enqueue, span;
    std::vector<double> stepsMs, eventWaitsMs;
    for (int i = kWarmUpSteps; i < 60; ++i) {
      const events::StepRecord& record = store.steps().records[static_cast<std::size_t>(i)];
      const Span whole{record.begin_ns(), record.begin_ns() + record.duration_ns()};
      const QJsonObject step = steps[i].toObject();
      QVERIFY2(step["device_span_ms"].isDouble(), qPrintable(QString::number(i + 1)));
      const HostWaits waits = waitsIn(ledger, whole);
      (waits.read ? readWait : otherWait).add(step["wait_ms"].toDouble(), waits.ms, waits.count);
      stepsMs.push_back(whole.ms());
      enqueue.add(step["enqueue_ms"].toDouble(), whole.ms() - waits.ms, waits.count);
      span.add(step["device_span_ms"].toDouble(),
               deviceSpanMs(ledger, whole, movedNs(store, record.step()),
                            store.hello()->workStart == WorkStart::kDeferred),
               0);
    }
    for (const Ledger::Drain& drain : ledger.drains) {
      if (drain.cause == "event") eventWaitsMs.push_back(drain.wait.ms());
    }
    for (const auto& [what, numbers] :
         {std::pair("wait of steps that read", readWait), std::pair("wait of others", otherWait),
          std::pair("enqueue", enqueue), std::pair("device span", span)}) {
      qInfo("%s", numbers.text(what).constData());
      // The median step: a thread that waits for a core between two readings of the clock makes
      // single steps differ, on either side, by as much as the scheduler likes.
      QVERIFY2(numbers.close * 2 > numbers.steps, numbers.text(what).constData());
    }
    // Reading the events made nobody wait: a wait for the queue would last for most of a step. Some
    // may be long, since the thread that notices them may itself wait for a core.
    QVERIFY(!eventWaitsMs.empty());
    std::nth_element(stepsMs.begin(), stepsMs.begin() + std::ssize(stepsMs) / 2, stepsMs.end());
    const double halfAStepMs = stepsMs[stepsMs.size() / 2] / 2;
    const auto longWaits = std::count_if(eventWaitsMs.begin(), eventWaitsMs.end(),
                                         [&](double ms) { return ms > halfAStepMs; });
    qInfo("%zu waits for events, %td of more than %.3f ms", eventWaitsMs.size(), longWaits,
          halfAStepMs);
    QVERIFY(longWaits * 10 < std::ssize(eventWaitsMs));
  }

  void theCpuHasNone() {
    const QTemporaryDir folder;
    const QString file = folder.filePath("a.highwater");
    const auto run = runHighwater(
        {"record", "--device", "cpu", "--steps", "3", "--batch", "4", "--seq", "16", "-o", file});
    QVERIFY2(run.exitCode == kExitDone, qPrintable(run.err));
    const auto report = runHighwater({"report", file, "--json"});
    const QJsonObject json = jsonOf(report);
    QVERIFY(json.contains("queue") && json["queue"].isNull());
  }
};

HIGHWATER_TEST(TestQueue, QCoreApplication)
#include "tst_queue.moc"
