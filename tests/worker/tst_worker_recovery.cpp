#include "core/exit_codes.h"
#include "core/knobs.h"
#include "core/sim_knobs.h"
#include "support/test_program.h"
#include "worker_process.h"

using namespace highwater;
using namespace highwater::worker::test;
using events::MarkerKind;

namespace {

const QStringList kSmall = {"--autostart", "--device", "sim", "--width",      "32", "--layers",
                            "1",           "--heads",  "4",   "--seq",        "64", "--batch",
                            "4",           "--steps",  "3",   "--loss-every", "1"};

QStringList with(const QStringList& more) {
  QStringList arguments = kSmall;
  for (int i = 0; i + 1 < more.size(); i += 2) {
    const int at = more[i] == "--set" ? -1 : static_cast<int>(arguments.indexOf(more[i]));
    if (at < 0) {
      arguments << more[i] << more[i + 1];
    } else {
      arguments[at + 1] = more[i + 1];
    }
  }
  return arguments;
}

/// Whether each step from 1 to `count` was recorded once, with a finite loss.
bool hasSteps(const Stream& stream, std::uint32_t count) {
  if (stream.steps.size() != count) return false;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto& step = stream.steps[i];
    if (step.step() != i + 1 || !step.loss_read() || !std::isfinite(step.loss())) return false;
  }
  return true;
}

/// The least that the device had allocated between each time that memory ran out and the next, by
/// its own account.
std::vector<qint64> leastAfterRefusals(const QString& ledger) {
  QFile file(ledger);
  std::vector<qint64> bytes;
  if (!file.open(QIODevice::ReadOnly)) return bytes;
  while (!file.atEnd()) {
    const QJsonObject line = QJsonDocument::fromJson(file.readLine()).object();
    if (!line.contains("current_bytes")) continue;
    const qint64 current = line["current_bytes"].toInteger();
    if (line["event"] == "out_of_memory") {
      bytes.push_back(current);
    } else if (!bytes.empty()) {
      bytes.back() = std::min(bytes.back(), current);
    }
  }
  return bytes;
}

}  // namespace

class TestWorkerRecovery : public QObject {
  Q_OBJECT

 private slots:
  void goesOnAHundredTimes() {
    QTemporaryDir folder;
    const QString ledger = folder.filePath("ledger.jsonl");
    constexpr std::uint32_t kSteps = 60;
    std::mt19937 random(20);
    QStringList arguments = with({"--steps", QString::number(kSteps)});
    for (std::uint32_t step = 2; step <= kSteps; step += 2) {
      const auto batch = std::uniform_int_distribution<>(1000, 4096)(random);
      arguments << "--set" << QString("%1:batch=%2").arg(step).arg(batch);
    }
    WorkerProcess worker(arguments,
                         {{kSimRecommendedVariable, "16MiB"}, {kSimLedgerVariable, ledger}});
    QCOMPARE(worker.finish(), static_cast<int>(kExitDone));
    const Stream& s = worker.stream();
    QCOMPARE(s.complaint, QString());
    QVERIFY(hasSteps(s, kSteps));
    const auto refusals = s.markersOf(MarkerKind::OutOfMemory);
    QVERIFY2(refusals.size() >= 100, qPrintable(QString::number(refusals.size())));
    for (const auto& marker : refusals) {
      QVERIFY(marker.value_before() > 0);
      QVERIFY2(
          std::abs(marker.value_after() - 1.7 * 16 * 1048576) < 16384,  // two decimals of a MiB
          qPrintable(QString::number(marker.value_after(), 'f')));
      QVERIFY(s.nameOf(marker.text()).find("MPS backend out of memory") != std::string::npos);
    }
    const auto recovered = s.markersOf(MarkerKind::Recovered);
    QVERIFY2(recovered.size() >= 30, qPrintable(QString::number(recovered.size())));
    for (const auto& marker : recovered) {
      QVERIFY(marker.value_after() < marker.value_before());
      QCOMPARE(marker.value_after(), double(s.steps.at(marker.step() - 1).batch_size()));
    }
    // The evaluation reads all parameters.
    QCOMPARE(s.evaluations.size(), std::size_t{1});
    QVERIFY(std::isfinite(s.evaluations[0].loss()));
    // From the first trained step on the optimizer has its state; nothing else may stay. A thread
    // of autograd may let go of the dropped step's texts only while the next labels are already
    // there.
    auto least = leastAfterRefusals(ledger);
    QCOMPARE(least.size(), refusals.size());
    least.pop_back();  // with the end of the process in it
    const auto [base, most] = std::minmax_element(least.begin(), least.end());
    constexpr qint64 kLabels = 4096 * sizeof(std::int64_t);
    QVERIFY2(*most - *base <= kLabels, qPrintable(QString("%1 to %2").arg(*base).arg(*most)));
  }

