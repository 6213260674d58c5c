// `highwater benchmark` with the real worker, on the simulated device.

#include "core/exit_codes.h"
#include "e2e/runs.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;

namespace {

Outcome benchmark(const QStringList& more) {
  return runHighwater(QStringList{"benchmark", "--device", "sim"} + more, {"OMP_NUM_THREADS=1"});
}

QStringList smallModel(const char* parts) {
  return {"--json", "--only", parts, "--batch", "4", "--seq", "16"};
}

double numberOf(const QJsonValue& object, const char* key) {
  return object[QLatin1String(key)].toDouble();
}
double numberOf(const QJsonObject& object, const char* part, const char* key) {
  return numberOf(object[QLatin1String(part)], key);
}

QJsonObject moduleOf(const QJsonArray& modules, const QString& name) {
  for (const QJsonValue& each : modules) {
    if (each["module"] == name) return each.toObject();
  }
  return {};
}

}  // namespace

class TestBenchmarkCommand : public QObject {
  Q_OBJECT

 private:
  /// Measured once, and judged by two slots.
  static const QJsonObject& stepAndDrift() {
    static const QJsonObject json = [] {
      const auto outcome =
          benchmark(smallModel("step,drift") + QStringList{"--steps", "2", "--rounds", "2"});
      if (outcome.exitCode != kExitDone) QTest::qFail(qPrintable(outcome.err), __FILE__, __LINE__);
      return jsonOf(outcome);
    }();
    return json;
  }

 private slots:
  void measuresProducts() {
    const auto outcome =
        benchmark({"--json", "--only", "matmul", "--matmul", "64x96x128", "--matmul", "256x256x256",
                   "--dtype", "float32,bfloat16", "--calls", "20", "--rounds", "3"});
    QVERIFY2(outcome.exitCode == kExitDone, qPrintable(outcome.err));
    const QJsonObject json = jsonOf(outcome);
    QCOMPARE(json["simulated"].toBool(), true);
    QCOMPARE(json["complete"].toBool(), true);
    QVERIFY(json["drift"].isNull());
    const QJsonArray timings = json["timings"].toArray();
    QCOMPARE(timings.size(), 4);
    for (const QJsonValue& each : timings) {
      QCOMPARE(each["simulated"].toBool(), true);
      QCOMPARE(each["calls"].toInt(), 20);
      for (const char* side : {"cpu", "mps"}) {
        const QJsonObject measured = each[QLatin1String(side)].toObject();
        QCOMPARE(measured["done_ms"].toArray().size(), 6);
        QCOMPARE(measured["ms"]["measurements"].toInt(), 6);
        QVERIFY(measured["ms"]["p50"].toDouble() > 0);
        QVERIFY(measured["ms"]["p25"].toDouble() <= measured["ms"]["p75"].toDouble());
        QVERIFY(measured["warm_up_calls"].toInt() >= 3);
        for (int i = 0; i < 6; ++i) {
          QVERIFY(measured["submitted_ms"].toArray()[i].toDouble() <=
                  measured["done_ms"].toArray()[i].toDouble());
        }
      }
    }
    QCOMPARE(timings[0]["shape"].toArray(), (QJsonArray{64, 96, 128}));
    QCOMPARE(timings[3]["cpu_type"].toString(), QString("bfloat16"));
    // The queue takes the calls at once; the CPU's calls return when they are done.
    const QJsonObject large = timings[1].toObject();
    QVERIFY(numberOf(large["mps"], "missed_share") > numberOf(large["cpu"], "missed_share"));
    QVERIFY(large["mps"]["missed_share"].toDouble() > 0.3);
    QVERIFY(large["cpu"]["missed_share"].toDouble() < 0.05);
  }

  void measuresTheStep() {
    const QJsonObject json = stepAndDrift();
    QCOMPARE(json["workload"]["batch"].toInt(), 4);
    QCOMPARE(json["workload"]["seq"].toInt(), 16);
    QCOMPARE(json["timings"].toArray().size(), 1);
    const QJsonObject step = json["timings"][0].toObject();
    QCOMPARE(step["what"].toString(), QString("step"));
    QCOMPARE(step["cpu"]["done_ms"].toArray().size(), 4);
    QVERIFY(step["mps"]["ms"]["p50"].toDouble() > 0);
  }

