#include "core/exit_codes.h"
#include "core/names.h"
#include "core/sim_knobs.h"
#include "support/test_program.h"
#include "worker_process.h"

using namespace highwater;
using namespace highwater::worker::test;

namespace {

const QStringList kTiny = {"--width", "32", "--layers", "1", "--heads", "2", "--seq", "16"};

bool hasSimulatedDevice() {
  return QFile::exists(HIGHWATER_BIN_DIR "/../lib/libhighwater_simmps.so");
}

/// What a run of each device is judged by, by several slots.
constexpr std::uint32_t kWholeSteps = 12;
const QStringList kWholeRun = {"--steps",       "12",       "--batch", "4",
                               "--loss-every",  "5",        "--set",   "3:batch=8",
                               "--set",         "5:seq=24", "--set",   "6:loss-every=2",
                               "--sampling-hz", "200"};
std::uint32_t batchOf(std::uint32_t step) {
  return step < 3 ? 4 : 8;
}
std::uint32_t lengthOf(std::uint32_t step) {
  return step < 5 ? 16 : 24;
}
/// Each fifth, from step 6 on each second, and the first.
const std::set<std::uint32_t> kLossSteps = {1, 5, 6, 8, 10, 12};

}  // namespace

class TestWorkerProcess : public QObject {
  Q_OBJECT

  /// The streams of kWholeRun by device.
  std::map<QString, Stream> streams_;

  void addDevices() {
    QTest::addColumn<QString>("device");
    for (const auto& [device, stream] : streams_) QTest::newRow(qPrintable(device)) << device;
  }

 private slots:
  void initTestCase() {
    QStringList devices{"cpu"};
    if (hasSimulatedDevice()) devices << "sim";
    for (const QString& device : devices) {
      WorkerProcess worker(QStringList{"--autostart", "--device", device} + kWholeRun + kTiny,
                           {{kSimRecommendedVariable, "512MiB"}});
      QCOMPARE(worker.finish(), static_cast<int>(kExitDone));
      QCOMPARE(worker.stream().complaint, QString());
      streams_[device] = worker.stream();
    }
  }

  void streamsAWholeRun_data() { addDevices(); }
  void streamsAWholeRun() {
    QFETCH(QString, device);
    const Stream& s = streams_[device];
    QVERIFY(s.hello);
    QCOMPARE(s.hello->device.requested, device.toStdString());
    QCOMPARE(s.hello->device.selected, std::string(device == "cpu" ? "cpu" : "mps"));
    QCOMPARE(s.hello->device.simulated, device == "sim");
    QVERIFY(!s.hello->device.reason.empty());
    QVERIFY(s.description);
    QCOMPARE(s.description->labels,
             (std::vector<std::string>{"needs_docs", "needs_review", "needs_test"}));
    QCOMPARE(s.description->plannedSteps, kWholeSteps);
    QVERIFY(s.goodbye);
    QCOMPARE(s.goodbye->stepsDone, kWholeSteps);
    QVERIFY(!s.goodbye->stoppedOnRequest);

    QCOMPARE(s.steps.size(), std::size_t{kWholeSteps});
    std::set<std::uint32_t> lossSteps;
    for (std::uint32_t i = 0; i < kWholeSteps; ++i) {
      const auto& step = s.steps[i];
      QCOMPARE(step.step(), i + 1);
      QCOMPARE(step.batch_size(), batchOf(i + 1));
      QCOMPARE(step.sequence_length(), lengthOf(i + 1));
      QCOMPARE(step.tokens(), batchOf(i + 1) * lengthOf(i + 1));
      QCOMPARE(std::isnan(step.loss()), step.loss_read() == 0);
      if (step.loss_read()) lossSteps.insert(step.step());
    }
    QCOMPARE(lossSteps, kLossSteps);

    // Every step has its phases, in order and within the step; the loss read only where the loss
    // was read.
    std::map<std::uint32_t, std::vector<events::Phase>> phases;
    for (const auto& phase : s.phases) {
      phases[phase.step()].push_back(phase.phase());
      const auto& step = s.steps.at(phase.step() - 1);
      QVERIFY(phase.begin_ns() >= step.begin_ns());
      QVERIFY(phase.begin_ns() + phase.duration_ns() <= step.begin_ns() + step.duration_ns());
    }
    QCOMPARE(phases.size(), std::size_t{kWholeSteps});
    for (const auto& [step, seen] : phases) {
      std::vector<events::Phase> expected(kPhases.begin(), kPhases.end());
      if (!lossSteps.count(step)) std::erase(expected, events::Phase::LossRead);
      QCOMPARE(seen, expected);
    }
    QCOMPARE(s.evaluations.size(), std::size_t{1});
    QCOMPARE(s.evaluations[0].step(), kWholeSteps);
    QCOMPARE(s.evaluations[0].samples(), s.description->heldOutRows);
    QVERIFY(!s.systemSamples.empty());
    QVERIFY(!s.heartbeats.empty());
    QVERIFY(s.drops.empty());
  }

