// Memory growth and ops, in the report of a made-up recording with ops in one step.

#include "support/recording_file.h"
#include "support/run_program.h"
#include "support/test_program.h"

using namespace highwater;
using highwater::test::runHighwater;

namespace {

/// Adds, to the batch that holds a step's end, an op with another one in it.
void addOps(std::vector<test::OwnedMessage>& run) {
  for (auto& message : run) {
    auto* batch = std::get_if<test::OwnedBatch>(&message);
    if (!batch || batch->steps.empty()) continue;
    const events::StepRecord& step = batch->steps[0];
    const std::int64_t beginNs = step.begin_ns() + 1000;
    const auto add = [&](NameId op, std::int64_t atNs, std::int64_t ns, std::uint16_t depth,
                         std::int64_t current, std::uint64_t output) {
      batch->ops.emplace_back(beginNs + atNs, ns, current, output, step.step(), op,
                              test::kEmbedding, test::kNoteText, test::kTrainingThread, depth,
                              events::Phase::Forward, 0);
    };
    add(test::kNonzero, 0, 1000, 0, 5 << 20, 0);
    add(test::kCopy, 3000, 2000, 1, 9 << 20, 4 << 20);
    add(test::kRenorm, 2000, 10000, 0, 9 << 20, 4 << 20);
  }
}

}  // namespace

class TestReportOps : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;

  static QJsonObject json(const QString& path) {
    return QJsonDocument::fromJson(runHighwater({"report", path, "--json"}).out.toUtf8()).object();
  }

 private slots:
  void tellsTheOpsThatWereRecorded() {
    auto run = test::makeSampleRun({.steps = 20});
    addOps(run);
    const QString path = test::recordIn(folder_, "ops.highwater", run);
    const QJsonObject ops = json(path)["ops"].toObject();
    QVERIFY(ops["steps"].toInt() > 3);
    QCOMPARE(ops["count"].toInt(), 3 * ops["steps"].toInt());
    QCOMPARE(ops["forgotten"].toInt(-1), 0);
    const QJsonObject first = ops["by_op"][0].toObject();
    QCOMPARE(first["op"].toString(), QString("aten::embedding_renorm_"));
    QCOMPARE(first["count_per_step"].toDouble(), 1.0);
    QCOMPARE(first["self_ms_per_step"].toDouble(), 0.008);
    const QJsonObject module = ops["by_module"][0].toObject();
    QCOMPARE(module["module"].toString(), QString("embedding"));
    QCOMPARE(module["net_bytes_per_step"].toInteger(), qint64{4 << 20});
    const QJsonObject tensor = ops["largest_tensors"][0].toObject();
    QCOMPARE(tensor["bytes"].toInteger(), qint64{4 << 20});
    QCOMPARE(tensor["op"].toString(), QString("aten::embedding_renorm_"));
    QCOMPARE(tensor["shapes"].toString(), QString("looks good"));
    QCOMPARE(ops["by_phase"][0]["phase"].toString(), QString("forward"));
    const QString text = test::reportText(path);
    for (const char* part : {"Ops by host self time", "Modules by host self time",
                             "Largest tensors", "memory +4.0 MiB, in backward 0"}) {
      QVERIFY2(text.contains(QLatin1String(part)), qPrintable(text));
    }
  }

  void isNullWhereNoneWere() {
    const QString path =
        test::recordIn(folder_, "none.highwater", test::makeSampleRun({.steps = 20}));
    const QJsonObject report = json(path);
    QVERIFY(report.contains("ops") && report["ops"].isNull());
    QVERIFY(!test::reportText(path).contains("Largest tensors"));
  }

  void tellsWhatAStepLeaves() {
    const QString path = test::recordIn(folder_, "growth.highwater", test::makeSampleRun());
    const QJsonObject growth = json(path)["memory_growth"].toObject();
    QCOMPARE(growth["pairs"].toInt(), 57);  // of two shapes, without the first step
    QCOMPARE(growth["median_bytes"].toInteger(-1), qint64{0});
    QVERIFY(test::reportText(path).contains("of equal shape"));
    const QJsonObject one =
        json(test::recordIn(folder_, "one.highwater", test::makeSampleRun({.steps = 1})));
    QVERIFY(one.contains("memory_growth") && one["memory_growth"].isNull());
  }
};

HIGHWATER_TEST(TestReportOps, QCoreApplication)
#include "tst_report_ops.moc"
