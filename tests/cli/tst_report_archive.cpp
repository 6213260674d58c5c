// highwater doctor --report: one archive with all that this machine says, and nothing private.
#include <sys/stat.h>
#include <unistd.h>

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <csignal>
#include <map>

#include "core/exit_codes.h"
#include "support/run_program.h"
#include "support/test_program.h"

using namespace highwater;
using highwater::test::Outcome;

class TestReportArchive : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<QTemporaryDir> folder_;

  [[nodiscard]] QString path(const QString& name) const { return folder_->filePath(name); }
  void write(const QString& name, const QByteArray& content) const {
    QDir().mkpath(QFileInfo(path(name)).path());
    QFile file(path(name));
    QVERIFY(file.open(QIODevice::WriteOnly) && file.write(content) == content.size());
  }
  /// The user's own environment: the home and the temporary folder are in the test's.
  [[nodiscard]] QStringList environment() const {
    QDir().mkpath(path("quillfeather"));
    QDir().mkpath(path("tmp"));
    return {"HOME=" + path("quillfeather"),
            "TMPDIR=" + path("tmp"),
            "USER=quillfeather",
            "HF_TOKEN=hf_0123456789",
            "PYTORCH_MPS_FAST_MATH=squirrel",
            QStringLiteral("HIGHWATER_WORKER=") + HIGHWATER_FAKE_WORKER};
  }
  [[nodiscard]] Outcome report(const QStringList& arguments, const QStringList& environment) const {
    return test::runHighwater(QStringList{"doctor", "--report"} + arguments, environment);
  }
  /// Name, without the folder, and content of each file in the archive, as tar reads it.
  [[nodiscard]] std::map<QString, QByteArray> filesOf(const QString& archive) const {
    const QString to = path("unpacked");
    QDir(to).removeRecursively();
    QDir().mkpath(to);
    if (test::runProgram("tar", {"xzf", archive, "-C", to}).exitCode != 0) return {};
    std::map<QString, QByteArray> files;
    const QStringList roots = QDir(to).entryList(QDir::AllEntries | QDir::NoDotAndDotDot);
    if (roots.size() != 1) return {};
    const QDir root(to + '/' + roots.front());
    for (const QString& each : {QString("."), QString("crashes")}) {
      for (const QFileInfo& info : QDir(root.filePath(each)).entryInfoList(QDir::Files)) {
        QFile file(info.filePath());
        if (file.open(QIODevice::ReadOnly)) {
          files[root.relativeFilePath(info.filePath())] = file.readAll();
        }
      }
    }
    return files;
  }
  [[nodiscard]] QStringList names(const QString& folder) const {
    return QDir(folder).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot);
  }

 private slots:
  void init() { folder_ = std::make_unique<QTemporaryDir>(); }

  void isMadeAlthoughPartsFail() {
    write("quillfeather/Library/Logs/DiagnosticReports/highwater-worker-1.ips",
          "{\"crashReporterKey\" : \"8F-1\", \"path\" : \"" + path("quillfeather").toUtf8() +
              "/bin\"}");
    write("quillfeather/Library/Logs/DiagnosticReports/Safari-1.ips", "{}");
    const Outcome made =
        report({path("a.tar.gz"), "--python", path("quillfeather/no-python")}, environment());
    QVERIFY2(made.exitCode == kExitDone, qPrintable(made.err));
    QVERIFY2(made.out.contains("Send it to whoever gave you Highwater"), qPrintable(made.out));
    const auto files = filesOf(path("a.tar.gz"));
    QVERIFY(files.contains("summary.txt") && files.contains("doctor.json"));
    const QString summary = QString::fromUtf8(files.at("summary.txt"));
    QVERIFY2(summary.contains("exit code 2") && summary.contains("report       left out:"),
             qPrintable(summary));
    QVERIFY2(files.at("python.log").contains("there is no interpreter ~/no-python"),
             files.at("python.log").constData());
    QVERIFY(files.contains("crashes/highwater-worker-1.ips"));
    QVERIFY(!files.contains("crashes/Safari-1.ips"));
    QVERIFY(files.at("doctor.json").contains("(set)"));
    for (const auto& [name, content] : files) {
      for (const char* word : {"quillfeather", "hf_0123456789", "squirrel", "8F-1"}) {
        QVERIFY2(!content.contains(word), qPrintable(name + ": " + word));
      }
    }
    // Nothing is left of the tries.
    QCOMPARE(names(path("tmp")), QStringList());
    QCOMPARE(names(folder_->path()).filter(QStringLiteral(".highwater-draft")), QStringList());
  }

  void saysWhyNoWorkerAnswered() {
    QStringList own = environment();
    own.back() = "HIGHWATER_WORKER=" + path("no-worker");
    const Outcome made = report({path("a.tgz"), "--python", "/no/python"}, own);
    QCOMPARE(made.exitCode, int(kExitDone));
    QVERIFY2(made.out.contains("self-test    left out: HIGHWATER_WORKER names"),
             qPrintable(made.out));
  }

  void isNamedAndReplaced() {
    // In the current folder without a name.
    QProcess process;
    process.setWorkingDirectory(folder_->path());
    process.setProcessEnvironment(test::environmentWith(environment()));
    process.start(HIGHWATER_BIN_DIR "/highwater",
                  {"doctor", "--report", "--device", "cpu", "--python", "/no/python"});
    QVERIFY(process.waitForFinished(test::kWaitMs));
    QCOMPARE(process.exitCode(), int(kExitDone));
    const QStringList made = QDir(folder_->path()).entryList({"highwater-report-*.tar.gz"});
    QCOMPARE(made.size(), 1);
    // An archive may be written again.
    const Outcome again = report({path(made.front()), "--python", "/no/python"}, environment());
    QVERIFY2(again.exitCode == kExitDone, qPrintable(again.err));
  }

  void withoutATemporaryFolderNothingIsRun() {
    write("train.py", "open('was run', 'w')\n");
    QStringList own = environment();
    own << "TMPDIR=/dev/null";
    const Outcome outcome = report({path("a.tar.gz"), "--device", "cpu"}, own);
    QCOMPARE(outcome.exitCode, int(kExitFailed));
    QVERIFY2(outcome.err.contains("set TMPDIR"), qPrintable(outcome.err));
    QVERIFY(!QFile::exists(path("a.tar.gz")));
  }

  void aPythonIsNamedFromTheCurrentFolder() {
    write("python", "#!/bin/sh\nexit 3\n");
    ::chmod(path("python").toLocal8Bit().constData(), 0700);
    QProcess process;
    process.setWorkingDirectory(folder_->path());
    process.setProcessEnvironment(test::environmentWith(environment()));
    process.start(HIGHWATER_BIN_DIR "/highwater",
                  {"doctor", "--report", QString(120, u'a') + ".tar.gz", "--python", "./python"});
    QVERIFY(process.waitForFinished(test::kWaitMs));
    const auto files = filesOf(path(QString(120, u'a') + ".tar.gz"));
    QVERIFY(files.size() > 3);
    QVERIFY2(files.at("python.log").contains("ended with exit code 3"),
             files.at("python.log").constData());
  }

  void badTargetsAreRefusedFirst_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("said");
    QTest::addColumn<int>("exitCode");
    QTest::newRow("a folder") << "tmp"
                              << "it is a folder" << int(kExitUsage);
    QTest::newRow("another ending") << "a.zip"
                                    << "must end with .tar.gz" << int(kExitUsage);
    QTest::newRow("a text") << "text.tar.gz"
                            << "exists and is no archive" << int(kExitFailed);
    QTest::newRow("no folder") << "absent/a.tar.gz"
                               << "name another output after --report" << int(kExitFailed);
  }
  void badTargetsAreRefusedFirst() {
    QFETCH(QString, name);
    QFETCH(QString, said);
    QFETCH(int, exitCode);
    write("text.tar.gz", "not to be lost");
    const Outcome outcome = report({path(name)}, environment());
    QCOMPARE(outcome.exitCode, exitCode);
    QVERIFY2(outcome.err.contains(said), qPrintable(outcome.err));
    QVERIFY2(!outcome.err.contains("..."), "nothing was tried");
    QFile text(path("text.tar.gz"));
    QVERIFY(text.open(QIODevice::ReadOnly));
    QCOMPARE(text.readAll(), QByteArray("not to be lost"));
    QVERIFY(!QFile::exists(path("absent")));
  }

  void anInterruptLeavesNothing() {
    QProcess process;
    process.setProcessEnvironment(test::environmentWith(environment()));
    write("slow", "#!/bin/sh\nexec sleep 1000\n");
    ::chmod(path("slow").toLocal8Bit().constData(), 0700);
    process.start(HIGHWATER_BIN_DIR "/highwater",
                  {"doctor", "--report", path("a.tar.gz"), "--python", path("slow")});
    QByteArray said;
    QVERIFY(QTest::qWaitFor(
        [&] {
          process.waitForReadyRead(50);
          said += process.readAllStandardError();
          return said.contains("what works with the Python");
        },
        test::kWaitMs));
    ::kill(static_cast<pid_t>(process.processId()), SIGTERM);
    QVERIFY(process.waitForFinished(test::kWaitMs));
    QCOMPARE(process.exitCode(), 128 + SIGTERM);
    QVERIFY(process.readAllStandardError().contains("no archive was written"));
    QVERIFY(!QFile::exists(path("a.tar.gz")));
    QCOMPARE(names(path("tmp")), QStringList());
  }