  /// It computes with the CPU's kernels: a difference would be one of weights, batch or comparison.
  void simulatedDeviceHasNoDrift() {
    const QJsonObject drift = stepAndDrift()["drift"].toObject();
    const QString verdict = drift["verdict"].toString();
    QVERIFY2(verdict == "equal" || verdict == "rounding", qPrintable(verdict));
    QVERIFY(drift["loss_difference_rel"].toDouble() < 1e-6);
    QVERIFY(drift["first_module_beyond_rounding"].isNull());
    QCOMPARE(drift["loss"].toArray().size(), 4);
    // The CPU itself is off by rounding, and by no more.
    for (const QJsonValue& each : drift["loss"].toArray()) {
      const double off = std::abs(numberOf(each, "cpu") - numberOf(each, "float64"));
      QVERIFY2(off < 1e-5, qPrintable(QString::number(off)));
    }
    QVERIFY(drift["loss_rounding"].toDouble() > 0);
    const QJsonArray outputs = drift["outputs"].toArray();
    for (const char* name : {"tokens", "layers.0.attention.query", "layers.1", "head"}) {
      const QJsonObject module = moduleOf(outputs, QLatin1String(name));
      QVERIFY2(module["mps"]["elements"].toInt() > 0, name);
      QVERIFY(module["mps"]["max_rel"].toDouble() < 1e-5);
    }
    QVERIFY(numberOf(moduleOf(outputs, "layers.0.attention.query"), "rounding", "rms_error") > 0);
    QVERIFY(numberOf(moduleOf(drift["gradients"].toArray(), "head"), "mps", "elements") > 0);
  }

  /// MPS computes in bfloat16, the CPU in float32: the measurement must find that.
  void findsADriftThatIsThere() {
    const auto outcome =
        benchmark(smallModel("drift") + QStringList{"--mps-precision", "bfloat16"});
    QVERIFY2(outcome.exitCode == kExitDone, qPrintable(outcome.err));
    const QJsonObject drift = jsonOf(outcome)["drift"].toObject();
    QCOMPARE(drift["mps_precision"].toString(), QString("bfloat16"));
    const QString verdict = drift["verdict"].toString();
    QVERIFY2(verdict == "beyond_rounding" || verdict == "matters", qPrintable(verdict));
    QVERIFY(drift["loss_difference"].toDouble() > drift["loss_threshold"].toDouble());
    // Embeddings and layer norms stay in float32 under autocast: the first product is where it
    // begins.
    QCOMPARE(drift["first_module_beyond_rounding"].toString(), QString("layers.0.attention.query"));
    const QJsonArray outputs = drift["outputs"].toArray();
    QCOMPARE(numberOf(moduleOf(outputs, "tokens"), "mps", "max_abs"), 0.0);
    // About the roundoff of bfloat16, 2^-8.
    const double error = numberOf(moduleOf(outputs, "layers.0.attention.query"), "mps", "max_rel");
    QVERIFY2(error > 1e-3 && error < 0.1, qPrintable(QString::number(error)));
  }

  void writesAFile() {
    QTemporaryDir folder;
    const QString file = folder.filePath("result.json");
    const auto outcome = benchmark(
        {"--only", "matmul", "--matmul", "8x8x8", "--calls", "2", "--rounds", "1", "-o", file});
    QVERIFY2(outcome.exitCode == kExitDone, qPrintable(outcome.err));
    QVERIFY(outcome.out.contains("matmul 8x8x8"));
    QCOMPARE(jsonIn(file)["schema"].toInt(), 1);
    QFile other(folder.filePath("notes.txt"));
    QVERIFY(other.open(QIODevice::WriteOnly));
    other.write("notes");
    other.close();
    const auto refused = benchmark({"--only", "matmul", "-o", other.fileName()});
    QCOMPARE(refused.exitCode, int{kExitFailed});
    QVERIFY2(refused.err.contains("not JSON"), qPrintable(refused.err));
  }

  /// What the device refuses is named, and the rest is measured.
  void reportsWhatTheDeviceRefuses() {
    const auto outcome = benchmark(
        {"--json", "--only", "matmul", "--matmul", "4096x4096x4096", "--matmul", "8x8x8", "--calls",
         "1", "--rounds", "1", "--sim-recommended-max", "32MiB", "--sim-system-memory", "64MiB"});
    QCOMPARE(outcome.exitCode, int{kExitFailed});
    const QJsonObject json = jsonOf(outcome);
    QCOMPARE(json["timings"].toArray().size(), 1);
    QCOMPARE(json["refused"].toArray().size(), 1);
    QCOMPARE(json["refused"][0]["name"].toString(), QString("matmul 4096x4096x4096 float32"));
    QVERIFY(json["refused"][0]["why"].toString().contains("64.00 MiB"));
  }
};

HIGHWATER_TEST(TestBenchmarkCommand, QCoreApplication)
#include "tst_benchmark_command.moc"
