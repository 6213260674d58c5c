// A benchmark as text and JSON.

#include "report/report_benchmark.h"
#include "support/sample_benchmark.h"
#include "support/test_program.h"

using namespace highwater;
using highwater::test::sampleBenchmark;

namespace {

QString textOf(const tuning::Benchmark& benchmark, std::size_t width = 80) {
  return QString::fromStdString(report::benchmarkText(benchmark, width));
}

}  // namespace

class TestReportBenchmark : public QObject {
  Q_OBJECT

 private slots:
  void fitsATerminal() {
    for (const std::size_t width : {80U, 60U}) {
      for (const QString& line : textOf(sampleBenchmark(true, 4, 0.05), width).split(u'\n')) {
        QVERIFY2(static_cast<std::size_t>(line.size()) <= std::max<std::size_t>(width, 76),
                 qPrintable(line));
      }
    }
  }

  void saysWhichIsFasterOnAMac() {
    const QString fast = textOf(sampleBenchmark(false, 4)).simplified();
    QVERIFY2(fast.contains("MPS is 4.0 times as fast as the CPU"), qPrintable(fast));
    QVERIFY(!fast.contains("simulated"));
    const QString slow = textOf(sampleBenchmark(false, 0.5)).simplified();
    QVERIFY2(slow.contains("The CPU is 2.0 times as fast as MPS"), qPrintable(slow));
    const QString same = textOf(sampleBenchmark(false, 1)).simplified();
    QVERIFY2(same.contains("show no difference"), qPrintable(same));
    tuning::Benchmark brief = sampleBenchmark(false, 4);
    for (tuning::BenchmarkTiming& each : brief.timings) {
      each.cpu.doneMs.resize(2);
      each.mps.doneMs.resize(2);
    }
    QVERIFY(textOf(brief).simplified().contains("Too few rounds to tell which is faster"));
  }

  /// No sentence about the simulated device can be quoted as one about MPS.
  void neverTakesTheSimulationForAMac() {
    for (const double ratio : {4.0, 1.0, 0.5}) {
      const QString text = textOf(sampleBenchmark(true, ratio)).simplified();
      QVERIFY(!text.contains("as fast"));
      QVERIFY(text.contains("These times say nothing about a Mac."));
      qsizetype from = 0;
      while ((from = text.indexOf("MPS", from)) >= 0) {
        QVERIFY2(text.left(from).endsWith("simulated "), qPrintable(text.mid(from - 20, 60)));
        from += 3;
      }
    }
  }

  void naiveFigureStandsBesideTheHonestOne() {
    const QString text = textOf(sampleBenchmark(false)).simplified();
    QVERIFY2(text.contains("Timing without torch.mps.synchronize() would show 5.0 µs: only the "
                           "queueing."),
             qPrintable(text));
    // The step waits at each copy of a batch.
    QCOMPARE(text.count("Timing without"), 1);
  }

  void driftIsJudged() {
    QVERIFY(textOf(sampleBenchmark(false, 4, 2e-7)).simplified().contains("it does not matter"));
    const QString hardly = textOf(sampleBenchmark(false, 4, 1e-4)).simplified();
    QVERIFY2(hardly.contains("training hardly notices"), qPrintable(hardly));
    QVERIFY(hardly.contains("unit roundoff 6.0e-08 of float32"));
    QVERIFY(hardly.contains("off by more than rounding: layers.0.query"));
    QVERIFY(textOf(sampleBenchmark(false, 4, 0.05)).simplified().contains("it matters"));
    tuning::Benchmark equal = sampleBenchmark(true, 4, 0);
    QVERIFY(textOf(equal).simplified().contains("Equal to the last bit"));
    equal.drift->losses[0].mps = std::numeric_limits<double>::quiet_NaN();
    QVERIFY(textOf(equal).simplified().contains("finite on the CPU and not on simulated MPS"));
  }

  void refusedCasesAreNamed() {
    tuning::Benchmark benchmark = sampleBenchmark(false);
    benchmark.refused.push_back({"matmul 9x9x9 bfloat16", "no \x1b[31mbfloat16"});
    const QString text = textOf(benchmark);
    QVERIFY(text.contains("Not measured: matmul 9x9x9 bfloat16"));
    QVERIFY(!text.contains(u'\x1b'));
  }

  void jsonHasRawAndDerivedValues() {
    const QJsonObject json = report::benchmarkJson(sampleBenchmark(true), "interrupted");
    QCOMPARE(json["schema"].toInt(), 1);
    QCOMPARE(json["simulated"].toBool(), true);
    QCOMPARE(json["stopped"].toString(), QString("interrupted"));
    QCOMPARE(json["workload"]["batch"].toInt(), 16);
    const QJsonObject product = json["timings"][0].toObject();
    QCOMPARE(product["simulated"].toBool(), true);
    QCOMPARE(product["shape"].toArray(), (QJsonArray{1000, 1000, 1000}));
    QCOMPARE(product["cpu"]["done_ms"].toArray().size(), 12);
    QCOMPARE(product["mps"]["missed_share"].toDouble(), 0.99);
    QCOMPARE(product["faster"].toString(), QString("mps"));
    QCOMPARE(product["cpu_over_mps"]["p50"].toDouble(), 4.0);
    QVERIFY(product["cpu_over_mps"]["coverage"].toDouble() > 0.95);
    QVERIFY(json["timings"][1]["shape"].isNull());
    const QJsonObject drift = json["drift"].toObject();
    QCOMPARE(drift["verdict"].toString(), QString("rounding"));
    QCOMPARE(drift["outputs"].toArray().size(), 2);
    QCOMPARE(drift["outputs"][1]["module"].toString(), QString("layers.0.query"));
    QCOMPARE(drift["outputs"][1]["beyond_rounding"].toBool(), false);
    QVERIFY(report::benchmarkJson(tuning::Benchmark())["drift"].isNull());
  }

  void rowsJoinOutputsAndGradients() {
    tuning::Benchmark benchmark = sampleBenchmark(false);
    benchmark.drift->gradients.push_back({"head", {1, 1, 1, 1, 1, 0}, std::nullopt});
    const auto rows = report::moduleRows(*benchmark.drift);
    QCOMPARE(rows.size(), std::size_t{3});
    QCOMPARE(rows[1].module, std::string("layers.0.query"));
    QVERIFY(rows[1].output && rows[1].gradient);
    QVERIFY(std::abs(rows[1].timesRounding - 2) < 1e-9);
    QVERIFY(!rows[2].output && rows[2].gradient);
  }
};

HIGHWATER_TEST(TestReportBenchmark, QCoreApplication)
#include "tst_report_benchmark.moc"