  void changesKnobsAtTheirStep_data() { addDevices(); }
  void changesKnobsAtTheirStep() {
    QFETCH(QString, device);
    const Stream& s = streams_[device];
    const auto batch = s.markersOf(events::MarkerKind::BatchSize);
    QCOMPARE(batch.size(), std::size_t{1});
    QCOMPARE(batch[0].step(), 3u);
    QCOMPARE(batch[0].value_before(), 4.0);
    QCOMPARE(batch[0].value_after(), 8.0);
    QVERIFY(batch[0].time_ns() <= s.steps[2].begin_ns());
    QVERIFY(batch[0].time_ns() >= s.steps[1].begin_ns() + s.steps[1].duration_ns());
    QCOMPARE(s.markersOf(events::MarkerKind::SequenceLength).at(0).step(), 5u);
    QCOMPARE(s.markersOf(events::MarkerKind::LossInterval).at(0).step(), 6u);
  }

  void learns() {
    WorkerProcess worker({"--autostart", "--device", "cpu", "--steps", "120", "--width", "64",
                          "--layers", "1", "--heads", "4", "--seq", "48", "--lr", "3e-3"});
    QCOMPARE(worker.finish(), static_cast<int>(kExitDone));
    const Stream& s = worker.stream();
    QVERIFY(s.steps.back().loss_read());
    QVERIFY2(
        s.steps.back().loss() < 0.8f * s.steps.front().loss(),
        qPrintable(QString("%1 to %2").arg(s.steps.front().loss()).arg(s.steps.back().loss())));
    QVERIFY2(s.evaluations.at(0).accuracy() > 0.6f,
             qPrintable(QString::number(s.evaluations.at(0).accuracy())));
  }

  void measuresMemoryOfTheDevice() {
    if (!hasSimulatedDevice()) QSKIP("the simulated device is not built");
    const Stream& s = streams_["sim"];
    QCOMPARE(s.hello->limits.recommendedBytes, std::uint64_t{512} << 20);
    std::set<events::SampleOrigin> origins;
    for (std::size_t i = 0; i < s.memorySamples.size(); ++i) {
      const auto& sample = s.memorySamples[i];
      origins.insert(sample.origin());
      QCOMPARE(sample.recommended_bytes(), std::uint64_t{512} << 20);
      QVERIFY(sample.driver_bytes() >= sample.current_bytes());
      if (i > 0) QVERIFY(sample.time_ns() >= s.memorySamples[i - 1].time_ns());
    }
    QCOMPARE(origins.size(), std::size_t{2});
    for (const auto& step : s.steps) {
      QVERIFY(step.peak_current_bytes() > 0);
      QVERIFY(step.peak_driver_bytes() >= step.peak_current_bytes());
      // No sample within the step may exceed its peak.
      for (const auto& sample : s.memorySamples) {
        const bool inside = sample.time_ns() >= step.begin_ns() &&
                            sample.time_ns() <= step.begin_ns() + step.duration_ns();
        if (inside) QVERIFY(sample.current_bytes() <= step.peak_current_bytes());
      }
    }
  }

