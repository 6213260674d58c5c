#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include "support/test_program.h"
#include "window/source_editor.h"

using namespace highwater;
using namespace highwater::window;

class TestSourceEditor : public QObject {
  Q_OBJECT

 private slots:
  void commandsNameThePlace_data() {
    QTest::addColumn<QString>("command");
    QTest::addColumn<QStringList>("wanted");
    const auto row = [](const char* command, const QStringList& wanted) {
      QTest::newRow(command) << QString::fromLatin1(command) << wanted;
    };
    row("code -g {file}:{line}", {"code", "-g", "/a b/t.py:41"});
    row("code", {"code", "-g", "/a b/t.py:41"});
    row("code --wait", {"code", "--wait", "-g", "/a b/t.py:41"});
    row("/opt/bin/subl", {"/opt/bin/subl", "/a b/t.py:41"});
    row("emacsclient -n", {"emacsclient", "-n", "+41", "/a b/t.py"});
    row("gvim", {"gvim", "+41", "/a b/t.py"});
    row("kate", {"kate", "--line", "41", "/a b/t.py"});
    row("some-editor", {"some-editor", "/a b/t.py"});
    row("\"/my apps/ed it\" {line} {file}", {"/my apps/ed it", "41", "/a b/t.py"});
    row("  idea --line {line} {file} ", {"idea", "--line", "41", "/a b/t.py"});
  }

  void commandsNameThePlace() {
    QFETCH(QString, command);
    QFETCH(QStringList, wanted);
    const auto got = editorCommand({command, "vi", "vi"}, QStringLiteral("/a b/t.py"), 41);
    QVERIFY(got.ok());
    QCOMPARE(*got, wanted);
  }

  void theOwnCommandCountsThenVisualThenEditor() {
    const auto program = [](const EditorChoice& choice) {
      const auto command = editorCommand(choice, QStringLiteral("/t.py"), 1);
      return command ? command->first() : QString();
    };
    QCOMPARE(program({"kate", "code", "gvim"}), QString("kate"));
    QCOMPARE(program({"", "code", "gvim"}), QString("code"));
    QCOMPARE(program({" ", "", "gvim"}), QString("gvim"));
  }

  /// A file's name comes from a recording: it stays one argument, whatever it is made of.
  void aHostileNameIsOneArgument() {
    const QString file = QStringLiteral("/tmp/$(rm -rf x); \"{line}\" 'b'.py");
    const auto got = editorCommand({"code -g {file}:{line}", {}, {}}, file, 7);
    QVERIFY(got.ok());
    QCOMPARE(*got, QStringList({"code", "-g", file + ":7"}));
  }

  void problemsSayWhatToDo_data() {
    QTest::addColumn<QString>("command");
    QTest::newRow("none") << QString();
    QTest::newRow("in a terminal") << QStringLiteral("vim");
    QTest::newRow("its path") << QStringLiteral("/usr/bin/nano {file}");
    QTest::newRow("a quote") << QStringLiteral("code \"-g {file}");
    QTest::newRow("no such program") << QStringLiteral("/no/such/editor {file}");
  }

  void problemsSayWhatToDo() {
    QFETCH(QString, command);
    const auto opened = openInEditor({command, {}, {}}, QStringLiteral("/t.py"), 1);
    QVERIFY(!opened.ok());
    const QString message = QString::fromStdString(opened.error().message);
    QVERIFY2(message.contains("editor", Qt::CaseInsensitive), qPrintable(message));
  }

  void theEditorIsStartedWithThePlace() {
    QTemporaryDir folder;
    const QString log = folder.filePath(QStringLiteral("arguments"));
    QFile script(folder.filePath(QStringLiteral("my editor")));
    QVERIFY(script.open(QIODevice::WriteOnly));
    script.write("#!/bin/sh\nprintf '%s|' \"$@\" > '" + log.toUtf8() + ".part'\nmv '" +
                 log.toUtf8() + ".part' '" + log.toUtf8() + "'\n");
    script.close();
    script.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    const auto opened =
        openInEditor({QStringLiteral("\"%1\" --at {file}:{line}").arg(script.fileName()), {}, {}},
                     QStringLiteral("/a b/t.py"), 12);
    QVERIFY(opened.ok());
    QTRY_VERIFY(QFile::exists(log));
    QFile arguments(log);
    QVERIFY(arguments.open(QIODevice::ReadOnly));
    QCOMPARE(QString::fromUtf8(arguments.readAll()), QString("--at|/a b/t.py:12|"));
  }
};

HIGHWATER_TEST(TestSourceEditor, QCoreApplication)
#include "tst_source_editor.moc"
