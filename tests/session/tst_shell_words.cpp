#include <QProcess>
#include <QTest>

#include "session/shell_words.h"
#include "support/test_program.h"

using namespace highwater;
using highwater::test::kWaitMs;
using session::quoteShellWord;
using session::quoteShellWords;
using session::splitShellWords;

namespace {

/// The words that the system's shell makes of a text, which must have at least one.
QStringList wordsOfTheShell(const QString& text) {
  QProcess shell;
  shell.start(QStringLiteral("/bin/sh"),
              {QStringLiteral("-c"), QStringLiteral("printf '%s\\0' ") + text});
  if (!shell.waitForFinished(kWaitMs)) return {QStringLiteral("the shell did not end")};
  QStringList words = QString::fromUtf8(shell.readAllStandardOutput()).split(QChar::Null);
  words.removeLast();  // after the last \0
  return words;
}

}  // namespace

class TestShellWords : public QObject {
  Q_OBJECT

 private slots:
  void splitsAsTheShellDoes_data() {
    QTest::addColumn<QString>("text");
    const char* texts[] = {"a",
                           "--epochs 3  --name x",
                           "'a b' c",
                           "\"a b\" c",
                           "a\\ b c",
                           "--name='it is' --path=\"/tmp/a b\"",
                           "\"a\\\"b\\\\c\\d\"",
                           "'a\"b\\c'",
                           "'' a \"\"",
                           "a'b'\"c\"d",
                           "a\tb",
                           "ü 'é ö'",
                           "\"a'b\""};
    for (const char* each : texts) QTest::newRow(each) << QString::fromUtf8(each);
  }
  void splitsAsTheShellDoes() {
    QFETCH(QString, text);
    const auto words = splitShellWords(text);
    QVERIFY(words.ok());
    QCOMPARE(*words, wordsOfTheShell(text));
  }

  void blanksAreNoWords() {
    QCOMPARE(*splitShellWords(QString()), QStringList());
    QCOMPARE(*splitShellWords(QStringLiteral("  \t ")), QStringList());
  }

  void saysWhatIsNotClosed() {
    for (const char* text : {"a \"b", "a 'b", "\"a\\\"", "'"}) {
      const auto words = splitShellWords(QString::fromUtf8(text));
      QVERIFY2(!words.ok() && words.error().code == ErrorCode::kUsage, text);
      QVERIFY2(words.error().message.find("is not closed") != std::string::npos, text);
    }
    QVERIFY(!splitShellWords(QStringLiteral("a \\")).ok());
  }

  void quotesForTheShell() {
    const QStringList words{"train.py", "a b",   "",    "it's",    "\"",   "$HOME", "`date`",
                            "a\\b",     "~/x",   "*",   "a;b",     "a&b",  "#a",    "!a",
                            "ü é",      "--x=1", "(a)", "'a' 'b'", "a\nb", "|",     "{a,b}"};
    QCOMPARE(wordsOfTheShell(quoteShellWords(words)), words);
    QCOMPARE(*splitShellWords(quoteShellWords(words)), words);
  }

  void quotesOnlyWhatNeedsIt() {
    for (const char* word : {"train.py", "--epochs=3", "/a/b_c-d", "a,b", "x@y:1"}) {
      QCOMPARE(quoteShellWord(QLatin1String(word)), QLatin1String(word));
    }
  }
};

HIGHWATER_TEST(TestShellWords, QCoreApplication)
#include "tst_shell_words.moc"