  void reportsTheLossReadAsDeliberateSyncPoint() {
    if (!hasSimulatedDevice()) QSKIP("the simulated device is not built");
    const Stream& s = streams_["sim"];
    std::set<std::uint32_t> readAt;
    std::map<std::uint32_t, std::uint64_t> movedAt;
    for (const auto& sync : s.syncPoints) {
      if (sync.phase() == events::Phase::LossRead) {
        QCOMPARE(s.nameOf(sync.op()), std::string("aten::_local_scalar_dense"));
        QCOMPARE(sync.kind(), events::SyncKind::ScalarRead);
        QCOMPARE(sync.bytes(), std::uint64_t{4});
        QCOMPARE(sync.deliberate(), std::uint8_t{1});
        readAt.insert(sync.step());
      }
      if (sync.phase() == events::Phase::DeviceMove) {
        QCOMPARE(sync.kind(), events::SyncKind::CopyToDevice);
        QCOMPARE(sync.deliberate(), std::uint8_t{1});
        movedAt[sync.step()] += sync.bytes();
      }
      // Outside the steps only the evaluation waits, deliberately.
      if (sync.phase() == events::Phase::None) QCOMPARE(sync.deliberate(), std::uint8_t{1});
    }
    QCOMPARE(readAt, kLossSteps);
    QCOMPARE(movedAt.size(), std::size_t{kWholeSteps});
    // int64 ids and labels.
    for (const auto& [step, bytes] : movedAt) {
      QCOMPARE(bytes, std::uint64_t{8} * (batchOf(step) * lengthOf(step) + batchOf(step)));
    }
  }

  void theCpuHasNothingOfADevice() {
    const Stream& s = streams_["cpu"];
    QVERIFY(s.fallbacks.empty() && s.syncPoints.empty() && s.memorySamples.empty());
  }

  void obeysTheHost() {
    WorkerProcess worker(QStringList{"--device", "cpu", "--batch", "2"} + kTiny);
    QVERIFY(worker.readUntil([](const Stream& s) { return s.hello.has_value(); }));
    QVERIFY(!worker.stream().description);
    worker.send(Welcome{wire::kProtocolVersion});
    QVERIFY(worker.readUntil([](const Stream& s) { return s.description.has_value(); }));
    SetKnobs early;
    early.batchSize = 3;
    early.atStep = 4;
    worker.send(Command{1, early});
    worker.send(Command{2, StartTraining{}});
    QVERIFY(worker.readUntil([](const Stream& s) { return s.steps.size() >= 6; }));
    QCOMPARE(worker.stream().steps[2].batch_size(), 2u);
    QCOMPARE(worker.stream().steps[3].batch_size(), 3u);

    worker.send(Command{3, PauseTraining{}});
    QVERIFY(worker.readUntil([](const Stream& s) {
      return !s.markersOf(events::MarkerKind::Paused).empty() && !s.heartbeats.empty() &&
             s.heartbeats.back().paused();
    }));
    const std::uint32_t pausedBefore =
        worker.stream().markersOf(events::MarkerKind::Paused)[0].step();
    worker.send(Command{4, EmptyCache{}});
    QVERIFY(worker.readUntil(
        [](const Stream& s) { return !s.markersOf(events::MarkerKind::CacheEmptied).empty(); }));
    QCOMPARE(worker.stream().steps.back().step(), pausedBefore - 1);
    SetKnobs live;
    live.batchSize = 5;
    worker.send(Command{5, live});
    worker.send(Command{6, ResumeTraining{}});
    QVERIFY(worker.readUntil(
        [pausedBefore](const Stream& s) { return s.steps.back().step() > pausedBefore; }));
    const auto changes = worker.stream().markersOf(events::MarkerKind::BatchSize);
    QCOMPARE(changes.size(), std::size_t{2});
    QCOMPARE(changes[1].step(), pausedBefore);
    QCOMPARE(worker.stream().steps.at(pausedBefore - 1).batch_size(), 5u);
    QCOMPARE(worker.stream().markersOf(events::MarkerKind::Resumed).size(), std::size_t{1});

    worker.send(Command{7, StopTraining{}});
    QCOMPARE(worker.finish(), static_cast<int>(kExitDone));
    const Stream& s = worker.stream();
    QCOMPARE(s.complaint, QString());
    QVERIFY(s.goodbye && s.goodbye->stoppedOnRequest);
    QCOMPARE(s.goodbye->stepsDone, s.steps.back().step());
    QCOMPARE(s.results.size(), std::size_t{7});
    for (std::size_t i = 0; i < s.results.size(); ++i) {
      QCOMPARE(s.results[i].commandId, static_cast<std::uint32_t>(i + 1));
      QVERIFY2(s.results[i].accepted, s.results[i].message.c_str());
    }
    QCOMPARE(s.results[0].effectiveStep, 4u);
    QCOMPARE(s.results[4].effectiveStep, pausedBefore);
  }

