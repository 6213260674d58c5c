// Trainings that one worker begins and another one continues.
#include <fcntl.h>
#include <unistd.h>

#include <QTemporaryFile>

#include "core/checkpoint_slots.h"
#include "core/exit_codes.h"
#include "core/sim_knobs.h"
#include "support/test_program.h"
#include "worker_process.h"

using namespace highwater;
using namespace highwater::worker::test;
using events::MarkerKind;

namespace {

QStringList small(const QString& device) {
  return {"--autostart", "--device", device, "--width", "32", "--layers",
          "1",           "--heads",  "4",    "--seq",   "32", "--loss-every",
          "1",           "--batch",  "24",   "--seed",  "5"};
}

/// The arguments with another value of an option, or with one more.
QStringList with(QStringList arguments, const QString& option, const QString& value) {
  const auto at = arguments.indexOf(option);
  if (at < 0) return arguments << option << value;
  arguments[at + 1] = value;
  return arguments;
}

/// Two files, whose descriptors a worker inherits.
struct Files {
  QTemporaryFile first, second;
  int fds[2] = {-1, -1};

  Files() {
    if (!first.open() || !second.open()) qFatal("no temporary file");
    fds[0] = ::dup(first.handle());  // without close-on-exec
    fds[1] = ::dup(second.handle());
  }
  ~Files() {
    for (const int fd : fds) ::close(fd);
  }
  [[nodiscard]] QStringList option() const {
    return {"--checkpoint", QString("%1,%2").arg(fds[0]).arg(fds[1])};
  }
  [[nodiscard]] CheckpointSlots both() const { return CheckpointSlots({fds[0], fds[1]}); }
};

/// Trains until at least `count` steps are done, stops, and returns the last step. 0: failed.
std::uint32_t trainSome(const QStringList& arguments, std::uint32_t count) {
  WorkerProcess worker(arguments);
  const bool trained =
      worker.readUntil([count](const Stream& s) { return s.steps.size() >= count; });
  worker.send(Command{1, StopTraining{}});
  if (worker.finish() != kExitDone || !trained || !worker.stream().complaint.isEmpty()) return 0;
  return worker.stream().goodbye->stepsDone;
}

/// The texts of the notes that the worker has made.
QStringList notesOf(const Stream& stream) {
  QStringList notes;
  for (const auto& marker : stream.markersOf(MarkerKind::Note)) {
    notes << QString::fromStdString(stream.nameOf(marker.text()));
  }
  return notes;
}

std::size_t spansOf(const Stream& stream, std::string_view name) {
  return static_cast<std::size_t>(
      std::count_if(stream.namedSpans.begin(), stream.namedSpans.end(),
                    [&](const auto& span) { return stream.nameOf(span.name()) == name; }));
}
std::size_t checkpointsOf(const Stream& stream) {
  return spansOf(stream, "checkpoint");
}

}  // namespace

