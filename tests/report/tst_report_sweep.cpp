#include "core/units.h"
#include "run/note.h"
#include "support/recording_file.h"
#include "support/run_program.h"
#include "support/test_program.h"
#include "tuning/sweep.h"

using namespace highwater;
using highwater::test::runHighwater;
using tuning::Setting;
using tuning::SweptSetting;

namespace {

SweptSetting swept(std::uint32_t batch, std::uint64_t driver, double tokensPerS) {
  SweptSetting each;
  each.setting = {batch, 64};
  each.predicted = {driver + 8 * kMiB, driver, driver + 16 * kMiB, tuning::Basis::kRequests};
  each.peakDriver = driver;
  each.safe = true;
  each.tokensPerS = tokensPerS;
  each.lowerQuartile = tokensPerS * 0.9;
  each.upperQuartile = tokensPerS * 1.1;
  each.stepMs = 20;
  each.reason = "the largest that is certain to stay under the limit";
  return each;
}

/// A sweep of three settings, of which the last was above the limit; `ended` with batch 16.
std::vector<std::string> sweepNotes(bool ended) {
  SweptSetting above = swept(64, 500 * kMiB, 900);
  above.safe = false;
  std::vector<std::string> notes{noteOf(1, swept(8, 72 * kMiB, 500)),
                                 noteOf(2, swept(16, 100 * kMiB, 990)), noteOf(3, above)};
  if (ended) {
    SweptSetting left{
        {.setting = {96, 64}}, {900 * kMiB, 800 * kMiB, 2 * kGiB}, "it may take up to 2.00 GiB"};
    left.leftOut = true;
    notes.push_back(noteOf(0, left));
    notes.push_back(
        tuning::endNoteOf({.complete = true,
                           .best = Setting{16, 64},
                           .reason = "batch 16 has 99 % of the best throughput, with less "
                                     "memory than all others that have as much"}));
  }
  return notes;
}

}  // namespace

class TestReportSweep : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;

  QString recorded(const std::vector<std::string>& notes) {
    const QString path = test::recordIn(folder_, "run.highwater", test::makeSampleRun());
    for (const std::string& text : notes) {
      if (!run::appendNote(path.toStdString(), {0, 1, text, 0})) return {};
    }
    return path;
  }
  QJsonValue sweepOf(const std::vector<std::string>& notes) {
    const QString path = recorded(notes);
    const QString out = runHighwater({"report", path, "--json"}).out;
    const QJsonObject report = QJsonDocument::fromJson(out.toUtf8()).object();
    return report.contains("sweep") ? report["sweep"] : QJsonValue("missing");
  }

 private slots:
  void listsItForPrograms() {
    const QJsonObject sweep = sweepOf(sweepNotes(true)).toObject();
    const QJsonArray settings = sweep["settings"].toArray();
    QCOMPARE(settings.size(), 3);
    QCOMPARE(settings[1]["batch"].toInt(), 16);
    QCOMPARE(settings[1]["length"].toInt(), 64);
    QCOMPARE(settings[1]["driver_peak"].toInteger(), qint64(100 * kMiB));
    QVERIFY(std::abs(settings[1]["error"].toDouble() - 0.08) < 1e-3);
    QVERIFY(settings[1]["safe"].toBool() && !settings[2]["safe"].toBool());
    QVERIFY(sweep["ended"].toBool() && sweep["complete"].toBool());
    QCOMPARE(sweep["recommended"]["batch"].toInt(), 16);
    QVERIFY(sweep["reason"].toString().startsWith("batch 16 has 99 %"));
    const QJsonArray leftOut = sweep["left_out"].toArray();
    QCOMPARE(leftOut.size(), 1);
    QCOMPARE(leftOut[0]["batch"].toInt(), 96);
    QCOMPARE(leftOut[0]["why"].toString(), QStringLiteral("it may take up to 2.00 GiB"));
    QCOMPARE(leftOut[0]["predicted_driver"]["upper"].toInteger(), qint64(2 * kGiB));
  }

  void knowsOneThatDidNotEnd() {
    const QJsonObject sweep = sweepOf(sweepNotes(false)).toObject();
    QCOMPARE(sweep["settings"].toArray().size(), 3);
    QVERIFY(!sweep["ended"].toBool() && sweep["recommended"].isNull() && sweep["reason"].isNull());
  }

  void isNullWithoutOne() { QVERIFY(sweepOf({"a note"}).isNull()); }

  void isASectionForPeople() {
    const QString path = recorded(sweepNotes(true));
    const QString out = runHighwater({"report", path}).out;
    QVERIFY2(out.contains("\nSweep\n"), qPrintable(out));
    // Its row, the recommendation, and where memory was; no marker.
    QCOMPARE(out.count("16 × 64"), 3);
    QVERIFY2(out.simplified().contains("above the limit; the largest"), qPrintable(out));
    QVERIFY2(out.simplified().contains("left out: it may take up to 2.00 GiB"), qPrintable(out));
    QVERIFY2(out.simplified().contains("Recommended 16 × 64: batch 16 has 99 %"), qPrintable(out));
    // Half of the steps trained 10 % more or less than the median.
    QVERIFY2(out.contains("tokens/s  spread\n") && out.contains("500    20 %\n"), qPrintable(out));
    for (const QString& line : out.split('\n')) {
      QVERIFY2(line.size() <= 80, qPrintable(line));
    }
    QVERIFY(!runHighwater({"report", recorded({})}).out.contains("\nSweep\n"));
  }
};

HIGHWATER_TEST(TestReportSweep, QCoreApplication)
#include "tst_report_sweep.moc"
