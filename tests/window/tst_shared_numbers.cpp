// What more than one of window, report, box, JSON and Compare says of a recording is the same.
#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QDir>
#include <QDockWidget>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QMap>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <cmath>

#include "core/names.h"
#include "models/op_totals_model.h"
#include "models/qt_text.h"
#include "opened_recording.h"
#include "report/report_text.h"
#include "support/recording_file.h"
#include "support/run_program.h"
#include "support/test_program.h"
#include "views/panels/compare_panel.h"
#include "views/panels/findings_panel.h"
#include "views/panels/key_value_view.h"
#include "views/panels/selection_panel.h"
#include "views/tuning/predicted_peak.h"

Q_DECLARE_METATYPE(highwater::test::SampleRunOptions)

using namespace highwater;
using models::OpTotalsModel;
using views::Pin;

namespace {

/// What each of them says of a recording.
struct Told {
  explicit Told(const QString& path)
      : opened(path),
        json(QJsonDocument::fromJson(test::runHighwater({"report", "--json", path}).out.toUtf8())
                 .object()),
        report(test::reportText(path)) {
    const analysis::LiveStore& store = opened.store();
    summary = analysis::summarize(store);
    box = text(report::runResult(store, report::kUnlimited)).simplified();
    for (const QString& line : selection()->asText().split(u'\n')) {
      numbers[line.section(u'\t', 0, 0)] = line.section(u'\t', 1);
    }
  }

  [[nodiscard]] views::SelectionPanel* selection() const {
    return opened.find<views::SelectionPanel>("selectionPanel");
  }
  [[nodiscard]] double real(const char* group, const char* key) const {
    return json[QLatin1String(group)][QLatin1String(key)].toDouble();
  }

  test::OpenedRecording opened;
  QJsonObject json;
  QString report, box;
  analysis::RunSummary summary;
  QMap<QString, QString> numbers;  ///< of Selection
};

struct CountAndMs {
  quint64 count = 0;
  double ms = 0;
};

/// What a table of the window has, by op and whether it was planned.
QMap<QString, CountAndMs> totalsOf(const QAbstractItemModel& model) {
  QMap<QString, CountAndMs> totals;
  for (int row = 0; row < model.rowCount(); ++row) {
    const auto cell = [&](int column, int role = Qt::DisplayRole) {
      return model.index(row, column).data(role);
    };
    const bool planned = cell(OpTotalsModel::kOp, OpTotalsModel::kDeliberateRole).toBool();
    const QString op = cell(OpTotalsModel::kOp, OpTotalsModel::kOpNameRole).toString();
    CountAndMs& total = totals[op + (planned ? " planned" : "")];
    total.count += cell(OpTotalsModel::kCount).toULongLong();
    total.ms += cell(OpTotalsModel::kTotalMs).toDouble();
  }
  return totals;
}

QMap<QString, CountAndMs> totalsOf(const QJsonArray& lines) {
  QMap<QString, CountAndMs> totals;
  for (const QJsonValue& line : lines) {
    const bool planned = line["deliberate"].toBool();
    CountAndMs& total = totals[line["op"].toString() + (planned ? " planned" : "")];
    total.count += static_cast<quint64>(line["count"].toDouble());
    total.ms += line["total_ms"].toDouble();
  }
  return totals;
}

}  // namespace

