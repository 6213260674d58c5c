#include "report/perfetto_trace.h"

#include <map>
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

/// The names of spans in the order of their begins in the file.
QStringList beginsOf(const std::string& trace) {
  QStringList begins;
  std::map<std::uint64_t, QString> names;
  const auto nested = [](protozero::data_view message, auto&& take) {
    protozero::pbf_reader reader(message);
    while (reader.next()) {
      if (reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
        take(reader.tag(), reader.get_view());
      } else {
        reader.skip();
      }
    }
  };
  nested({trace.data(), trace.size()}, [&](unsigned, protozero::data_view packet) {
    nested(packet, [&](unsigned tag, protozero::data_view part) {
      constexpr unsigned kTrackEvent = 11, kInterned = 12, kEventNames = 2;
      if (tag == kInterned) {
        nested(part, [&](unsigned kind, protozero::data_view entry) {
          if (kind != kEventNames) return;
          protozero::pbf_reader reader(entry);
          std::uint64_t id = 0;
          while (reader.next()) {
            if (reader.tag() == 1) {
              id = reader.get_uint64();
            } else {
              names[id] = QString::fromStdString(reader.get_string());
            }
          }
        });
      } else if (tag == kTrackEvent) {
        protozero::pbf_reader event(part);
        constexpr unsigned kNameId = 10;
        while (event.next(kNameId)) begins << names[event.get_uint64()];
      }
    });
  });
  return begins;
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
    // Thread, span, note and program.
    QCOMPARE(texts.count(wanted), 4);
    QCOMPARE(texts.count("PyTorch " + wanted), 1);
  }

  /// Where an op and the one that holds it begin at the same time, the outer one comes first: also
  /// where it comes in a later message.
  void outerOpsComeFirst() {
    std::string out;
    report::PerfettoTrace format([&out](std::string_view piece) { out += piece; });
    report::TraceEvents trace(format);
    trace.take({}, Hello());
    Definitions definitions;
    definitions.names.push_back({5, "inner", kNoId});
    definitions.names.push_back({6, "middle", kNoId});
    definitions.names.push_back({7, "outer", kNoId});
    trace.take({}, definitions);
    const auto op = [](NameId name, std::int64_t durationNs, std::uint16_t depth) {
      return events::OpSpan(1000, durationNs, -1, 0, 1, name, 0, 0, 2, depth, events::Phase::None,
                            0);
    };
    for (const events::OpSpan& each : {op(5, 500, 2), op(6, 800, 1), op(7, 800, 0)}) {
      EventBatch batch;
      batch.ops = std::span(&each, 1);
      trace.take({}, batch);
    }
    trace.finish();
    QCOMPARE(beginsOf(out), (QStringList{"outer", "middle", "inner"}));
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