  void endsWithItsHost_data() {
    QTest::addColumn<bool>("training");
    QTest::newRow("before the start") << false;
    QTest::newRow("while training") << true;
  }

  void endsWithItsHost() {
    QFETCH(bool, training);
    WorkerProcess worker({"--device", "cpu", "--batch", "64", "--seq", "128"});
    QVERIFY(worker.readUntil([](const Stream& s) { return s.hello.has_value(); }));
    if (training) {
      worker.send(Welcome{wire::kProtocolVersion});
      worker.send(Command{1, StartTraining{}});
      QVERIFY(worker.readUntil([](const Stream& s) { return !s.steps.empty(); }));
    }
    worker.hangUp();
    QCOMPARE(worker.finish(), static_cast<int>(kExitEndedEarly));
  }

  void endsOnAProtocolViolation() {
    WorkerProcess worker(QStringList{"--device", "cpu"} + kTiny);
    QVERIFY(worker.readUntil([](const Stream& s) { return s.hello.has_value(); }));
    worker.send(Goodbye{});  // a valid frame, but only a worker may send it
    QCOMPARE(worker.finish(), static_cast<int>(kExitFailed));
    QVERIFY(worker.stream().failure);
    QVERIFY(worker.errors().contains("only a worker"));
  }

  void describesItself() {
    WorkerProcess worker({"--device", "cpu", "--describe"}, {{"PYTORCH_MPS_FAST_MATH", "1"}});
    QCOMPARE(worker.finish(), static_cast<int>(kExitDone));
    const Hello& hello = *worker.stream().hello;
    QVERIFY(hello.limits.systemBytes > 0);
    QVERIFY(hello.platform.rfind("Linux", 0) == 0 || hello.platform.rfind("macOS", 0) == 0);
    const auto value = [&hello](const std::string& name) -> std::optional<std::string> {
      for (const auto& entry : hello.environment) {
        if (entry.name == name) return entry.value;
      }
      return "not listed";
    };
    QCOMPARE(value("PYTORCH_MPS_FAST_MATH"), std::optional<std::string>("1"));
    QCOMPARE(value("PYTORCH_MPS_HIGH_WATERMARK_RATIO"), std::optional<std::string>());
  }

  void checksTheDeviceContract() {
    if (!hasSimulatedDevice()) QSKIP("the simulated device is not built");
    WorkerProcess worker(
        QStringList{"--autostart", "--device", "sim", "--steps", "3", "--break-contract"} + kTiny);
    QCOMPARE(worker.finish(), static_cast<int>(kExitFailed));
    const Stream& s = worker.stream();
    QVERIFY(s.failure);
    QCOMPARE(s.failure->kind, Failure::Kind::kDeviceContract);
    QCOMPARE(s.failure->message, std::string("batch device cpu does not match model device mps"));
    QVERIFY(!s.goodbye);
    QVERIFY(s.steps.empty());
  }

