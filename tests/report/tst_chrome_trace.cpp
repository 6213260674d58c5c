#include "report/chrome_trace.h"

#include <QJsonArray>

#include "analysis/live_store.h"
#include "core/exit_codes.h"
#include "core/names.h"
#include "support/recording_file.h"
#include "support/run_program.h"
#include "support/test_program.h"

using namespace highwater;
using highwater::test::runHighwater;

namespace {

/// An event of a trace: name, and times in ns since the start of the run's clock.
struct Entry {
  QString name;
  qint64 beginNs = 0, durationNs = 0;
  bool operator==(const Entry&) const = default;
};

QByteArray contents(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

}  // namespace

class TestChromeTrace : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;

  [[nodiscard]] QString path(const char* name) const {
    return folder_.filePath(QLatin1String(name));
  }

  QJsonObject exported(const QString& recording, const QString& to) {
    const auto outcome = runHighwater({"export", recording, "--to", to, "--force"});
    if (outcome.exitCode != kExitDone || !outcome.err.isEmpty()) return {};
    return QJsonDocument::fromJson(contents(to)).object();
  }

  /// The events of a phase of the format and a category.
  static std::vector<Entry> entries(const QJsonObject& trace, const char* phase,
                                    const char* category, qint64 epochNs) {
    std::vector<Entry> all;
    const qint64 baseNs = trace["baseTimeNanoseconds"].toInteger();
    const auto ns = [](const QJsonValue& us) { return std::llround(us.toDouble() * 1000); };
    for (const QJsonValue& each : trace["traceEvents"].toArray()) {
      if (each["ph"] != QLatin1String(phase) || each["cat"] != QLatin1String(category)) continue;
      all.push_back({each["name"].toString(), ns(each["ts"]) + baseNs - epochNs, ns(each["dur"])});
    }
    return all;
  }

  template <typename Event, typename NameOf>
  static std::vector<Entry> entriesOf(const std::vector<Event>& events, NameOf&& nameOf) {
    std::vector<Entry> all;
    for (const Event& event : events) {
      const qint64 begin = beginNsOf(event);
      all.push_back({nameOf(event), begin, endNsOf(event) - begin});
    }
    return all;
  }

