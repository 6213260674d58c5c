// Every scenario of docs/simulated-mps.md, run as it stands there: what the page promises, a user
// gets. A scenario is a shell block with its promise in the fence: ```sh exit=3 says="out of
// memory" matches="a regular expression"
#include <QRegularExpression>

#include "support/run_program.h"
#include "support/test_program.h"

using namespace highwater::test;

namespace {

struct DocumentedRun {
  QString heading;
  QString command;
  int exitCode = -1;
  QStringList says, matches;
};

QString page() {
  QFile file(QStringLiteral(HIGHWATER_SOURCE_DIR "/docs/simulated-mps.md"));
  return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

QList<DocumentedRun> documentedRuns() {
  static const QRegularExpression exitCode(QStringLiteral("exit=(\\d+)"));
  static const QRegularExpression says(QStringLiteral("says=\"([^\"]*)\""));
  static const QRegularExpression matches(QStringLiteral("matches=\"([^\"]*)\""));
  QList<DocumentedRun> found;
  QString heading;
  bool inside = false;
  for (const QString& line : page().split(u'\n')) {
    if (inside && line == QLatin1String("```")) {
      inside = false;
    } else if (inside) {
      QString& command = found.last().command;
      command += (command.isEmpty() ? QString() : QStringLiteral(" ")) + line.trimmed();
    } else if (line.startsWith(QLatin1String("### "))) {
      heading = line.mid(4);
    } else if (line.startsWith(QLatin1String("```sh exit="))) {
      DocumentedRun run{heading, {}, exitCode.match(line).captured(1).toInt(), {}, {}};
      for (const auto& each : says.globalMatch(line)) run.says += each.captured(1);
      for (const auto& each : matches.globalMatch(line)) run.matches += each.captured(1);
      found += run;
      inside = true;
    }
  }
  for (DocumentedRun& each : found) each.command.replace(QLatin1String("\\ "), QLatin1String(" "));
  return found;
}

}  // namespace

class TestScenarios : public QObject {
  Q_OBJECT

 private slots:
  void thePageHasScenarios() { QVERIFY(documentedRuns().size() >= 10); }

  void keepsItsPromise_data() {
    QTest::addColumn<QString>("command");
    QTest::addColumn<int>("exitCode");
    QTest::addColumn<QStringList>("says");
    QTest::addColumn<QStringList>("matches");
    for (const DocumentedRun& each : documentedRuns()) {
      QTest::newRow(qPrintable(each.heading))
          << each.command << each.exitCode << each.says << each.matches;
    }
  }
  void keepsItsPromise() {
    QFETCH(QString, command);
    QFETCH(int, exitCode);
    QFETCH(QStringList, says);
    QFETCH(QStringList, matches);
    QTemporaryDir folder;
    QStringList words = QProcess::splitCommand(command);
    QStringList environment;
    while (!words.isEmpty() && words.first().contains(u'=')) environment += words.takeFirst();
    QVERIFY2(!words.isEmpty() && words.takeFirst() == QLatin1String("highwater"),
             qPrintable(command));
    for (QString& word : words) {
      if (word.endsWith(QLatin1String(".highwater")) || word.endsWith(QLatin1String(".jsonl"))) {
        word = folder.filePath(word);
      }
    }
    environment += QStringLiteral("COLUMNS=1000");  // or what it says is wrapped between two words
    const Outcome outcome = runHighwater(words, environment);
    const QString said = outcome.out + outcome.err;
    QVERIFY2(outcome.exitCode == exitCode,
             qPrintable(QStringLiteral("exit code %1\n%2").arg(outcome.exitCode).arg(said)));
    for (const QString& text : says) QVERIFY2(said.contains(text), qPrintable(said));
    for (const QString& pattern : matches) {
      const QRegularExpression expression(pattern);
      QVERIFY2(expression.isValid(), qPrintable(pattern));
      QVERIFY2(said.contains(expression), qPrintable(said));
    }
  }
};

HIGHWATER_TEST(TestScenarios, QCoreApplication)
#include "tst_scenarios.moc"