  /// Before the first step; tst_worker_recovery has those in a step.
  void reportsOutOfMemory() {
    if (!hasSimulatedDevice()) QSKIP("the simulated device is not built");
    WorkerProcess worker({"--autostart", "--device", "sim", "--steps", "3", "--on-out-of-memory",
                          "stop", "--width", "512", "--layers", "4"},
                         {{kSimRecommendedVariable, "16777216B"}});
    QCOMPARE(worker.finish(), static_cast<int>(kExitEndedEarly));
    const Stream& s = worker.stream();
    QCOMPARE(s.complaint, QString());
    QVERIFY(s.failure);
    QCOMPARE(s.failure->kind, Failure::Kind::kOutOfMemory);
    QVERIFY(s.failure->message.find("MPS backend out of memory") != std::string::npos);
    const auto markers = s.markersOf(events::MarkerKind::OutOfMemory);
    QCOMPARE(markers.size(), std::size_t{1});
    QCOMPARE(s.nameOf(markers[0].text()), s.failure->message);
  }

  void refusesAnotherPyTorch() {
#ifndef FAKE_TORCH
    QSKIP("needs the stub library of tests/simmps");
#else
    // A stub in front of libtorch that says it is PyTorch 1.6.0.
    WorkerProcess worker({"--autostart", "--device", "cpu", "--steps", "1"},
                         {{"LD_PRELOAD", FAKE_TORCH}});
    QCOMPARE(worker.finish(), static_cast<int>(kExitFailed));
    QVERIFY(!worker.stream().hello);
    const QString errors = worker.errors();
    for (const char* part :
         {"built for PyTorch " TORCH_VERSION, "PyTorch 1.6.0 (", "libtorch_cpu"}) {
      QVERIFY2(errors.contains(part), qPrintable(errors));
    }
#endif
  }

  void keepsPrintsOutOfTheFrames() {
    // --help prints to stdout, which with --stdio must go to stderr.
    WorkerProcess worker({"--help"});
    QCOMPARE(worker.finish(), static_cast<int>(kExitDone));
    QCOMPARE(worker.stream().complaint, QString());
    QVERIFY(worker.errors().contains("--scenario"));
  }

  /// Those that are known only once the worker has its device; the others are tst_worker_options.
  void refusesBadOptions_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("says");
    QTest::newRow("change past the end")
        << QStringList{"--steps", "3", "--set", "9:batch=4"} << "past the last one";
    QTest::newRow("accepted op") << QStringList{"--accepted-op", "aten::gleu"} << "aten::gelu";
  }

  void refusesBadOptions() {
    QFETCH(QStringList, arguments);
    QFETCH(QString, says);
    WorkerProcess worker(QStringList{"--autostart", "--device", "cpu"} + arguments);
    QCOMPARE(worker.finish(), static_cast<int>(kExitUsage));
    QVERIFY(!worker.stream().hello);
    const QString errors = worker.errors();
    QVERIFY2(errors.contains(says), qPrintable(errors));
  }

  void reportsBadData() {
    QTemporaryDir folder;
    const QString path = folder.filePath("bad.csv");
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("title,kind\nsomething,else\n");
    file.close();
    WorkerProcess worker({"--autostart", "--device", "cpu", "--data", path});
    QCOMPARE(worker.finish(), static_cast<int>(kExitFailed));
    QVERIFY(worker.stream().failure);
    QVERIFY(worker.stream().failure->message.find("bad.csv") != std::string::npos);
    QVERIFY(worker.stream().failure->message.find("text,label") != std::string::npos);
  }
};

HIGHWATER_TEST(TestWorkerProcess, QCoreApplication)
#include "tst_worker_process.moc"
