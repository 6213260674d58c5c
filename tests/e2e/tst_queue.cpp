// What the probe says of the queue, step by step, against the simulated device's own account.
//
// The ledger knows kernels and waits but no steps, so a step's host time is the recording's. Of a
// step that takes the host from `begin` to `end`:
//   wait         the drains that began in it, whatever their cause
//   enqueue      `end` - `begin` less that
//   device span  from the start of the first kernel that was enqueued after the batch was on the
//                device (after the last drain for a copy to it in the device move) to the end of
//                the last one enqueued before `end`. A device that defers its work passes the
//                step's first event long before that start: there the span begins when it passed
//                the event. Where notices of events are late, by what the ledger says of both
// The probe has other means: ops that wait as an observer sees them, and a pair of events. Their
// ends lie some 10 us beside the ledger's, which is why a few single steps may differ by more than
// 2 % when the machine is busy; the sums over the run may not.
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cmath>

#include "analysis/live_store.h"
#include "core/exit_codes.h"
#include "session/recording_loader.h"
#include "support/run_program.h"
#include "support/test_program.h"

using namespace highwater;
using highwater::test::runHighwater;

namespace {

constexpr int kRunTimeoutMs = 120'000;
constexpr std::uint32_t kWarmUpSteps = 5;  ///< with first-time work of libtorch, on both sides
constexpr double kTolerance = 0.02;
/// Of a wait: the probe times the op that waits, the ledger only the wait in it. On a busy machine
/// the thread may lose its core in between. The same as for single waits (wait_accounts.cpp).
constexpr double kToleranceOfWaitMs = 0.05;

struct Kernel {
  std::int64_t enqueuedNs, startNs, endNs;
};
struct Drain {
  QString cause;
  std::int64_t beginNs, endNs;
};

/// lateNs: by how much the event's time lies after the moment at which the queue passed it.
struct EventPass {
  std::int64_t recordedNs, passedNs, lateNs;
};

/// Times are the run's: since its epoch.
struct Ledger {
  std::vector<Kernel> kernels;
  std::vector<Drain> drains;
  std::vector<EventPass> events;

  static Ledger read(const QString& path, std::int64_t epochNs) {
    Ledger ledger;
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) return ledger;
    while (!file.atEnd()) {
      const QJsonObject entry = QJsonDocument::fromJson(file.readLine()).object();
      const auto ns = [&](const char* key) {
        return entry[QLatin1String(key)].toInteger() - epochNs;
      };
      if (entry["event"] == "kernel") {
        ledger.kernels.push_back({ns("enqueued_ns"), ns("start_ns"), ns("end_ns")});
      } else if (entry["event"] == "drain") {
        ledger.drains.push_back({entry["cause"].toString(), ns("begin_ns"), ns("end_ns")});
      } else if (entry["event"] == "event_passed") {
        ledger.events.push_back({ns("recorded_ns"), ns("passed_ns"), 0});
      } else if (entry["event"] == "event_noticed") {
        for (EventPass& event : ledger.events) {
          if (event.recordedNs == ns("recorded_ns")) {
            event.lateNs = ns("noticed_ns") - event.passedNs;
          }
        }
      }
    }
    return ledger;
  }