  static QString text(std::string_view utf8) {
    return QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size()));
  }

 private slots:
  /// What is in the trace is what the store has: each event by number, name, order and time.
  void eventsAreThoseOfTheStore_data() {
    QTest::addColumn<quint32>("seed");
    QTest::addColumn<quint32>("opsFromStep");
    QTest::newRow("without ops") << 1U << 0U;
    QTest::newRow("with ops") << 2U << 20U;
    QTest::newRow("with ops from the first step") << 3U << 1U;
  }

  void eventsAreThoseOfTheStore() {
    QFETCH(quint32, seed);
    QFETCH(quint32, opsFromStep);
    const auto run = test::makeSampleRun({.seed = seed, .opsFromStep = opsFromStep});
    analysis::LiveStore store;
    test::feed(run, store);
    const QJsonObject trace =
        exported(test::recordIn(folder_, "run.highwater", run), path("run.json"));
    QVERIFY(!trace.isEmpty());
    const qint64 epochNs = store.hello()->clock.unixEpochNs;
    const auto name = [&](NameId id) { return text(store.name(id)); };

    auto steps = entries(trace, "X", "user_annotation", epochNs);
    std::erase_if(steps, [](const Entry& each) { return !each.name.startsWith("ProfilerStep#"); });
    QCOMPARE(steps, entriesOf(store.steps().records, [](const events::StepRecord& step) {
               return QStringLiteral("ProfilerStep#%1").arg(step.step());
             }));
    QCOMPARE(entries(trace, "X", "phase", epochNs), entriesOf(store.phases(), [](const auto& each) {
               return text(phaseName(each.phase()));
             }));
    QCOMPARE(entries(trace, "X", "wait", epochNs),
             entriesOf(store.syncPoints(), [](const auto& each) {
               return "wait: " + text(syncKindName(each.kind()));
             }));
    QCOMPARE(entries(trace, "X", "fallback", epochNs),
             entriesOf(store.fallbacks(),
                       [&](const auto& each) { return "on the CPU: " + name(each.op()); }));
    QCOMPARE(
        entries(trace, "i", "marker", epochNs),
        entriesOf(store.markers(), [&](const auto& each) { return text(store.markerText(each)); }));
    const auto memory = entries(trace, "C", "memory", epochNs);
    QCOMPARE(memory.size(), store.memory().timesNs.size());
    for (std::size_t i = 0; i < memory.size(); ++i) {
      QCOMPARE(memory[i].beginNs, store.memory().timesNs[i]);
    }

    // Ops: those of the messages, which the store keeps in columns.
    std::vector<Entry> ops;
    test::forEachMessage(run, [&](const Message& message) {
      const auto* batch = std::get_if<EventBatch>(&message);
      if (!batch) return;
      for (const events::OpSpan& op : batch->ops) {
        ops.push_back({name(op.op()), op.begin_ns(), op.duration_ns()});
      }
    });
    QCOMPARE(ops.empty(), opsFromStep == 0);
    QCOMPARE(entries(trace, "X", "cpu_op", epochNs), ops);
  }

  /// A part has the events that touch it, and no others.
  void holdsAPart() {
    const auto run = test::makeSampleRun({.opsFromStep = 10});
    analysis::LiveStore store;
    test::feed(run, store);
    const QString recording = test::recordIn(folder_, "part.highwater", run),
                  to = path("part.json");
    const qint64 epochNs = store.hello()->clock.unixEpochNs;
    const auto all = exported(recording, to);
    const auto outcome =
        runHighwater({"export", recording, "--to", to, "--force", "--steps", "12-14"});
    QCOMPARE(outcome.exitCode, int{kExitDone});
    QVERIFY2(outcome.out.contains("part.json: ") && outcome.out.contains(" events, "),
             qPrintable(outcome.out));
    const auto part = QJsonDocument::fromJson(contents(to)).object();
    const auto& records = store.steps().records;
    const qint64 from = records[11].begin_ns(), until = endNsOf(records[13]);
    for (const auto& [phase, category] :
         {std::pair{"X", "cpu_op"}, std::pair{"X", "phase"}, std::pair{"X", "wait"},
          std::pair{"C", "memory"}, std::pair{"X", "user_annotation"}}) {
      auto wanted = entries(all, phase, category, epochNs);
      std::erase_if(wanted, [&](const Entry& each) {
        const qint64 end = each.beginNs + each.durationNs;
        return each.beginNs >= until || (end <= from && each.beginNs < from);
      });
      QVERIFY2(!wanted.empty(), category);
      QCOMPARE(entries(part, phase, category, epochNs), wanted);
    }
    const auto beyond =
        runHighwater({"export", recording, "--to", to, "--force", "--steps", "100-101"});
    QCOMPARE(beyond.exitCode, int{kExitUsage});
    QVERIFY2(beyond.err.contains("only the steps up to 60"), qPrintable(beyond.err));
    const auto timed =
        runHighwater({"export", recording, "--to", to, "--force", "--from", "0:00.5"});
    QCOMPARE(timed.exitCode, int{kExitDone});
  }

  void saysWhatItIsOf() {
    const QJsonObject trace = exported(
        test::recordIn(folder_, "said.highwater", test::makeSampleRun()), path("said.json"));
    QVERIFY(trace["highwater"]["simulated"].toBool());
    QCOMPARE(trace["baseTimeNanoseconds"].toInteger() % (7'889'238LL * 1'000'000'000), 0);
    QStringList labels, threads;
    for (const QJsonValue& each : trace["traceEvents"].toArray()) {
      if (each["name"] == "process_labels") labels << each["args"]["labels"].toString();
      if (each["name"] == "thread_name") threads << each["args"]["name"].toString();
    }
    QCOMPARE(labels, QStringList{"simulated mps"});
    QVERIFY(threads.contains("training"));
  }

  /// Quotes, control characters and markup in names stay text.
  void hostileNamesStayText() {
    std::string out;
    report::ChromeTrace format([&out](std::string_view piece) { out += piece; });
    report::TraceEvents trace(format);
    const std::string name = "a\"b\\c\n</script>\x1b[31m\xff";
    Hello hello;
    hello.platform = name;
    trace.take({}, hello);
    Definitions definitions;
    definitions.names.push_back({5, name, kNoId});
    definitions.threads.push_back({2, name});
    trace.take({}, definitions);
    const events::NamedSpan span(-10, 1'234'567, 1, 5, 2, 0);
    EventBatch batch;
    batch.namedSpans = std::span(&span, 1);
    trace.take({}, batch);
    trace.finish();
    QCOMPARE(trace.written(), std::uint64_t{1});
    QJsonParseError problem{};
    const auto parsed = QJsonDocument::fromJson(QByteArray::fromStdString(out), &problem).object();
    QVERIFY2(problem.error == QJsonParseError::NoError, out.c_str());
    const QString wanted = QStringLiteral("a\"b\\c\uFFFD</script>\uFFFD[31m\uFFFD");
    QCOMPARE(parsed["highwater"]["platform"].toString(), wanted);
    const QJsonValue event = parsed["traceEvents"][1];
    QCOMPARE(event["name"].toString(), wanted);
    QCOMPARE(event["ts"].toDouble(), -0.010);
    QCOMPARE(event["dur"].toDouble(), 1234.567);
  }

  void emptyRunIsATrace() {
    std::string out;
    report::ChromeTrace format([&out](std::string_view piece) { out += piece; });
    report::TraceEvents trace(format);
    trace.finish();
    QVERIFY(QJsonDocument::fromJson(QByteArray::fromStdString(out)).isObject());
  }

  void overwritesOnlyTraces_data() {
    QTest::addColumn<QString>("ending");
    for (const char* ending : {"json", "json.gz", "pftrace"}) {
      QTest::newRow(ending) << ending;
    }
  }

  void overwritesOnlyTraces() {
    QFETCH(QString, ending);
    const QString run = test::recordIn(folder_, "over.highwater", test::makeSampleRun());
    const QString to = folder_.filePath("over." + ending);
    QCOMPARE(runHighwater({"export", run, "--to", to}).exitCode, int{kExitDone});
    const QByteArray first = contents(to);
    const auto again = runHighwater({"export", run, "--to", to});
    QCOMPARE(again.exitCode, int{kExitFailed});
    QVERIFY2(again.err.contains("--force"), qPrintable(again.err));
    QCOMPARE(runHighwater({"export", run, "--to", to, "--force"}).exitCode, int{kExitDone});
    QCOMPARE(contents(to), first);

    const QString other = folder_.filePath("package." + ending);
    QFile file(other);
    QVERIFY(file.open(QFile::WriteOnly) && file.write("\n{\"name\": \"mine\"}") > 0);
    file.close();
    const auto refused = runHighwater({"export", run, "--to", other, "--force"});
    QCOMPARE(refused.exitCode, int{kExitFailed});
    QVERIFY2(refused.err.contains("exists and is not a "), qPrintable(refused.err));
    QCOMPARE(contents(other), QByteArray("\n{\"name\": \"mine\"}"));
  }

  void leavesNothingHalfWritten() {
    const QString to = path("none.json");
    const auto missing = runHighwater({"export", path("missing.highwater"), "--to", to});
    QCOMPARE(missing.exitCode, int{kExitFailed});
    QVERIFY(!QFile::exists(to));
    const QString run = test::recordIn(folder_, "half.highwater", test::makeSampleRun());
    const auto nowhere = runHighwater({"export", run, "--to", path("no/such/folder/a.json")});
    QCOMPARE(nowhere.exitCode, int{kExitFailed});
    QVERIFY2(nowhere.err.contains("cannot be written"), qPrintable(nowhere.err));
    const auto sized = runHighwater({"export", run, "--to", to, "--size", "800x600"});
    QCOMPARE(sized.exitCode, int{kExitUsage});
    QVERIFY2(sized.err.contains("--size is for pictures"), qPrintable(sized.err));
    const auto upper = runHighwater({"export", run, "--to", path("UPPER.JSON")});
    QCOMPARE(upper.exitCode, int{kExitDone});
    const auto other = runHighwater({"export", run, "--to", path("run.docx")});
    QCOMPARE(other.exitCode, int{kExitUsage});
    QVERIFY2(other.err.contains("highwater export --help"), qPrintable(other.err));
  }
};

HIGHWATER_TEST(TestChromeTrace, QCoreApplication)
#include "tst_chrome_trace.moc"