  void survivesTheRefusalOfAnyAllocation_data() {
    QTest::addColumn<int>("allocation");
    // A training of three steps makes some 580.
    for (int n = 60; n <= 560; n += 200) QTest::newRow(qPrintable(QString::number(n))) << n;
  }

  void survivesTheRefusalOfAnyAllocation() {
    QFETCH(int, allocation);
    WorkerProcess worker(with({"--on-out-of-memory", "retry", "--level", "ops"}),
                         {{kSimOutOfMemoryAtVariable, QString::number(allocation)}});
    QCOMPARE(worker.finish(), static_cast<int>(kExitDone));
    const Stream& s = worker.stream();
    QCOMPARE(s.complaint, QString());
    QVERIFY(hasSteps(s, 3));
    QCOMPARE(s.evaluations.size(), std::size_t{1});
    const auto refusals = s.markersOf(MarkerKind::OutOfMemory);
    QCOMPARE(refusals.size(), std::size_t{1});
    const bool inStep = s.nameOf(refusals[0].text()).find("in the evaluation") == std::string::npos;
    QCOMPARE(s.markersOf(MarkerKind::Recovered).size(), std::size_t(inStep));
    // Ops nest as before, whatever the exception has left.
    for (const auto& op : s.ops) QVERIFY(op.depth() < 64);
  }

  void trainsOnWhatItHasDropped() {
    // The first batch is refused whole, then trained in halves: no row is lost.
    WorkerProcess worker(with({"--batch", "2048", "--steps", "4"}),
                         {{kSimRecommendedVariable, "16MiB"}});
    QCOMPARE(worker.finish(), static_cast<int>(kExitDone));
    const Stream& s = worker.stream();
    QVERIFY(hasSteps(s, 4));
    const auto changes = s.markersOf(MarkerKind::BatchSize);
    QVERIFY(!changes.empty());
    QCOMPARE(changes[0].value_before(), 2048.0);
    QCOMPARE(changes[0].value_after(), 1024.0);
    for (const auto& marker : changes) QCOMPARE(marker.step(), 1u);
    QCOMPARE(s.markersOf(MarkerKind::CacheEmptied).size(), changes.size());
    QCOMPARE(s.goodbye->stepsDone, 4u);
  }

  void endsWhereNothingIsLeftToTry_data() {
    QTest::addColumn<QString>("policy");
    QTest::addColumn<int>("tries");
    QTest::addColumn<QString>("says");
    QTest::newRow("halve") << "halve" << 3 << "batch size 1, sequence length 512";
    QTest::newRow("retry") << "retry" << 3 << "3 times in a row with batch size 4";
    QTest::newRow("stop") << "stop" << 1 << "MPS backend out of memory";
  }

  void endsWhereNothingIsLeftToTry() {
    QFETCH(QString, policy);
    QFETCH(int, tries);
    QFETCH(QString, says);
    // The scores of one text of this length need more than the limit.
    WorkerProcess worker(with({"--seq", "512", "--heads", "32", "--on-out-of-memory", policy}),
                         {{kSimRecommendedVariable, "16MiB"}});
    QCOMPARE(worker.finish(), static_cast<int>(kExitEndedEarly));
    const Stream& s = worker.stream();
    QVERIFY(s.failure && s.failure->kind == Failure::Kind::kOutOfMemory);
    QVERIFY2(QString::fromStdString(s.failure->message).contains(says), s.failure->message.c_str());
    QCOMPARE(s.markersOf(MarkerKind::OutOfMemory).size(), std::size_t(tries));
    QVERIFY(s.steps.empty());
    QVERIFY(s.markersOf(MarkerKind::Recovered).empty());
  }

  void evaluatesInSmallerBatches() {
    // The scores of 32 texts need twice the limit, those of the batch in training fit.
    WorkerProcess worker(with({"--seq", "256", "--heads", "8", "--batch", "1"}),
                         {{kSimRecommendedVariable, "16MiB"}});
    QCOMPARE(worker.finish(), static_cast<int>(kExitDone));
    const Stream& s = worker.stream();
    QVERIFY(hasSteps(s, 3));
    QVERIFY(!s.markersOf(MarkerKind::OutOfMemory).empty());
    QCOMPARE(s.evaluations.size(), std::size_t{1});
    QVERIFY(std::isfinite(s.evaluations[0].loss()));
    QVERIFY(s.markersOf(MarkerKind::BatchSize).empty());
  }

