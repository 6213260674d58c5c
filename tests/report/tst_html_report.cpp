#include "report/html_report.h"

#include <sqlite3.h>

#include <QRegularExpression>
#include <QXmlStreamReader>

#include "core/exit_codes.h"
#include "support/file_size_limit.h"
#include "support/recording_file.h"
#include "support/run_program.h"
#include "support/test_program.h"

using namespace highwater;
using highwater::test::runHighwater;

class TestHtmlReport : public QObject {
  Q_OBJECT

 private:
  /// What a browser would find in a page.
  struct Page {
    QString problem = {};  ///< why it is no XML; empty: it is
    QString text = {};     ///< all that can be read, on one line
    QString pre = {};
    QStringList elements = {}, attributes = {};
    QStringList sources = {};  ///< what the page would load
    QStringList links = {};
    QList<QStringList> rows = {};  ///< of the tables
    QStringList sizes = {};        ///< of the pictures, as "1120x800"
  };

  QTemporaryDir folder_;

  [[nodiscard]] QString path(const char* name) const {
    return folder_.filePath(QLatin1String(name));
  }

  static QByteArray contents(const QString& file) {
    QFile opened(file);
    return opened.open(QIODevice::ReadOnly) ? opened.readAll() : QByteArray();
  }

  static Page read(const QByteArray& html) {
    Page page;
    QXmlStreamReader xml(html);
    QStringList open;
    while (!xml.atEnd()) {
      xml.readNext();
      if (xml.isStartElement()) {
        const QString name = xml.name().toString();
        open << name;
        page.elements << name;
        if (name == u"tr") page.rows.emplace_back();
        if (name == u"th" || name == u"td") page.rows.back() << QString();
        const QXmlStreamAttributes attributes = xml.attributes();
        for (const QXmlStreamAttribute& each : attributes) {
          page.attributes << each.name().toString();
          if (each.name() == u"src") {
            page.sources << each.value().toString();
          }
          if (each.name() == u"href") page.links << each.value().toString();
        }
        if (name == u"img") {
          page.sizes << QStringLiteral("%1x%2").arg(attributes.value("width"),
                                                    attributes.value("height"));
        }
      } else if (xml.isEndElement()) {
        open.removeLast();
        page.text += u' ';
      } else if (xml.isCharacters() && !open.contains("style")) {
        page.text += xml.text();
        if (open.contains("pre")) page.pre += xml.text();
        if (open.contains("th") || open.contains("td")) page.rows.back().back() += xml.text();
      }
    }
    if (xml.hasError()) page.problem = xml.errorString();
    page.text = page.text.simplified();
    return page;
  }

  Page written(const QString& recording, const QStringList& options = {}) {
    const QString to = path("page.html");
    const auto outcome =
        runHighwater(QStringList{"report", recording, "--html", to, "--force"} + options);
    if (outcome.exitCode != kExitDone || !outcome.err.isEmpty()) return {outcome.err};
    return read(contents(to));
  }

  static bool damage(const QString& recording, const char* sql) {
    sqlite3* db = nullptr;
    const bool opened = sqlite3_open(qPrintable(recording), &db) == SQLITE_OK;
    const bool done = opened && sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
    return sqlite3_close(db) == SQLITE_OK && done;
  }

 private slots:
  /// The words and the numbers are those of the other reports.
  void saysWhatTheReportsSay_data() {
    QTest::addColumn<bool>("full");
    QTest::newRow("short") << false;
    QTest::newRow("full") << true;
  }

