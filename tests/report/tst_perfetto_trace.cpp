#include "report/perfetto_trace.h"

#include <protozero/pbf_reader.hpp>

#include "support/test_program.h"

using namespace highwater;

namespace {

/// All texts of a trace, wherever they stand in its messages.
void collectTexts(protozero::data_view message, int depth, QStringList& texts) {
  protozero::pbf_reader reader(message);
  while (reader.next()) {
    if (reader.wire_type() != protozero::pbf_wire_type::length_delimited) {
      reader.skip();
      continue;
    }
    const protozero::data_view bytes = reader.get_view();
    const QByteArray text(bytes.data(), static_cast<qsizetype>(bytes.size()));
    texts << QString::fromUtf8(text);
    if (depth == 0) continue;
    try {
      collectTexts(bytes, depth - 1, texts);
    } catch (const protozero::exception&) {
      // A text, no message.
    }
  }
}

}  // namespace

/// What a trace says of a whole run: tests/python/test_traces.py, with Perfetto's own classes.
class TestPerfettoTrace : public QObject {
  Q_OBJECT

 private slots:
  /// Control characters and invalid UTF-8 are replaced: what reads a trace may refuse all of it.
  void hostileNamesStayText() {
    std::string out;
    report::PerfettoTrace format([&out](std::string_view piece) { out += piece; });
    report::TraceEvents trace(format);
    const std::string name = "a\"b\\c\n</script>\x1b[31m\xff";
    Hello hello;
    hello.torchVersion = name;
    trace.take({}, hello);
    RunDescription run;
    run.workload = name;
    trace.take({}, run);
    Definitions definitions;
    definitions.names.push_back({5, name, kNoId});
    definitions.threads.push_back({2, name});
    trace.take({}, definitions);
    const events::NamedSpan span(-10, 1'234'567, 1, 5, 2, 0);
    EventBatch batch;
    batch.namedSpans = std::span(&span, 1);
    trace.take({}, batch);
    Note note;
    note.text = name;
    trace.take({}, note);
    trace.finish();
    QVERIFY(report::PerfettoTrace::isHead(out));
    QStringList texts;
    collectTexts({out.data(), out.size()}, 4, texts);
    const QString wanted = QStringLiteral("a\"b\\c\uFFFD</script>\uFFFD[31m\uFFFD");
    // Thread, span and note; program and version stand at both ends.
    QCOMPARE(texts.count(wanted), 5);
    QCOMPARE(texts.count("PyTorch " + wanted), 2);
  }

  void emptyRunIsATrace() {
    std::string out;
    report::PerfettoTrace format([&out](std::string_view piece) { out += piece; });
    report::TraceEvents(format).finish();
    QVERIFY(report::PerfettoTrace::isHead(out));
  }

  void knowsOnlyItsOwn() {
    QVERIFY(!report::PerfettoTrace::isHead(""));
    QVERIFY(!report::PerfettoTrace::isHead("\n"));
    QVERIFY(!report::PerfettoTrace::isHead("\n{\"name\": 1}"));
  }
};

HIGHWATER_TEST(TestPerfettoTrace, QCoreApplication)
#include "tst_perfetto_trace.moc"
