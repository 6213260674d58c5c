// What tells whose machine it is gets into no report.
#include <QJsonArray>
#include <QJsonObject>
#include <QTest>
#include <algorithm>

#include "cli/doctor/private_words.h"
#include "support/test_program.h"

using namespace highwater;
using cli::PrivateWords;

class TestPrivateWords : public QObject {
  Q_OBJECT

  PrivateWords words_{
      {"/Users/anna"}, {"Anna Berg", "anna", "jo"}, {"Annas-Mac.local", "Annas-Mac"}, {}};

 private slots:
  void areReplaced_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("published");
    const auto row = [](const char* text, const char* published) {
      QTest::newRow(text) << text << published;
    };
    row("/Users/anna/train.py:3", "~/train.py:3");
    row("/Users/annabel/train.py", "/Users/annabel/train.py");
    row("/Users/anna2/x", "/Users/anna2/x");
    row(R"({"procPath": "\/Users\/anna\/x"})", R"({"procPath": "~\/x"})");
    row("by anna on Annas-Mac.local, ANNAS-MAC", "by USER on HOST, HOST");
    row("Savannah, annabel", "Savannah, annabel");
    row("Anna Berg", "USER");
    row("/Users/jo/x, jo", "/Users/USER/x, jo");
    row("/tmp/pip-anna-1", "/tmp/pip-USER-1");
    row("key hf_secret!", "key $HF_TOKEN!");
    row(R"("crashReporterKey" : "8F-1", "incident":"A", "sleepWakeUUID": "B", "pid" : 7)",
        R"("crashReporterKey" : "", "incident":"", "sleepWakeUUID": "", "pid" : 7)");
  }
  void areReplaced() {
    QFETCH(QString, text);
    QFETCH(QString, published);
    PrivateWords words = words_;
    words.secrets.emplace_back("HF_TOKEN", "hf_secret");
    QCOMPARE(QString::fromUtf8(cli::withoutPrivate(text.toUtf8(), words)), published);
  }

  void areThoseOfThisProcess() {
    qputenv("USER", "quillfeather");
    qputenv("HF_TOKEN", "hf_0123456789");
    qputenv("B_TOKEN", "hf_01234567890");
    qputenv("PYTORCH_MPS_FAST_MATH", "squirrel");
    qputenv("MONKEY", "harmless");
    const PrivateWords words = cli::ownPrivateWords();
    for (const char* each : {"HF_TOKEN", "B_TOKEN", "PYTORCH_MPS_FAST_MATH"}) qunsetenv(each);
    QVERIFY(words.users.contains("quillfeather"));
    QVERIFY(!words.users.contains("root"));
    QVERIFY(!words.homes.isEmpty() && !words.homes.contains("/"));
    const auto has = [&](const char* name) {
      return std::any_of(words.secrets.begin(), words.secrets.end(),
                         [&](const auto& each) { return each.first == QLatin1String(name); });
    };
    QVERIFY(has("HF_TOKEN") && has("PYTORCH_MPS_FAST_MATH") && !has("MONKEY") && !has("PATH"));
    // The end of a longer one does not stay.
    QCOMPARE(cli::withoutPrivate("x hf_01234567890", words), QByteArray("x $B_TOKEN"));
  }

  void valuesOfVariablesAreLeftOut() {
    const QJsonObject set{{"name", "A"}, {"value", "private"}, {"meaning", "m"}};
    const QJsonObject unset{{"name", "B"}, {"value", QJsonValue()}, {"meaning", "m"}};
    const QJsonObject measure{{"name", "current"}, {"value", "7"}, {"unit", "bytes"}};
    const QJsonObject made =
        cli::withoutValues(QJsonObject{{"environment", QJsonArray{set, unset}}, {"x", measure}})
            .toObject();
    QCOMPARE(made["environment"][0]["value"].toString(), QString("(set)"));
    QVERIFY(made["environment"][1]["value"].isNull());
    QCOMPARE(made["x"].toObject(), measure);
  }
};

HIGHWATER_TEST(TestPrivateWords, QCoreApplication)
#include "tst_private_words.moc"