class TestSharedNumbers : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;

  /// That all of the others say what Selection says under a name.
  static void everywhere(const Told& told, const char* name, const QString& value,
                         const QString& inReport) {
    QVERIFY2(told.numbers.value(QLatin1String(name)).startsWith(value),
             qPrintable(told.numbers.value(QLatin1String(name)) + " for " + value));
    QVERIFY2(told.report.contains(inReport), qPrintable(inReport + " in " + told.report));
    QVERIFY2(told.box.contains(inReport), qPrintable(inReport + " in " + told.box));
  }

  static void compareTotals(const QTableView& table, const QJsonArray& lines) {
    const auto shown = totalsOf(*table.model()), written = totalsOf(lines);
    QCOMPARE(shown.keys(), written.keys());
    for (const QString& op : shown.keys()) {
      QCOMPARE(shown[op].count, written[op].count);
      // Each row is rounded to a tenth.
      QVERIFY2(std::abs(shown[op].ms - written[op].ms) < 0.1 * (1 + table.model()->rowCount()),
               qPrintable(op));
    }
  }

 private slots:
  void areTheSameEverywhere_data() {
    QTest::addColumn<QString>("path");
    QTest::addColumn<test::SampleRunOptions>("run");
    // HIGHWATER_RECORDINGS names a folder of recordings to look at as well.
    const QDir own(qEnvironmentVariable("HIGHWATER_RECORDINGS", "/nowhere"));
    for (const QString& name : own.entryList({"*.highwater"})) {
      QTest::newRow(qPrintable(name)) << own.filePath(name) << test::SampleRunOptions{};
    }
    const std::pair<const char*, test::SampleRunOptions> runs[] = {
        {"sample", {}},
        {"one setting", {.seed = 2, .doubleBatchAtStep = 0}},
        {"no fallbacks", {.seed = 3, .fallbackEvery = 0}},
        {"no unplanned waits", {.seed = 4, .unplannedSyncEvery = 0}},
        {"neither", {.seed = 5, .fallbackEvery = 0, .unplannedSyncEvery = 0}},
        {"one step", {.seed = 6, .steps = 1}},
        {"few steps", {.seed = 7, .steps = 4}},
        {"long", {.seed = 8, .steps = 400, .batchSize = 64}},
        {"with ops", {.seed = 9, .opsFromStep = 20}},
        {"cut off", {.seed = 10, .ended = false}}};
    for (const auto& [name, run] : runs) QTest::newRow(name) << QString() << run;
  }

  void areTheSameEverywhere() {
    QFETCH(QString, path);
    QFETCH(test::SampleRunOptions, run);
    if (path.isEmpty()) path = test::recordIn(folder_, "run.highwater", test::makeSampleRun(run));
    const Told told(path);
    QVERIFY(told.opened.opened && !told.json.isEmpty());
    const analysis::LiveStore& store = const_cast<Told&>(told).opened.store();

    // Times of steps.
    const auto ms = [&](const char* key) {
      return text(formatMs(told.json["step_ms"][QLatin1String(key)].toDouble()));
    };
    everywhere(told, "Step p50", ms("p50"), "p50 " + ms("p50"));
    everywhere(told, "Step p95", ms("p95"), "p95 " + ms("p95"));
    QCOMPARE(told.numbers.contains("Step mean"), told.box.contains(", mean "));
    if (told.numbers.contains("Step mean")) {
      everywhere(told, "Step mean", ms("mean"), "mean " + ms("mean"));
    }
    QCOMPARE(told.opened.find<QTableView>("stepTable")->model()->rowCount(),
             told.json["steps"].toInt());

    // Throughput.
    const QJsonValue tokens = told.json["tokens_per_s"], samples = told.json["samples_per_s"];
    if (tokens.isDouble() || samples.isDouble()) {
      const double rate = (tokens.isDouble() ? tokens : samples).toDouble();
      const QString name = told.json["rate_is_queued"].toBool() ? "Throughput, as queued"
                           : told.json["rate_includes_last_wait"].toBool()
                               ? "Throughput, with waits"
                               : "Throughput, mean";
      everywhere(told, qPrintable(name), text(store.rateText(rate)),
                 text(formatRate(rate)) + ' ' + text(store.rateUnit()));
    }

    // Memory.
    const auto bytes = [&](const char* key) {
      return text(formatBytes(static_cast<std::uint64_t>(told.real("memory", key))));
    };
    everywhere(told, "Current peak", bytes("current_peak"),
               "current peak " + bytes("current_peak"));
    everywhere(told, "Driver peak", bytes("driver_peak"), "driver peak " + bytes("driver_peak"));

    // Loss.
    if (const QJsonValue last = told.json["loss"]["last"]; last.isDouble()) {
      const QString loss = QString::number(last.toDouble(), 'f', 3);
      QVERIFY(told.numbers.value("Loss").endsWith(loss) ||
              told.numbers.value("Loss, first to last").endsWith(loss));
      QVERIFY(told.report.contains(loss) && told.box.contains(loss));
    }

    // Waits and fallbacks.
    for (const auto& [key, row, word] :
         {std::tuple{"fallback_ms", "In fallbacks", "fallbacks "},
          std::tuple{"unplanned_sync_ms", "In unplanned syncs", "unplanned sync points "}}) {
      const double lost = told.json[QLatin1String(key)].toDouble();
      QCOMPARE(told.numbers.contains(row), lost > 0);
      if (lost > 0) {
        everywhere(told, row, percentText(lost / told.summary.stepsMs),
                   word + text(formatMs(lost)));
      }
    }
    compareTotals(*told.opened.find<QTableView>("syncTable"), told.json["sync_points"].toArray());
    if (const QJsonArray lines = told.json["fallbacks"].toArray(); !lines.isEmpty()) {
      compareTotals(*told.opened.find<QTableView>("fallbackTable"), lines);
    }

    // Phases.
    const QJsonObject phases = told.json["phases"].toObject();
    for (const events::Phase phase : kPhases) {
      const QString shown = told.numbers.value(text(phaseName(phase)));
      if (shown.isEmpty()) continue;
      const double aStep = phases[text(phaseKey(phase))].toDouble() / told.json["steps"].toInt();
      QVERIFY2(shown.endsWith(QStringLiteral(", %1 ms a step").arg(aStep, 0, 'f', 1)),
               qPrintable(shown));
    }

    // Verdict and findings.
    auto* panel = told.opened.find<views::FindingsPanel>("findingsPanel");
    QTRY_VERIFY(!told.opened.find<QLabel>("noFindings")->text().contains(u'…'));
    const QJsonArray findings = told.json["findings"].toArray();
    QTRY_COMPARE(panel->cards().size(), static_cast<std::size_t>(findings.size()));
    for (qsizetype i = 0; i < findings.size(); ++i) {
      const QString card = panel->cards()[static_cast<std::size_t>(i)]->asText();
      for (const char* part : {"title", "gain", "evidence"}) {
        const QString said = findings[i][QLatin1String(part)].toString();
        QVERIFY2(card.contains(said), qPrintable(card + " has not " + said));
        QVERIFY2(told.report.contains(said.simplified()), qPrintable(said));
      }
    }
    QStringList verdict;
    for (const char* name : {"verdict", "verdictDetails"}) {
      QString part = told.opened.find<QLabel>(name)->text();
      part.replace(QChar(0x00A0), u' ').remove(QChar(0x2060));
      if (!part.isEmpty()) verdict << part;
    }
    QCOMPARE(verdict.join(u' '), told.json["verdict"]["text"].toString());
    QVERIFY(told.report.contains(verdict.join(u' ')));

    // Largest safe batch.
    const auto* peak = told.opened.find<views::PredictedPeak>("predictedPeak");
    const QJsonValue safe = told.json["memory_model"]["largest_safe_batch"];
    if (safe.isDouble() && peak->isVisible()) {  // not that of a script
      const QString batch = QString::number(safe.toInt());
      auto* table = peak->findChild<views::KeyValueView*>();
      for (QAction* each : table->actions()) each->trigger();  // copies the rows
      const QString rows = QApplication::clipboard()->text();
      QVERIFY2(rows.contains(batch), qPrintable(batch + " in " + rows));
      QVERIFY2(told.report.contains(": " + batch), qPrintable(batch));
    }
  }

  /// Compare says of a whole run what Selection says of it.
  void compareSaysTheSame() {
    Told told(test::recordIn(folder_, "compared.highwater", test::makeSampleRun()));
    views::TimeAxis& axis = told.opened.window.timeAxis();
    for (const Pin pin : {Pin::kA, Pin::kB}) {
      axis.select(axis.extent().beginNs, axis.extent().endNs + 1);
      axis.pinSelection(pin);
    }
    auto* compare = told.opened.find<views::ComparePanel>("comparePanel");
    QTRY_VERIFY(!compare->numbers().empty());
    const auto is = [&](const char* name, const char* inSelection) {
      for (const auto& row : compare->numbers()) {
        if (!row.name.startsWith(QLatin1String(name))) continue;
        QCOMPARE(row.a, row.b);
        const QString number = told.numbers.value(QLatin1String(inSelection)).section(u' ', 0, 0);
        QVERIFY2(std::abs(row.a.toDouble() - number.toDouble()) <= 0.5, qPrintable(row.a + number));
        return;
      }
      QFAIL(name);
    };
    is("Step p95", "Step p95");
    is("Current peak", "Current peak");
    is("Driver peak", "Driver peak");
  }
};

HIGHWATER_TEST(TestSharedNumbers, QApplication)
#include "tst_shared_numbers.moc"
