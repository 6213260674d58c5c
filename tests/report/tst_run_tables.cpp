#include "report/run_tables.h"

#include <set>

#include "report/csv_tables.h"
#include "support/test_program.h"

using namespace highwater;

/// The tables of a whole run, read by other programs: tests/python/test_tables.py.
class TestRunTables : public QObject {
  Q_OBJECT

 private:
  /// One table as CSV, without its first line.
  template <typename Feed>
  static QByteArray csvOf(const char* table, Feed&& feed) {
    QByteArray out;
    report::CsvTables csv;
    csv.addTable(*report::runTable(table), [&out](std::string_view piece) {
      out.append(piece.data(), qsizetype(piece.size()));
    });
    report::RunTables tables(csv);
    Hello hello;
    hello.device.selected = "mps";
    tables.take({}, hello);
    feed(tables);
    tables.finish({});
    csv.finish();
    return out.mid(out.indexOf("\r\n") + 2);
  }

  static events::StepRecord step(std::uint32_t number) {
    return events::StepRecord(1000, 2000, 0, 0, -1, number, 8, 0, 8, 0.5F, 1, 0);
  }

 private slots:
  void textsStayTexts_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QByteArray>("cell");
    QTest::newRow("plain") << QByteArray("fits") << QByteArray("fits");
    QTest::newRow("separators") << QByteArray("a,\"b\"") << QByteArray("\"a,\"\"b\"\"\"");
    QTest::newRow("formula") << QByteArray("=HYPERLINK(1)") << QByteArray("\"'=HYPERLINK(1)\"");
    QTest::newRow("sum") << QByteArray("+1+A1") << QByteArray("\"'+1+A1\"");
    QTest::newRow("number") << QByteArray("-1") << QByteArray("-1");
    QTest::newRow("at") << QByteArray("@SUM(A1)") << QByteArray("\"'@SUM(A1)\"");
    QTest::newRow("control") << QByteArray("a\x1b[31m\nb")
                             << QByteArray(
                                    "a\xef\xbf\xbd[31m\xef\xbf\xbd"
                                    "b");
  }

  /// A name in a program may be anything. A spreadsheet calculates what looks like a formula.
  void textsStayTexts() {
    QFETCH(QByteArray, text);
    QFETCH(QByteArray, cell);
    const QByteArray rows = csvOf("markers", [&](report::RunTables& tables) {
      Note note;
      note.timeNs = 1'500'000;
      note.step = 3;
      note.text = text.toStdString();
      tables.take({}, note);
    });
    QCOMPARE(rows, "1.5,3,note,,," + cell + ",mps\r\n");
  }

  /// The time on the device comes after its step, which waits for it.
  void stepsHaveTheirTimeOnTheDevice() {
    const QByteArray rows = csvOf("steps", [](report::RunTables& tables) {
      const std::vector steps{step(1), step(2), step(3)};
      EventBatch batch;
      batch.steps = steps;
      tables.take({}, batch);
      const events::DeviceSpan second(0, 7'000'000, 2);
      EventBatch later;
      later.deviceSpans = std::span(&second, 1);
      tables.take({}, later);
      const events::DeviceSpan first(0, 6'500'000, 1);
      later.deviceSpans = std::span(&first, 1);
      tables.take({}, later);
    });
    QCOMPARE(rows,
             "1,0.001,0.002,6.5,8,,,0.5,0,0,0,mps\r\n2,0.001,0.002,7,8,,,0.5,0,0,0,mps\r\n"
             "3,0.001,0.002,,8,,,0.5,0,0,0,mps\r\n");
  }

  /// Steps whose time on the device never comes do not gather.
  void stepsDoNotGather() {
    int rowsBeforeEnd = 0;
    constexpr std::uint32_t kSteps = 6000;
    const QByteArray rows = csvOf("steps", [&](report::RunTables& tables) {
      for (std::uint32_t number = 1; number <= kSteps; ++number) {
        const events::StepRecord each = step(number);
        EventBatch batch;
        batch.steps = std::span(&each, 1);
        tables.take({}, batch);
      }
      rowsBeforeEnd = static_cast<int>(tables.written());
    });
    QVERIFY(rowsBeforeEnd > 1000);
    QCOMPARE(rows.count('\n'), qsizetype(kSteps));
  }

  void columnsAreTheEvents_data() {
    QTest::addColumn<QByteArray>("table");
    QTest::addColumn<QByteArray>("rows");
    const auto row = [](const char* table, const char* cells) {
      QTest::newRow(table) << QByteArray(table) << QByteArray(cells) + ",mps\r\n";
    };
    row("phases", "1,2,3,forward,4");
    row("regions", "1,2,3,name,1,4");
    row("ops", "1,2,7,forward,name,part,shapes,11,1,5,6,10");
    row("sync_points", "1,2,4,forward,scalar_read,1,name,part,place,3,8");
    row("fallbacks", "1,2,3,6,forward,name,part,place,4,5,10");
    row("markers", "1,4,batch_size,2.5,3.5,batch 2.5 \u2192 3.5");
    row("evaluations", "1,2,3,0.5,-1");
    row("memory_samples", "1,2,3,4");
    row("system_samples", "1,2,3,4,5.5");
    row("machine_samples", "1,2,3,4,5");
    row("phase_memory", "5,forward,2,3,4");
    row("host_samples", "1,2,forward,place,line()");
  }

  /// Each field has another value, so that none can stand in another's column.
  void columnsAreTheEvents() {
    QFETCH(QByteArray, table);
    QFETCH(QByteArray, rows);
    constexpr std::int64_t kMs = 1'000'000;
    constexpr std::uint32_t kName = 20, kShapes = 21, kModule = 22, kSite = 23;
    constexpr auto kPhase = events::Phase::Forward;
    const events::PhaseSpan phase(1 * kMs, 2 * kMs, 3, 4, kPhase);
    const events::NamedSpan named(1 * kMs, 2 * kMs, 3, kName, 4, 1);
    const events::OpSpan op(1 * kMs, 2 * kMs, 5, 6, 7, kName, kModule, kShapes, 10, 11, kPhase, 1);
    const events::SyncPoint sync(1 * kMs, 2 * kMs, 3, 4, kName, kModule, kSite, 8,
                                 events::SyncKind::ScalarRead, kPhase, 1);
    const events::FallbackEvent fallback(1 * kMs, 2 * kMs, 3 * kMs, 4, 5, 6, kName, kModule, kSite,
                                         10, kPhase);
    const events::Marker marker(1 * kMs, 2.5, 3.5, 4, kName, events::MarkerKind::BatchSize);
    const events::Evaluation evaluation(1 * kMs, 2, 3, 0.5F, -1.F);
    const events::MemorySample memory(1 * kMs, 2, 3, 4, events::SampleOrigin::Timer);
    const events::SystemSample system(1 * kMs, 2, 3, 4, 5.5F, events::Pressure::Normal);
    const events::MachineSample machine(1 * kMs, 2, 3, 4, 5, events::ThermalState::Nominal,
                                        events::PowerMode::Normal);
    const events::PhaseMemory peaks(1 * kMs, 2, 3, 4, 5, kPhase);
    const events::HostSample host(1 * kMs, 2, kSite, 3, kPhase);
    const QByteArray made = csvOf(table.constData(), [&](report::RunTables& tables) {
      Definitions definitions;
      definitions.names.push_back({kName, "name", kNoId});
      definitions.names.push_back({kShapes, "shapes", kNoId});
      definitions.modules.push_back({kModule, kNoId, "part"});
      CallSiteDefinition place;
      place.id = kSite;
      place.function = "place";
      place.text = "line()";
      definitions.callSites.push_back(place);
      tables.take({}, definitions);
      EventBatch batch;
      batch.phases = std::span(&phase, 1);
      batch.namedSpans = std::span(&named, 1);
      batch.ops = std::span(&op, 1);
      batch.syncPoints = std::span(&sync, 1);
      batch.fallbacks = std::span(&fallback, 1);
      batch.markers = std::span(&marker, 1);
      batch.evaluations = std::span(&evaluation, 1);
      batch.memorySamples = std::span(&memory, 1);
      batch.systemSamples = std::span(&system, 1);
      batch.machineSamples = std::span(&machine, 1);
      batch.phaseMemory = std::span(&peaks, 1);
      batch.hostSamples = std::span(&host, 1);
      tables.take({}, batch);
    });
    QCOMPARE(made, rows);
  }

  void namesAreUnique() {
    std::set<std::string> names;
    for (const report::RunTable& each : report::runTables()) {
      QVERIFY2(names.insert(each.name).second, each.name);
      QCOMPARE(report::runTable(each.name), &each);
      std::set<std::string> columns;
      for (const report::TableColumn& column : each.columns) {
        QVERIFY2(columns.insert(column.name).second, column.name);
      }
    }
    QVERIFY(!report::runTable("none"));
  }
};

HIGHWATER_TEST(TestRunTables, QCoreApplication)
#include "tst_run_tables.moc"