  void obeysTheFractionWhileItTrains() {
    WorkerProcess worker(with({"--batch", "64", "--steps", "8", "--set", "4:memory-fraction=0.5"}),
                         {{kSimRecommendedVariable, "64MiB"}});
    QCOMPARE(worker.finish(), static_cast<int>(kExitDone));
    const Stream& s = worker.stream();
    QCOMPARE(s.description->knobs.memoryFraction, 1.7);
    QVERIFY(hasSteps(s, 8));
    const auto changes = s.markersOf(MarkerKind::MemoryFraction);
    QCOMPARE(changes.size(), std::size_t{1});
    QCOMPARE(changes[0].value_before(), 1.7);
    QCOMPARE(changes[0].value_after(), 0.5);
    const auto refusals = s.markersOf(MarkerKind::OutOfMemory);
    QVERIFY(!refusals.empty());
    QCOMPARE(refusals[0].step(), 4u);
    QCOMPARE(refusals[0].value_after(), 32.0 * 1048576);
  }

  void addsUpGradients() {
    WorkerProcess worker(
        with({"--steps", "4", "--accumulate", "2", "--set", "3:accumulate=3,lr=0.0005"}));
    QCOMPARE(worker.finish(), static_cast<int>(kExitDone));
    const Stream& s = worker.stream();
    QCOMPARE(s.complaint, QString());
    QVERIFY(hasSteps(s, 4));
    QCOMPARE(s.description->knobs.accumulation, 2u);
    QCOMPARE(s.description->knobs.learningRate, 0.001);
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint32_t batches = i < 2 ? 2 : 3;
      QCOMPARE(s.steps[i].batch_size(), 4u);
      QCOMPARE(s.steps[i].tokens(), 4 * 64 * batches);
      std::map<events::Phase, std::uint32_t> phases;
      for (const auto& phase : s.phases) {
        if (phase.step() == i + 1) ++phases[phase.phase()];
      }
      QCOMPARE(phases[events::Phase::Forward], batches);
      QCOMPARE(phases[events::Phase::Backward], batches);
      QCOMPARE(phases[events::Phase::LossRead], 1u);
      QCOMPARE(phases[events::Phase::OptimizerStep], 1u);
    }
    const auto rates = s.markersOf(MarkerKind::LearningRate);
    QCOMPARE(rates.size(), std::size_t{1});
    QCOMPARE(rates[0].value_after(), 0.0005);
  }

  void keepsTheEffectiveBatch() {
    WorkerProcess worker({"--autostart", "--device",  "cpu",   "--width",
                          "32",          "--layers",  "1",     "--heads",
                          "4",           "--seq",     "16",    "--batch",
                          "12",          "--steps",   "6",     "--keep-effective-batch",
                          "--set",       "2:batch=4", "--set", "4:accumulate=2"});
    QCOMPARE(worker.finish(), static_cast<int>(kExitDone));
    const Stream& s = worker.stream();
    for (const auto& step : s.steps) QCOMPARE(step.tokens(), 12u * 16u);
    QCOMPARE(s.steps[1].batch_size(), 4u);
    QCOMPARE(s.steps[3].batch_size(), 6u);
  }

  void computesInAnyPrecision() {
    WorkerProcess worker(with({"--steps", "8", "--level", "ops", "--set", "3:precision=bfloat16",
                               "--set", "5:precision=float16", "--set", "7:precision=float32"}));
    QCOMPARE(worker.finish(), static_cast<int>(kExitDone));
    const Stream& s = worker.stream();
    QCOMPARE(s.complaint, QString());
    QVERIFY(hasSteps(s, 8));
    QCOMPARE(s.markersOf(MarkerKind::Precision).size(), std::size_t{3});
    // The shapes of the ops' arguments name their types.
    std::set<std::uint32_t> bfloat16, float16;
    for (const auto& op : s.ops) {
      if (op.phase() != events::Phase::Forward) continue;
      const std::string shapes = s.nameOf(op.shapes());
      if (shapes.find(" bfloat16") != std::string::npos) bfloat16.insert(op.step());
      if (shapes.find(" float16") != std::string::npos) float16.insert(op.step());
    }
    QCOMPARE(bfloat16, (std::set<std::uint32_t>{3, 4}));
    QCOMPARE(float16, (std::set<std::uint32_t>{5, 6}));
  }
};

HIGHWATER_TEST(TestWorkerRecovery, QCoreApplication)
#include "tst_worker_recovery.moc"
