// The report of the user's own script: evaluations, phases and lines of the script.

#include "e2e/runs.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;

namespace {

constexpr int kSteps = 24, kEvaluations = 2, kCalls = 6;
const QString kReportedScript =
    QStringLiteral(HIGHWATER_SOURCE_DIR "/tests/e2e/reported_script.py");

/// The line of the script that holds `text`, as the report names it.
QString placeOf(const QString& text) {
  return QStringLiteral("reported_script.py:%1").arg(lineWith(text, kReportedScript));
}

/// The rows of a table of lines that are about `line`.
QList<QJsonObject> rowsOf(const QJsonValue& table, const QString& line) {
  QList<QJsonObject> rows;
  for (const QJsonValue& each : table.toArray()) {
    if (each["line"].toString() == line) rows.append(each.toObject());
  }
  return rows;
}

}  // namespace

class TestScriptReport : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;
  QString recording_ = folder_.filePath("run.highwater");
  QJsonObject json_;
  QString text_;

 private slots:
  void initTestCase() {
    const Outcome run =
        runHighwater({"run", "--device", "sim", "--sim-launch-delay", "1ms", "--record", recording_,
                      "--", HIGHWATER_PYTHON, "-W", "ignore", kReportedScript});
    QVERIFY2(run.exitCode == 0, qPrintable(run.err));
    const Outcome json = runHighwater({"report", recording_, "--json"});
    QVERIFY2(json.exitCode == 0, qPrintable(json.err));
    json_ = jsonOf(json);
    text_ = test::reportText(recording_);
  }

  void tellsEvaluationFromTraining() {
    QCOMPARE(json_["steps"].toInt(), kSteps);
    const QJsonObject time = json_["evaluation_time"].toObject();
    QCOMPARE(time["count"].toInt(), kEvaluations);
    QVERIFY(time["waits"].toInt() >= kCalls);
    QVERIFY(time["total_ms"].toDouble() > 0);
    QVERIFY2(text_.contains(QStringLiteral("evaluations (2×)")), qPrintable(text_));
    // What is read of an evaluation is planned, and no finding.
    const QString line = placeOf("the evaluation's read");
    const auto rows = rowsOf(json_["sync_points"], line);
    QVERIFY(!rows.isEmpty());
    int reads = 0;
    for (const QJsonObject& each : rows) {
      QVERIFY2(each["deliberate"].toBool(), qPrintable(text_));
      QCOMPARE(each["where"].toString(), QStringLiteral("evaluation"));
      if (each["kind"] == "scalar_read") reads += each["count"].toInt();
    }
    QCOMPARE(reads, kCalls);
    for (const QJsonValue& each : json_["findings"].toArray()) QVERIFY(each["line"] != line);
  }

  void namesTheScriptsOwnPhases() {
    const QJsonArray phases = json_["own_phases"].toArray();
    QCOMPARE(phases.size(), 1);
    QCOMPARE(phases[0]["name"].toString(), QStringLiteral("augment"));
    QCOMPARE(phases[0]["count"].toInt(), kSteps);
    QVERIFY(phases[0]["total_ms"].toDouble() > 0);
    QVERIFY2(text_.contains(QStringLiteral("augment")), qPrintable(text_));
  }

  void namesTheLinesThatWait() {
    const QString line = placeOf("the training's read");
    const auto rows = rowsOf(json_["sync_points"], line);
    QCOMPARE(rows.size(), 1);
    QCOMPARE(rows[0]["count"].toInt(), kSteps);
    QCOMPARE(rows[0]["deliberate"].toBool(), false);
    QCOMPARE(rows[0]["function"].toString(), QStringLiteral("main"));
    QVERIFY(rows[0]["library"].isNull());
    QVERIFY2(text_.contains(line + " (main)"), qPrintable(text_));
  }

  void adviceNamesTheLineToChange() {
    const QString line = placeOf("the training's read");
    bool found = false;
    for (const QJsonValue& each : json_["findings"].toArray()) {
      if (each["kind"] != "chatty_logging") continue;
      found = true;
      QCOMPARE(each["line"].toString(), line);
      const QString advice = each["advice"].toString();
      QVERIFY2(advice.startsWith("at " + line + ": ") && advice.contains("loss.detach()"),
               qPrintable(advice));
    }
    QVERIFY2(found, qPrintable(text_));
  }

  void labelsWhatIsGuessed() {
    const QJsonObject run = json_["run"].toObject();
    QCOMPARE(run["own_script"].toBool(), true);
    QCOMPARE(run["batch_size_guess"].toInt(), 16);
    QVERIFY(run["sequence_length_guess"].isNull());
    QVERIFY(json_["tokens_per_s"].isNull());
    QVERIFY(json_["samples_per_s"].toDouble() > 0);
    QVERIFY2(text_.contains("batch size 16 (guessed from the inputs of the model)"),
             qPrintable(text_));
    QVERIFY(text_.contains(" samples/s") && !text_.contains("tokens/s"));
    QVERIFY(!text_.contains("preset") && !text_.contains("never read"));
  }
};

HIGHWATER_TEST(TestScriptReport, QCoreApplication)
#include "tst_script_report.moc"
