// What a worker prints about a benchmark, and how its process may end.

#include "run/benchmark_run.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::run;
using highwater::test::kWaitMs;

namespace {

const char* const kStart =
    R"({"kind":"start","schema":1,"torch":"2.13.0","simulated":true,"cpu_threads":2,)"
    R"("workload":{"name":"issue-classifier","batch":16,"seq":64}})";
const char* const kTiming =
    R"({"kind":"timing","name":"matmul 2x3x4 bfloat16","what":"matmul","m":2,"k":3,"n":4,)"
    R"("dtype":"bfloat16","calls":7,"cpu":{"first_ms":3,"warm_up_calls":5,"measurements":)"
    R"([{"submitted_ms":1.5,"done_ms":2},{"submitted_ms":2,"done_ms":2.5}]},)"
    R"("mps":{"first_ms":9,"warm_up_calls":6,"measurements":[{"submitted_ms":0.5,"done_ms":4}]}})";
const char* const kDrift =
    R"({"kind":"drift","cpu_precision":"float32","mps_precision":"float16","no_float64":"",)"
    R"("loss":[{"cpu":1.25,"mps":null,"float64":1.5}],"outputs":[{"module":"head","mps":)"
    R"({"elements":8,"max_abs":0.5,"max_rel":0.25,"rms_error":0.125,"rms_expected":2,)"
    R"("non_finite":1},"rounding":null}],"gradients":[]})";

}  // namespace

class TestBenchmarkRun : public QObject {
  Q_OBJECT

 private slots:
  void readsEveryKindOfLine() {
    tuning::Benchmark benchmark;
    for (const char* line : {kStart, kTiming, kDrift}) {
      const auto added = addBenchmarkLine(line, benchmark);
      QVERIFY(added && !*added);
    }
    QCOMPARE(benchmark.torch, std::string("2.13.0"));
    QVERIFY(benchmark.simulated);
    QCOMPARE(benchmark.length, 64U);
    QCOMPARE(benchmark.timings.size(), std::size_t{1});
    const auto& timing = benchmark.timings[0];
    QCOMPARE(timing.shape, (MatmulShape{2, 3, 4}));
    QCOMPARE(timing.cpuType, std::string("bfloat16"));
    QCOMPARE(timing.calls, 7U);
    QCOMPARE(timing.cpu.doneMs, (std::vector<double>{2, 2.5}));
    QCOMPARE(timing.mps.submittedMs, std::vector<double>{0.5});
    QCOMPARE(timing.mps.warmUpCalls, 6U);
    QVERIFY(benchmark.drift);
    QVERIFY(std::isnan(benchmark.drift->losses[0].mps));
    QCOMPARE(benchmark.drift->losses[0].float64.value_or(0), 1.5);
    QCOMPARE(benchmark.drift->outputs[0].module, std::string("head"));
    QCOMPARE(benchmark.drift->outputs[0].mps.nonFinite, std::int64_t{1});
    QVERIFY(!benchmark.drift->outputs[0].rounding);
    QVERIFY(!benchmark.complete);

    const auto progress =
        addBenchmarkLine(R"({"kind":"progress","doing":"training step","done":0.5})", benchmark);
    QVERIFY(progress && *progress);
    QCOMPARE((*progress)->doing, QString("training step"));
    QCOMPARE((*progress)->done, 0.5);
    QVERIFY(addBenchmarkLine(R"({"kind":"refused","name":"x","why":"y"})", benchmark).ok());
    QCOMPARE(benchmark.refused.size(), std::size_t{1});
    QVERIFY(addBenchmarkLine(R"({"kind":"end"})", benchmark).ok());
    QVERIFY(benchmark.complete);
  }

  void refusesOtherLines_data() {
    QTest::addColumn<QByteArray>("line");
    QTest::newRow("empty") << QByteArray();
    QTest::newRow("text") << QByteArray("loading");
    QTest::newRow("array") << QByteArray("[1]");
    QTest::newRow("unknown kind") << QByteArray(R"({"kind":"verdict"})");
    QTest::newRow("other schema") << QByteArray(R"({"kind":"start","schema":2})");
  }

  void refusesOtherLines() {
    QFETCH(QByteArray, line);
    tuning::Benchmark benchmark;
    QVERIFY(!addBenchmarkLine(line, benchmark).ok());
  }

