// Files and JSON under a locale with a decimal comma are the same as in the C locale.
#include <QRegularExpression>

#include "core/exit_codes.h"
#include "support/run_program.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;

class TestLocale : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;
  QStringList german_;

  [[nodiscard]] QByteArray bytesOf(const QString& name) const {
    QFile file(folder_.filePath(name));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
  }
  void isWithoutCommas(const QStringList& texts) const {
    static const QRegularExpression decimalComma(R"(\d,\d)");
    for (const QString& text : texts) {
      QVERIFY2(!text.contains(decimalComma), qPrintable(text));
    }
  }

 private slots:
  void initTestCase() {
    const QString name = folder_.filePath("de_DE.UTF-8");
    QProcess localedef;
    localedef.start("localedef", {"-f", "UTF-8", "-i", "de_DE", name});
    if (!localedef.waitForFinished(kWaitMs) || !QDir(name).exists()) {
      QSKIP("localedef cannot make a locale here");
    }
    german_ = {"LOCPATH=" + folder_.path(), "LC_ALL=de_DE.UTF-8"};
    // That it is in effect: bash formats numbers with the locale's decimal point.
    QProcess shell;
    shell.setProcessEnvironment(environmentWith(german_));
    shell.start("bash", {"-c", "printf '%.1f' 1,5"});
    shell.waitForFinished(kWaitMs);
    if (shell.readAllStandardOutput() != "1,5") QSKIP("the locale has no effect here");
  }

  void ofARecording() {
    const QString path = folder_.filePath("a.highwater");
    const Outcome run = runHighwater(
        {"record", "--steps", "60", "-o", path},
        german_ + QStringList{QStringLiteral("HIGHWATER_WORKER=") + HIGHWATER_FAKE_WORKER,
                              QStringLiteral("FAKE_WORKER=sample")});
    QVERIFY2(run.exitCode == kExitDone, qPrintable(run.err));
    for (const QString& locale : {QStringLiteral("C"), QStringLiteral("german")}) {
      runHighwater({"export", path, "--to", folder_.filePath(locale) + '/'},
                   locale == "C" ? QStringList{"LC_ALL=C"} : german_);
    }
    const QStringList tables = QDir(folder_.filePath("C")).entryList(QDir::Files);
    QVERIFY(tables.contains("steps.csv"));
    for (const QString& table : tables) {
      QCOMPARE(bytesOf("german/" + table), bytesOf("C/" + table));
    }
    const Outcome here = runHighwater({"report", path, "--json"}, {"LC_ALL=C"});
    const Outcome german = runHighwater({"report", path, "--json"}, german_);
    QCOMPARE(german.out, here.out);
    QCOMPARE(runHighwater({"report", path}, german_).out,
             runHighwater({"report", path}, {"LC_ALL=C"}).out);
  }

  void ofTheWorker() {
    if (!QFile::exists(HIGHWATER_BIN_DIR "/highwater-worker")) QSKIP("there is no worker");
    const QString path = folder_.filePath("b.highwater");
    const QStringList arguments = {"record", "--device", "cpu", "--steps", "5", "--batch",
                                   "2",      "--seq",    "16",  "-o",      path};
    const Outcome run = runHighwater(arguments, german_);
    QVERIFY2(run.exitCode == kExitDone, qPrintable(run.err));
    isWithoutCommas(runHighwater({"report", path, "--json"}).out.split(u'\n'));
    const Outcome doctor = runHighwater({"doctor", "--json"}, german_);
    QVERIFY(QJsonDocument::fromJson(doctor.out.toUtf8()).isObject());
    isWithoutCommas(doctor.out.split(u'\n'));
  }
};

HIGHWATER_TEST(TestLocale, QCoreApplication)
#include "tst_locale.moc"