  struct Waits {
    int count = 0;
    double ms = 0;
  };
  [[nodiscard]] Waits waits(std::int64_t beginNs, std::int64_t endNs) const {
    Waits waits;
    for (const Drain& drain : drains) {
      if (drain.beginNs < beginNs || drain.beginNs >= endNs) continue;
      ++waits.count;
      waits.ms += static_cast<double>(drain.endNs - drain.beginNs) / 1e6;
    }
    return waits;
  }
  /// `movedNs`: when the host had done with moving the batch. Fallbacks copy to the device later.
  /// `deferred`: the span begins when the device passes the last event recorded before the first
  /// kernel. It may do so late: its thread has to get a core first.
  [[nodiscard]] double deviceSpanMs(std::int64_t beginNs, std::int64_t movedNs, std::int64_t endNs,
                                    bool deferred) const {
    std::int64_t onDeviceNs = beginNs;
    for (const Drain& drain : drains) {
      const bool moves = drain.cause == "copy_to_device";
      if (moves && drain.beginNs >= beginNs && drain.beginNs < movedNs) onDeviceNs = drain.endNs;
    }
    std::int64_t firstNs = INT64_MAX, firstQueuedNs = INT64_MAX, lastNs = INT64_MIN,
                 lastQueuedNs = INT64_MIN;
    for (const Kernel& kernel : kernels) {
      if (kernel.enqueuedNs < onDeviceNs || kernel.enqueuedNs >= endNs) continue;
      firstNs = std::min(firstNs, kernel.startNs);
      firstQueuedNs = std::min(firstQueuedNs, kernel.enqueuedNs);
      lastNs = std::max(lastNs, kernel.endNs);
      lastQueuedNs = std::max(lastQueuedNs, kernel.enqueuedNs);
    }
    std::int64_t startLateNs = 0, endLateNs = 0;
    for (const EventPass& event : events) {
      if (event.recordedNs < onDeviceNs || event.recordedNs > firstQueuedNs) continue;
      startLateNs = event.lateNs;
      if (deferred) firstNs = event.passedNs;
    }
    const auto end = std::find_if(events.begin(), events.end(), [&](const EventPass& event) {
      return event.recordedNs >= lastQueuedNs;
    });
    if (end != events.end()) endLateNs = end->lateNs;
    return static_cast<double>(lastNs + endLateNs - firstNs - startLateNs) / 1e6;
  }
};

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
    const double tolerance = std::max(kTolerance * byLedger, kToleranceOfWaitMs * waits);
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
                     {"HIGHWATER_SIM_LEDGER=" + ledgerFile}, kRunTimeoutMs);
    QVERIFY2(run.exitCode == kExitDone, qPrintable(run.err));
    analysis::LiveStore store;
    QVERIFY(session::loadRecording(file.toStdString(), store));
    const Ledger ledger = Ledger::read(ledgerFile, store.hello()->clock.monotonicEpochNs);
    QVERIFY(!ledger.kernels.empty() && !ledger.drains.empty());
    const auto report = runHighwater({"report", file, "--json"});
    const QJsonArray steps =
        QJsonDocument::fromJson(report.out.toUtf8())["queue"]["steps"].toArray();
    QCOMPARE(steps.size(), 60);

    Comparison wait, enqueue, span;
    double eventWaitsMs = 0;
    for (int i = kWarmUpSteps; i < 60; ++i) {
      const events::StepRecord& record = store.steps().records[static_cast<std::size_t>(i)];
      const std::int64_t beginNs = record.begin_ns(), endNs = beginNs + record.duration_ns();
      const QJsonObject step = steps[i].toObject();
      QVERIFY2(step["device_span_ms"].isDouble(), qPrintable(QString::number(i + 1)));
      const Ledger::Waits waits = ledger.waits(beginNs, endNs);
      wait.add(step["wait_ms"].toDouble(), waits.ms, waits.count);
      enqueue.add(step["enqueue_ms"].toDouble(),
                  static_cast<double>(record.duration_ns()) / 1e6 - waits.ms, waits.count);
      span.add(step["device_span_ms"].toDouble(),
               ledger.deviceSpanMs(beginNs, movedNs(store, record.step()), endNs,
                                   store.hello()->workStart == WorkStart::kDeferred),
               0);
    }
    for (const Drain& drain : ledger.drains) {
      if (drain.cause == "event") eventWaitsMs += double(drain.endNs - drain.beginNs) / 1e6;
    }
    for (const auto& [what, numbers] :
         {std::pair("wait", wait), std::pair("enqueue", enqueue), std::pair("device span", span)}) {
      qInfo("%s", numbers.text(what).constData());
    }
    for (const auto& [what, numbers] : {std::pair("wait", wait), std::pair("device span", span)}) {
      QVERIFY2(std::fabs(numbers.error()) <= kTolerance, numbers.text(what).constData());
      QVERIFY2(numbers.close >= numbers.steps * 9 / 10, numbers.text(what).constData());
    }
    // What the step is long without its waits: their errors are a larger part of it. A thread that
    // loses its core in a wait changes single steps, and with them the sum, but not the median
    // step.
    QVERIFY2(enqueue.close * 2 > enqueue.steps, enqueue.text("enqueue").constData());
    // Reading the events made nobody wait.
    qInfo("waited for events: %.3f ms", eventWaitsMs);
    QVERIFY(eventWaitsMs < 0.005 * (wait.ledger + enqueue.ledger));
  }

  void theCpuHasNone() {
    const QTemporaryDir folder;
    const QString file = folder.filePath("a.highwater");
    const auto run = runHighwater(
        {"record", "--device", "cpu", "--steps", "3", "--batch", "4", "--seq", "16", "-o", file},
        {}, kRunTimeoutMs);
    QVERIFY2(run.exitCode == kExitDone, qPrintable(run.err));
    const auto report = runHighwater({"report", file, "--json"});
    const QJsonObject json = QJsonDocument::fromJson(report.out.toUtf8()).object();
    QVERIFY(json.contains("queue") && json["queue"].isNull());
  }
};

HIGHWATER_TEST(TestQueue, QCoreApplication)
#include "tst_queue.moc"