class TestCheckpoint : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { qputenv("OMP_NUM_THREADS", "1"); }
  void continuesWithEqualLosses_data() {
    QTest::addColumn<QString>("from");
    QTest::addColumn<QString>("to");
    QTest::addColumn<QStringList>("more");
    QTest::newRow("sim to cpu") << "sim"
                                << "cpu" << QStringList();
    // The lengths of its batches are random.
    QTest::newRow("cpu to sim, shape-churn") << "cpu"
                                             << "sim" << QStringList{"--scenario", "shape-churn"};
  }

  void continuesWithEqualLosses() {
    QFETCH(QString, from);
    QFETCH(QString, to);
    QFETCH(QStringList, more);
    const Files files;
    constexpr std::uint32_t kFirst = 10, kMore = 10;
    const std::uint32_t stopped =
        trainSome(small(from) + more + files.option() + QStringList{"--steps", "100000"}, kFirst);
    QVERIFY(stopped >= kFirst);
    const auto head = files.both().newestHead();
    QVERIFY(head);
    QCOMPARE(head->step, stopped);

    const QStringList steps{"--steps", QString::number(stopped + kMore)};
    WorkerProcess whole(small(from) + more + steps);
    QCOMPARE(whole.finish(), static_cast<int>(kExitDone));
    WorkerProcess rest(small(to) + more + steps + files.option() +
                       QStringList{"--continue", "run.highwater"});
    QCOMPARE(rest.finish(), static_cast<int>(kExitDone));
    QCOMPARE(rest.stream().complaint, QString());
    QCOMPARE(rest.stream().goodbye->stepsDone, stopped + kMore);
    // The steps of the CPU are not queued.
    QVERIFY(checkpointsOf(rest.stream()) >= 1);
    QCOMPARE(spansOf(rest.stream(), "wait before checkpoint"),
             to == "cpu" ? 0 : checkpointsOf(rest.stream()));
    QVERIFY(notesOf(rest.stream())
                .contains(QString("continued from step %1 of run.highwater").arg(stopped)));

    const auto& expected = whole.stream().steps;
    const auto& continued = rest.stream().steps;
    QCOMPARE(expected.size(), std::size_t(stopped + kMore));
    QCOMPARE(continued.size(), std::size_t(kMore));
    for (std::size_t i = 0; i < kMore; ++i) {
      const auto& want = expected[stopped + i];
      QCOMPARE(continued[i].step(), want.step());
      QCOMPARE(continued[i].sequence_length(), want.sequence_length());
      QVERIFY(want.loss_read() && continued[i].loss_read());
      QVERIFY2(std::abs(continued[i].loss() - want.loss()) <= 1e-5 * std::abs(want.loss()),
               qPrintable(QString("step %1: %2 instead of %3")
                              .arg(want.step())
                              .arg(continued[i].loss(), 0, 'g', 9)
                              .arg(want.loss(), 0, 'g', 9)));
    }
    // Without the state the next step has another loss: the comparison can fail.
    QVERIFY(std::abs(continued[0].loss() - expected[0].loss()) > 1e-4);
  }

  void continuesAfterAnAbort() {
    const Files files;
    WorkerProcess crashing(small("sim") + files.option() + QStringList{"--steps", "40"},
                           {{kSimCrashAtVariable, "3000"}});
    QCOMPARE(crashing.finish(), -1);
    const auto head = files.both().newestHead();
    QVERIFY(head);
    QVERIFY(head->step >= 1 && head->step < 40);
    WorkerProcess next(with(small("sim"), "--batch", "12") + files.option() +
                       QStringList{"--steps", "40", "--continue", "it"});
    QCOMPARE(next.finish(), static_cast<int>(kExitDone));
    const Stream& s = next.stream();
    QCOMPARE(s.complaint, QString());
    QCOMPARE(s.steps.front().step(), head->step + 1);
    QCOMPARE(s.steps.back().step(), 40u);
    for (const auto& step : s.steps) {
      QCOMPARE(step.batch_size(), 12u);
      QVERIFY(std::isfinite(step.loss()));
    }
    // Writing is a span of its own, between steps.
    QVERIFY(checkpointsOf(s) >= 1);
    // What the device still executes is waited for before it, and is not counted as its cost.
    QCOMPARE(spansOf(s, "wait before checkpoint"), checkpointsOf(s));
    for (const auto& span : s.namedSpans) {
      for (const auto& step : s.steps) {
        QVERIFY(span.begin_ns() >= step.begin_ns() + step.duration_ns() ||
                span.begin_ns() + span.duration_ns() <= step.begin_ns());
      }
    }
  }

  void refusesOtherTrainings() {
    const Files files;
    const auto stopped =
        trainSome(small("cpu") + files.option() + QStringList{"--steps", "100000"}, 2);
    QVERIFY(stopped >= 2);
    const auto refusal = [&](const QString& option, const QString& value) {
      WorkerProcess worker(with(small("cpu"), option, value) + files.option() +
                           QStringList{"--steps", "90000", "--continue", "it"});
      if (worker.finish() != kExitFailed) return QString("no failure");
      const auto& failure = worker.stream().failure;
      return failure ? QString::fromStdString(failure->message) : QString("no message");
    };
    QString said = refusal("--width", "16");
    QVERIFY2(said.contains("is of another model: tokens.weight"), qPrintable(said));
    said = refusal("--scenario", "shape-churn");
    QVERIFY2(said.contains("is of other data"), qPrintable(said));
    // And where nothing is left to train.
    WorkerProcess worker(small("cpu") + files.option() +
                         QStringList{"--steps", QString::number(stopped), "--continue", "it"});
    QCOMPARE(worker.finish(), static_cast<int>(kExitUsage));
    QVERIFY(worker.stream().failure->message.find("nothing is left to train") != std::string::npos);
  }

  void trainsOnWithoutItsFiles() {
    // Descriptors that cannot be written.
    QTemporaryFile file;
    QVERIFY(file.open());
    const QByteArray name = file.fileName().toLocal8Bit();
    const int readOnly = ::open(name.constData(), O_RDONLY);
    WorkerProcess worker(small("cpu") + QStringList{"--steps", "4", "--checkpoint",
                                                    QString("%1,%2").arg(readOnly).arg(readOnly)});
    QCOMPARE(worker.finish(), static_cast<int>(kExitDone));
    ::close(readOnly);
    QCOMPARE(worker.stream().steps.size(), std::size_t{4});
    QCOMPARE(notesOf(worker.stream()).size(), 1);
    QVERIFY(notesOf(worker.stream())[0].startsWith("no more checkpoints: "));

    WorkerProcess closed(small("cpu") + QStringList{"--steps", "4", "--checkpoint", "777,778"});
    QCOMPARE(closed.finish(), static_cast<int>(kExitUsage));
    QVERIFY(closed.errors().contains("777 is not open"));
    WorkerProcess lone(small("cpu") + QStringList{"--steps", "4", "--continue", "it"});
    QCOMPARE(lone.finish(), static_cast<int>(kExitUsage));
    QVERIFY(lone.errors().contains("--continue needs --checkpoint"));
  }
};

HIGHWATER_TEST(TestCheckpoint, QCoreApplication)
#include "tst_checkpoint.moc"