  void saysWhatTheReportsSay() {
    QFETCH(bool, full);
    const QString recording = test::recordIn(folder_, "a&b.highwater", test::makeSampleRun());
    const QStringList options = full ? QStringList{"--full"} : QStringList{};
    const Page page = written(recording, options);
    QVERIFY2(page.problem.isEmpty(), qPrintable(page.problem));
    QVERIFY2(page.text.startsWith("a&b.highwater (simulated mps) a&b.highwater simulated mps"),
             qPrintable(page.text.left(200)));
    const QJsonObject json =
        QJsonDocument::fromJson(runHighwater({"report", recording, "--json"}).out.toUtf8())
            .object();
    QStringList said{json["verdict"]["text"].toString()};
    QVERIFY(!json["findings"].toArray().isEmpty());
    for (const QJsonValue& each : json["findings"].toArray()) {
      for (const char* key : {"title", "gain", "evidence", "advice", "line"}) {
        said << each[QLatin1String(key)].toString();
      }
    }
    for (const QString& each : said) {
      QVERIFY2(page.text.contains(each.simplified()), qPrintable(each));
    }
    QCOMPARE(page.elements.count("h3"), json["findings"].toArray().size());
    // The whole text, and its rows and those of the Markdown as tables.
    QCOMPARE(page.pre,
             runHighwater(QStringList{"report", recording} + options, {"COLUMNS=100"}).out);
    const QString text =
        runHighwater(QStringList{"report", recording} + options, {"COLUMNS=1000"}).out.simplified();
    const QString markdown = runHighwater({"report", recording, "--markdown"}).out;
    const QRegularExpression row("^\\| (.+) \\| (.+) \\|$", QRegularExpression::MultilineOption);
    QRegularExpressionMatchIterator numbers = row.globalMatch(markdown);
    numbers.next();  // the heads
    numbers.next();
    QVERIFY(numbers.hasNext());
    while (numbers.hasNext()) {
      const QStringList number = numbers.next().capturedTexts().mid(1);
      QVERIFY2(page.rows.contains(number), qPrintable(number.join(' ')));
    }
    for (const QStringList& each : page.rows) {
      QCOMPARE(each.size(), 2);
      QVERIFY2(text.contains(each.join(u' ').simplified()) ||
                   markdown.contains("| " + each.join(" | ") + " |"),
               qPrintable(each.join(" | ")));
    }
  }

  void isOneFileWithoutScripts() {
    const Page page = written(test::recordIn(folder_, "pictures.highwater", test::makeSampleRun()));
    QVERIFY2(page.problem.isEmpty(), qPrintable(page.problem));
    for (const char* element : {"script", "link", "iframe", "object", "form"}) {
      QVERIFY2(!page.elements.contains(QLatin1String(element)), element);
    }
    for (const QString& each : page.attributes) QVERIFY2(!each.startsWith("on"), qPrintable(each));
    for (const QString& each : page.links) QVERIFY2(each.startsWith("https://"), qPrintable(each));
    // The timeline and Tuning, each in two themes: PNG files with twice the pixels.
    QCOMPARE(page.elements.count("img"), 4);
    QCOMPARE(page.sources.size(), 4);
    QCOMPARE(page.sizes.size(), 4);
    for (qsizetype i = 0; i < page.sources.size(); ++i) {
      const QString head = QStringLiteral("data:image/png;base64,");
      QVERIFY(page.sources[i].startsWith(head));
      const QByteArray png = QByteArray::fromBase64(page.sources[i].mid(head.size()).toLatin1());
      QVERIFY(png.startsWith("\x89PNG\r\n\x1a\n") && png.endsWith("IEND\xae\x42\x60\x82"));
      const auto number = [&png](qsizetype at) { return png.mid(at, 4).toHex().toInt({}, 16); };
      QCOMPARE(QStringLiteral("%1x%2").arg(number(16) / 2).arg(number(20) / 2), page.sizes[i]);
      QCOMPARE(page.sources.count(page.sources[i]), 1);
    }
    QCOMPARE(page.text.count("(simulated mps)"), 3);
  }

  void drawsNothingOfARunWithoutSteps() {
    auto run = test::makeSampleRun({.steps = 1});
    std::erase_if(run, [](const test::OwnedMessage& each) {
      return std::holds_alternative<test::OwnedBatch>(each);
    });
    const Page page = written(test::recordIn(folder_, "none.highwater", run));
    QVERIFY2(page.problem.isEmpty(), qPrintable(page.problem));
    QVERIFY(page.sources.isEmpty());
    QVERIFY2(page.text.contains("none yet: the first step is not counted"), qPrintable(page.text));
  }

