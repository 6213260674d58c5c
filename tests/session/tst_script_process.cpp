// What is checked of a program before it is started.
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include "session/script_process.h"
#include "support/test_program.h"

using namespace highwater;

class TestScriptProcess : public QObject {
  Q_OBJECT

 private slots:
  /// Outside of virtual environments a Mac has python3 alone.
  void namesThePythonThatIsThere() {
    const QTemporaryDir folder;
    const QByteArray before = qgetenv("PATH");
    qputenv("PATH", folder.path().toLocal8Bit());
    const auto said = [](const QStringList& command) {
      session::ScriptOptions options;
      options.command = command;
      const auto checked = session::checkScript(options);
      return checked ? QString() : QString::fromStdString(checked.error().message);
    };
    const QString neither = said({"python", "train.py"});
    QFile made(folder.filePath("python3"));
    const bool opened = made.open(QIODevice::WriteOnly);
    made.setPermissions(made.permissions() | QFile::ExeOwner);
    made.close();
    const QString one = said({"python", "train.py", "--epochs", "2"});
    const QString other = said({"pithon", "train.py"});
    qputenv("PATH", before);
    QVERIFY(opened);
    QCOMPARE(neither,
             "there is no program python; give the command that starts the training, for example "
             "python3 train.py");
    QCOMPARE(one,
             "there is no program python here, but there is python3; give python3 train.py "
             "--epochs 2");
    QVERIFY2(other.startsWith("there is no program pithon; "), qPrintable(other));
  }
};

HIGHWATER_TEST(TestScriptProcess, QCoreApplication)
#include "tst_script_process.moc"