  void passesOptionsOn() {
    BenchmarkRunOptions options;
    options.launch.device = "sim";
    options.launch.batchSize = 8;
    options.step = false;
    options.shapes = {{512, 768, 3072}, {1, 2, 3}};
    options.dtypes = {Precision::kFloat32, Precision::kBFloat16};
    options.calls = 5;
    options.mpsPrecision = Precision::kFloat16;
    const QString line = benchmarkArguments(options).join(u' ');
    for (const char* part :
         {"--device sim", "--batch 8", "--benchmark matmul,drift", "--matmul 512x768x3072",
          "--matmul 1x2x3", "--matmul-dtype float32,bfloat16", "--calls 5",
          "--mps-precision float16"}) {
      QVERIFY2(line.contains(QLatin1String(part)), qPrintable(line));
    }
    QVERIFY(!line.contains("--rounds"));
  }

  void measuresWithAWorker() {
    BenchmarkRunOptions options;
    options.launch.workerProgram = worker(
        QStringLiteral("echo '%1'\necho '{\"kind\":\"progress\",\"doing\":\"x\",\"done\":1}'\n"
                       "echo '%2'\nprintf '%s' '{\"kind\":\"end\"}'\necho")
            .arg(QLatin1String(kStart), QLatin1String(kTiming)));
    BenchmarkRun run(options);
    QSignalSpy ended(&run, &BenchmarkRun::ended), progressed(&run, &BenchmarkRun::progressed);
    QVERIFY(run.start().ok());
    QVERIFY(ended.wait(kWaitMs));
    QVERIFY2(run.outcome().ok(), run.outcome() ? "" : run.outcome().error().message.c_str());
    QCOMPARE(progressed.size(), 1);
    QCOMPARE(run.benchmark().timings.size(), std::size_t{1});
  }

  void saysHowAWorkerEnded_data() {
    QTest::addColumn<QString>("script");
    QTest::addColumn<int>("code");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* name, const QString& script, ErrorCode code, const char* says) {
      QTest::newRow(name) << script << static_cast<int>(code) << QString::fromUtf8(says);
    };
    const QString start = QStringLiteral("echo '%1'\n").arg(QLatin1String(kStart));
    row("usage", "echo 'highwater-worker: --seq is wrong' >&2; exit 2", ErrorCode::kUsage,
        "--seq is wrong");
    row("failed", start + "echo 'highwater-worker: no mps' >&2; exit 1", ErrorCode::kFailed,
        "no mps");
    row("killed", start + "kill -9 $$", ErrorCode::kFailed, "SIGKILL");
    row("silent", "exit 1", ErrorCode::kFailed, "without a result");
    row("no end", start + "exit 0", ErrorCode::kFailed, "without a result");
    row("malformed", start + "echo loading; sleep 60", ErrorCode::kFailed, "loading");
  }

  void saysHowAWorkerEnded() {
    QFETCH(QString, script);
    QFETCH(int, code);
    QFETCH(QString, says);
    BenchmarkRunOptions options;
    options.launch.workerProgram = worker(script);
    BenchmarkRun run(options);
    QSignalSpy ended(&run, &BenchmarkRun::ended);
    QVERIFY(run.start().ok());
    QVERIFY(ended.wait(kWaitMs));
    QVERIFY(!run.outcome().ok());
    QCOMPARE(static_cast<int>(run.outcome().error().code), code);
    const QString message = QString::fromStdString(run.outcome().error().message);
    QVERIFY2(message.contains(says), qPrintable(message));
  }

  void keepsWhatACancelledRunHad() {
    BenchmarkRunOptions options;
    options.launch.workerProgram = worker(QStringLiteral("echo '%1'\necho '%2'\nexec sleep 60")
                                              .arg(QLatin1String(kStart), QLatin1String(kTiming)));
    BenchmarkRun run(options);
    QSignalSpy ended(&run, &BenchmarkRun::ended);
    QVERIFY(run.start().ok());
    QVERIFY(QTest::qWaitFor([&] { return !run.benchmark().timings.empty(); }, kWaitMs));
    run.cancel();
    QVERIFY(!ended.isEmpty() || ended.wait(kWaitMs));
    QCOMPARE(run.outcome().error().code, ErrorCode::kEnded);
    QCOMPARE(run.benchmark().timings.size(), std::size_t{1});
    QVERIFY(!run.benchmark().complete);
  }

 private:
  /// A worker that is a shell script.
  QString worker(const QString& script) {
    QFile file(folder_.filePath(QStringLiteral("worker%1").arg(++workers_)));
    if (!file.open(QIODevice::WriteOnly)) return {};
    file.write("#!/bin/sh\n" + script.toUtf8() + '\n');
    file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    return file.fileName();
  }

  QTemporaryDir folder_;
  int workers_ = 0;
};

HIGHWATER_TEST(TestBenchmarkRun, QCoreApplication)
#include "tst_benchmark_run.moc"