  /// Quotes, control characters and markup in the texts of a run stay text.
  void hostileTextsStayText() {
    const std::string hostile =
        "</script></style></pre>\"><img onerror='x' src=y>&lt;\n\x1b[31m\xff";
    auto run = test::makeSampleRun();
    for (test::OwnedMessage& message : run) {
      if (auto* hello = std::get_if<Hello>(&message)) {
        hello->device.reason = hello->platform = hello->torchVersion = hostile;
      }
      if (auto* what = std::get_if<RunDescription>(&message)) {
        what->workload = what->dataset = what->scenario = what->dtype = hostile;
      }
      if (auto* end = std::get_if<RunEnd>(&message)) end->message = hostile;
      auto* definitions = std::get_if<Definitions>(&message);
      if (!definitions) continue;
      for (NameDefinition& each : definitions->names) each.text += hostile;
      for (ModuleDefinition& each : definitions->modules) each.name += hostile;
      for (CallSiteDefinition& each : definitions->callSites) each.function = each.file += hostile;
    }
    analysis::LiveStore store;
    test::feed(run, store);
    const RecordingCondition condition{false, {hostile}, false};
    const report::PagePicture picture{hostile, hostile, 10, 10, "light", "dark"};
    const std::string html =
        report::reportHtml(hostile, store, analysis::summarize(store), condition,
                           std::span(&picture, 1), {.width = 100, .full = true});
    for (const char c : html) QVERIFY(static_cast<unsigned char>(c) >= 0x20 || c == '\n');
    const Page page = read(QByteArray::fromStdString(html));
    QVERIFY2(page.problem.isEmpty(), qPrintable(page.problem));
    QCOMPARE(page.elements.count("img"), 2);
    QCOMPARE(page.elements.count("pre"), 1);
    QCOMPARE(page.elements.count("style"), 1);
    QVERIFY(!page.elements.contains("script") && !page.attributes.contains("onerror"));
    QCOMPARE(page.sources.size(), 2);
    const QString safe = QStringLiteral(
        "</script></style></pre>\"><img onerror='x' src=y>&lt;\uFFFD\uFFFD[31m\uFFFD");
    QVERIFY2(page.text.startsWith(safe + " (simulated mps) " + safe + " simulated mps: " + safe +
                                  " Damaged: " + safe),
             qPrintable(page.text.left(600)));
    QVERIFY(page.text.contains("aten::embedding_renorm_" + safe));
  }

  void linksToTheSourceOfAnAdvice() {
    auto run = test::makeSampleRun({.steps = 60, .doubleBatchAtStep = 0});
    for (test::OwnedMessage& message : run) {
      auto* batch = std::get_if<test::OwnedBatch>(&message);
      if (!batch) continue;
      for (events::StepRecord& step : batch->steps) {
        step.mutate_loss(std::numeric_limits<float>::quiet_NaN());
      }
    }
    const QString recording = test::recordIn(folder_, "nan.highwater", run);
    const Page page = written(recording);
    QVERIFY2(page.problem.isEmpty(), qPrintable(page.problem));
    const QJsonObject json =
        QJsonDocument::fromJson(runHighwater({"report", recording, "--json"}).out.toUtf8())
            .object();
    QStringList sources;
    for (const QJsonValue& each : json["findings"].toArray()) {
      const QString source = each["source"].toString();
      if (!source.isEmpty()) sources << source.mid(source.indexOf("https://"));
    }
    QVERIFY(!sources.isEmpty());
    QCOMPARE(page.links, sources);
  }