#if defined(HIGHWATER_WITH_SIMULATION) && defined(HIGHWATER_PYTHON)
  void holdsAllOfTheSimulatedDevice() {
    QStringList own = environment();
    own.removeLast();  // the real worker
    const Outcome made = report(
        {path("all.tgz"), "--device", "sim", "--python", QStringLiteral(HIGHWATER_PYTHON)}, own);
    QVERIFY2(made.exitCode == kExitDone, qPrintable(made.err));
    const auto files = filesOf(path("all.tgz"));
    const QByteArray summary = files.contains("summary.txt") ? files.at("summary.txt") : "";
    for (const char* name : {"doctor.json", "self-test.json", "python.json", "script.log",
                             "report.json", "window.png", "sample-report.json", "version.log"}) {
      QVERIFY2(files.contains(QLatin1String(name)),
               (QByteArray(name) + "\n" + summary).constData());
    }
    QVERIFY2(!summary.contains("exit code") && !summary.contains("left out"), summary.constData());
    QVERIFY(files.at("window.png").startsWith(QByteArray::fromHex("89504e470d0a1a0a")));
    QCOMPARE(test::runProgram("tar", {"tzf", path("all.tgz")}).out.section('/', 0, 0),
             QString("highwater-report"));
    const QJsonObject ofScript = QJsonDocument::fromJson(files.at("report.json")).object();
    QCOMPARE(ofScript["steps"].toInt(), 40);
    QVERIFY(ofScript["simulated"].toBool());
    for (const auto& [name, content] : files) {
      QVERIFY2(!content.contains("quillfeather") && !content.contains("squirrel"),
               qPrintable(name));
    }
  }
#endif
};

HIGHWATER_TEST(TestReportArchive, QCoreApplication)
#include "tst_report_archive.moc"
