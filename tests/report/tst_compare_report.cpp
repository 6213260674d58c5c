#include <QJsonArray>
#include <QRegularExpression>

#include "analysis/facts.h"
#include "core/exit_codes.h"
#include "report/text_table.h"
#include "support/recording_file.h"
#include "support/run_program.h"
#include "support/test_program.h"

using namespace highwater;
using highwater::test::runHighwater;

class TestCompareReport : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;
  QString before_, after_;

  static QJsonObject object(const QString& json) {
    return QJsonDocument::fromJson(json.toUtf8()).object();
  }

 private slots:
  void initTestCase() {
    before_ =
        test::recordIn(folder_, "before.highwater", test::makeSampleRun({.doubleBatchAtStep = 0}));
    after_ = test::recordIn(
        folder_, "after.highwater",
        test::makeSampleRun({.seed = 2, .steps = 80, .doubleBatchAtStep = 0, .fallbackEvery = 0}));
  }

  /// Every number of the comparison is that of the recording's own report.
  void numbersAreThoseOfTheReports() {
    const auto outcome = runHighwater({"compare", before_, after_, "--json"});
    QCOMPARE(outcome.exitCode, int{kExitDone});
    QVERIFY2(outcome.err.isEmpty(), qPrintable(outcome.err));
    const QJsonObject compared = object(outcome.out);
    QCOMPARE(compared["schema"].toInt(), 1);
    const QJsonObject numbers = compared["facts"].toObject();
    QVERIFY(numbers.size() > 15);
    for (const auto& [side, path] : {std::pair{"a", before_}, std::pair{"b", after_}}) {
      const QJsonObject report = object(runHighwater({"report", path, "--json"}).out);
      for (const QString& key : numbers.keys()) {
        QJsonValue value = report;
        for (const QString& part : key.split(u'.')) value = value[part];
        QVERIFY2(value.isDouble(), qPrintable(key));
        QCOMPARE(numbers[key][QLatin1String(side)].toDouble(), value.toDouble());
      }
    }
  }

  void textSaysWhatWentAndWhatStayed() {
    const auto outcome = runHighwater({"compare", before_, after_});
    QCOMPARE(outcome.exitCode, int{kExitDone});
    const QString& out = outcome.out;
    for (const char* part :
         {"A  before.highwater", "B  after.highwater", "60 steps", "80 steps", "Step p50",
          "Tokens/s", "Fallbacks", "Findings that B no longer has", "embedding_renorm",
          "Host time by phase", "Time by region", "simulated"}) {
      QVERIFY2(out.contains(QLatin1String(part)), qPrintable(part + ("\n" + out)));
    }
    QVERIFY2(!out.contains("nan"), qPrintable(out));
    // Wide enough for each line.
    for (const QString& line : out.split(u'\n')) QVERIFY2(line.size() <= 80, qPrintable(line));
  }

  void markdownHasTables() {
    const auto outcome = runHighwater({"compare", before_, after_, "--markdown"});
    QCOMPARE(outcome.exitCode, int{kExitDone});
    const QStringList lines = outcome.out.split(u'\n');
    QVERIFY2(lines.contains("| Whole run | A | B | Change | Noise |"), qPrintable(outcome.out));
    QVERIFY(lines.contains("| --- | ---: | ---: | ---: | --- |"));
    // Each row of a table has the cells of its head.
    qsizetype cells = 0;
    for (const QString& line : lines) {
      if (!line.startsWith(u'|')) {
        cells = 0;
        continue;
      }
      static const QRegularExpression border(QStringLiteral("(?<!\\\\)\\|"));
      const qsizetype found = line.count(border);
      QVERIFY2(cells == 0 || cells == found, qPrintable(line));
      cells = found;
    }
  }

  void markdownEscapesMarkup() {
    QCOMPARE(
        report::markdownText("a|b *c* <script> `d` [e](f) @g #1 \x1b[0m"),
        std::string(
            "a\\|b \\*c\\* \\<script\\> \\`d\\` \\[e\\](f) \\@\u2060g \\#\u20601 \uFFFD\\[0m"));
    report::TextTable table({report::TextTable::Align::kLeft, report::TextTable::Align::kRight});
    table.add({"a|b"});
    QCOMPARE(table.markdown({"x", "y"}), std::string("| x | y |\n| --- | ---: |\n| a\\|b |  |\n"));
  }

  void limitsDecideTheExitCode_data() {
    QTest::addColumn<QStringList>("limits");
    QTest::addColumn<int>("exitCode");
    QTest::addColumn<QString>("message");
    QTest::newRow("kept") << QStringList{"step_ms.p50 > +500 %"} << int{kExitDone} << "";
    QTest::newRow("broken") << QStringList{"steps > +10 %"} << int{kExitFailed}
                            << "the limit \"steps > +10 %\" is broken: A 60, B 80, +20 (+33 %)";
    QTest::newRow("one of two") << QStringList{"step_ms.p50 > +500 %", "steps > 70"}
                                << int{kExitFailed} << "\"steps > 70\" is broken";
    QTest::newRow("not known") << QStringList{"samples_per_s < -5 %"} << int{kExitFailed}
                               << "cannot be judged: neither run knows samples_per_s";
    QTest::newRow("wrong") << QStringList{"step_ms > 5"} << int{kExitUsage}
                           << "--fail-if is \"step_ms\"";
    QTest::newRow("empty") << QStringList{""} << int{kExitUsage} << "--fail-if";
  }

  void limitsDecideTheExitCode() {
    QFETCH(QStringList, limits);
    QFETCH(QString, message);
    QStringList arguments{"compare", before_, after_};
    for (const QString& each : limits) arguments << "--fail-if" << each;
    const auto outcome = runHighwater(arguments);
    QTEST(outcome.exitCode, "exitCode");
    QVERIFY2(outcome.err.contains(message) && outcome.err.isEmpty() == message.isEmpty(),
             qPrintable(outcome.err));
  }

  void refusesWhatCannotBeCompared() {
    const QString text = folder_.filePath("notes.txt");
    QFile file(text);
    QVERIFY(file.open(QFile::WriteOnly) && file.write("no recording") > 0);
    file.close();
    const QString none =
        test::recordIn(folder_, "none.highwater", test::makeSampleRun({.steps = 0}));
    for (const auto& [other, message] :
         {std::pair{text, "notes.txt"}, std::pair{folder_.filePath("missing"), "missing"},
          std::pair{none, "no finished step"}}) {
      for (const QStringList& both : {QStringList{before_, other}, QStringList{other, before_}}) {
        const auto outcome = runHighwater(QStringList{"compare"} + both);
        QCOMPARE(outcome.exitCode, int{kExitFailed});
        QVERIFY2(outcome.err.contains(message), qPrintable(outcome.err));
        QVERIFY2(outcome.out.isEmpty(), qPrintable(outcome.out));
      }
    }
    QCOMPARE(runHighwater({"compare", before_}).exitCode, int{kExitUsage});
    const auto same = runHighwater({"compare", before_, before_});
    QCOMPARE(same.exitCode, int{kExitUsage});
    QVERIFY2(same.err.contains("are the same file"), qPrintable(same.err));
    QCOMPARE(runHighwater({"compare", before_, after_, "--json", "--markdown"}).exitCode,
             int{kExitUsage});
  }

  /// An edit moves the lines below it, and a copy of a script has another name.
  void movedLinesAreTheSame() {
    const auto site = [](const char* file, std::uint32_t line) {
      return CallSiteDefinition{7, kNoId, "train", file, line, "loss = loss.item()"};
    };
    QStringList paths;
    for (const auto& [file, line] : {std::pair{"a.py", 17U}, std::pair{"b.py", 21U}}) {
      auto run = test::makeSampleRun({.doubleBatchAtStep = 0});
      for (test::OwnedMessage& message : run) {
        if (auto* batch = std::get_if<test::OwnedBatch>(&message)) {
          for (events::SyncPoint& sync : batch->syncPoints) sync.mutate_call_site(7);
        } else if (auto* described = std::get_if<RunDescription>(&message)) {
          described->ownScript = true;  // whose lines are shown
        } else if (auto* defined = std::get_if<Definitions>(&message)) {
          std::erase_if(defined->callSites, [](const auto& each) { return each.id == 7; });
          defined->callSites.push_back(site(file, line));
        }
      }
      paths << test::recordIn(folder_, QString("moved-%1.highwater").arg(line), run);
    }
    const QJsonObject compared =
        object(runHighwater({"compare", paths[0], paths[1], "--json"}).out);
    int moved = 0;
    for (const QJsonValue& op : compared["ops"].toArray()) {
      if (op["kind"].isNull()) continue;  // a fallback
      QVERIFY2(op["where"].toString().startsWith("a.py:17"), qPrintable(op["where"].toString()));
      QVERIFY2(op["moved_to"].toString().startsWith("b.py:21"),
               qPrintable(op["moved_to"].toString()));
      QCOMPARE(op["a"].toDouble(), op["b"].toDouble());
      ++moved;
    }
    QVERIFY(moved > 0);
    QVERIFY(compared["findings_gone"].toArray().isEmpty());
    QVERIFY(compared["findings_new"].toArray().isEmpty());
  }

  void helpNamesEveryKey() {
    const QString help = runHighwater({"compare", "--help"}).out.simplified();
    for (const analysis::Fact& fact : analysis::facts()) {
      QVERIFY2(help.contains(QLatin1String(fact.key.data(), qsizetype(fact.key.size()))),
               fact.key.data());
    }
  }
};

HIGHWATER_TEST(TestCompareReport, QCoreApplication)
#include "tst_compare_report.moc"