  void overwritesOnlyPages() {
    const QString run = test::recordIn(folder_, "over.highwater", test::makeSampleRun()),
                  to = path("over.html");
    const auto first = runHighwater({"report", run, "--html", to});
    QCOMPARE(first.exitCode, int{kExitDone});
    QVERIFY2(first.out.startsWith(to + ": "), qPrintable(first.out));
    const QByteArray page = contents(to);
    const auto again = runHighwater({"report", run, "--html", to});
    QCOMPARE(again.exitCode, int{kExitFailed});
    QVERIFY2(again.err.contains("give --force to overwrite it"), qPrintable(again.err));
    QCOMPARE(runHighwater({"report", run, "--html", to, "--force"}).exitCode, int{kExitDone});
    QCOMPARE(contents(to), page);

    const QByteArray mine = "<!DOCTYPE html><title>mine</title>";
    QFile other(path("index.html"));
    QVERIFY(other.open(QFile::WriteOnly) && other.write(mine) == mine.size());
    other.close();
    const QByteArray recorded = contents(run);
    for (const QString& each : {other.fileName(), run}) {
      const auto refused = runHighwater({"report", run, "--html", each, "--force"});
      QCOMPARE(refused.exitCode, int{kExitFailed});
      QVERIFY2(refused.err.contains("is not a page of highwater report"), qPrintable(refused.err));
    }
    QCOMPARE(contents(other.fileName()), mine);
    QCOMPARE(contents(run), recorded);
  }

  void leavesNothingHalfWritten() {
    QTemporaryDir empty;
    const QString run = test::recordIn(folder_, "half.highwater", test::makeSampleRun()),
                  to = empty.filePath("a.html");
    const auto missing = runHighwater({"report", path("missing.highwater"), "--html", to});
    QCOMPARE(missing.exitCode, int{kExitFailed});
    QVERIFY2(missing.err.contains("missing.highwater"), qPrintable(missing.err));
    for (const QString& bad : {path("no/such/folder/a.html"), folder_.path()}) {
      const auto refused = runHighwater({"report", run, "--html", bad});
      QCOMPARE(refused.exitCode, int{kExitFailed});
      QVERIFY2(refused.err.contains("name another"), qPrintable(refused.err));
    }
    {
      const test::FileSizeLimit full(64 << 10);
      const auto refused = runHighwater({"report", run, "--html", to});
      QCOMPARE(refused.exitCode, int{kExitFailed});
      QVERIFY2(refused.err.contains("a.html cannot be written: ") &&
                   refused.err.contains("name another file after --html"),
               qPrintable(refused.err));
    }
    QCOMPARE(QDir(empty.path()).entryList(QDir::Files | QDir::Hidden), QStringList());
  }

  void showsWhatCameBeforeTheDamage() {
    const QString run = test::recordIn(folder_, "damaged.highwater", test::makeSampleRun()),
                  to = path("damaged.html");
    QVERIFY(damage(run,
                   "INSERT INTO batches (kinds, frames, raw_bytes, data) "
                   "VALUES (0, 1, 9, x'00')"));
    const auto outcome = runHighwater({"report", run, "--html", to});
    QCOMPARE(outcome.exitCode, int{kExitFailed});
    QCOMPARE(outcome.err, runHighwater({"report", run}).err);
    const Page page = read(contents(to));
    QVERIFY2(page.problem.isEmpty(), qPrintable(page.problem));
    QVERIFY2(page.text.contains("Damaged: ") && page.text.contains("before the damage can be read"),
             qPrintable(page.text.left(500)));
    QCOMPARE(page.sources.size(), 4);
    QVERIFY(page.rows.contains(QStringList{"Steps", "60"}));
    // Nothing of it can be read.
    QVERIFY(damage(run, "UPDATE batches SET data = x'00'") && QFile::remove(to));
    const auto nothing = runHighwater({"report", run, "--html", to});
    QCOMPARE(nothing.exitCode, int{kExitFailed});
    QVERIFY2(nothing.err.contains("; nothing could be read"), qPrintable(nothing.err));
    QVERIFY(!QFile::exists(to));
  }
};

HIGHWATER_TEST(TestHtmlReport, QCoreApplication)
#include "tst_html_report.moc"
