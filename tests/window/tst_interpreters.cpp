// Pythons are found and asked: the one of this machine, and programs that are none.
#include <QDir>
#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include "session/interpreters.h"
#include "support/test_program.h"
#include "window/start/interpreters.h"

using namespace highwater;
using highwater::test::kWaitMs;
using session::findInterpreters;
using window::InterpreterAnswer;
using window::InterpreterQuestion;

class TestInterpreters : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<QTemporaryDir> folder_;

  QString program(const QString& name, const QByteArray& content) const {
    const QString path = folder_->filePath(name);
    QDir().mkpath(QFileInfo(path).path());
    QFile made(path);
    if (!made.open(QIODevice::WriteOnly)) return {};
    made.write(content);
    made.setPermissions(made.permissions() | QFile::ExeOwner);
    return path;
  }
  static InterpreterAnswer ask(const QString& python, const QString& folder = {},
                               std::chrono::milliseconds limit = std::chrono::seconds(60)) {
    InterpreterQuestion question(limit);
    InterpreterAnswer answer;
    bool answered = false;
    connect(&question, &InterpreterQuestion::answered, &question,
            [&](const InterpreterAnswer& said) {
              answer = said;
              answered = true;
            });
    question.ask(python, folder);
    if (!QTest::qWaitFor([&] { return answered; }, kWaitMs)) answer.problem = "no answer";
    return answer;
  }

 private slots:
  void init() { folder_ = std::make_unique<QTemporaryDir>(); }

  void findsThemInTheOrderOfLikelihood() {
    const QString mine = program("project/.venv/bin/python", "");
    const QString active = program("active/bin/python", "");
    const QString system = program("bin/python3", "");
    QProcessEnvironment environment;
    environment.insert("PATH", folder_->filePath("bin"));
    QCOMPARE(findInterpreters({}, environment), QStringList{system});
    environment.insert("VIRTUAL_ENV", folder_->filePath("active"));
    QCOMPARE(
        findInterpreters({folder_->filePath("project"), folder_->filePath("project")}, environment),
        QStringList({mine, active, system}));
    environment.insert("VIRTUAL_ENV", folder_->filePath("gone"));
    QCOMPARE(findInterpreters({}, environment), QStringList{system});
    environment.insert("HIGHWATER_PYTHON", mine);  // that of a wheel
    QCOMPARE(findInterpreters({}, environment), QStringList({system, mine}));
    QCOMPARE(findInterpreters({}, QProcessEnvironment()), QStringList());
  }

  /// From the Finder the PATH of a Mac is /usr/bin alone.
  void looksWhereMacsHaveThem() {
    using session::SystemPython;
    const QString usual = QStringLiteral("/usr/bin/python3");
    if (!QFileInfo(usual).isExecutable()) QSKIP("there is no /usr/bin/python3");
    QProcessEnvironment environment;
    environment.insert("PATH", "/usr/bin");
    const auto found = [&](SystemPython system) {
      QStringList all = findInterpreters({}, environment, system);
      all.removeAll("/opt/homebrew/bin/python3");
      return all;
    };
    QCOMPARE(found(SystemPython::kOrdinary), QStringList{usual});
    QCOMPARE(found(SystemPython::kMac), QStringList{usual});
    QCOMPARE(found(SystemPython::kStub), QStringList());
    environment.insert("HOME", folder_->path());
    const QString pyenvs = program(".pyenv/shims/python3", "");
    const QString condas = program("miniconda3/bin/python3", "");
    QCOMPARE(found(SystemPython::kOrdinary), QStringList{usual});
    QCOMPARE(found(SystemPython::kMac), QStringList({pyenvs, condas, usual}));
    QCOMPARE(found(SystemPython::kStub), QStringList({pyenvs, condas}));
    const QString own = program("bin/python3", "");
    environment.insert("PATH", "/usr/bin:" + folder_->filePath("bin"));
    QCOMPARE(found(SystemPython::kMac), QStringList({own, pyenvs, condas, usual}));
  }

  void noModuleOfTheFolderIsRun() {
    (void)program("here/json.py", "open('was run', 'w').close()\n");
    const InterpreterAnswer answer =
        ask(QStringLiteral(HIGHWATER_TEST_PYTHON), folder_->filePath("here"));
    QVERIFY2(!answer.torch.isEmpty(), qPrintable(answer.problem));
    QVERIFY(!QFile::exists(folder_->filePath("here/was run")));
    (void)program("here/torch/version.py", "\n");
    (void)program("here/torch/__init__.py", "open('was run', 'w').close()\n");
    const InterpreterAnswer found =
        ask(QStringLiteral(HIGHWATER_TEST_PYTHON), folder_->filePath("here"));
    QVERIFY2(found.problem.contains("here/torch/version.py"), qPrintable(found.problem));
    QVERIFY(!QFile::exists(folder_->filePath("here/was run")));
  }

  void asksThePythonOfTheBuild() {
    const InterpreterAnswer answer = ask(HIGHWATER_TEST_PYTHON);
    QVERIFY2(answer.problem.isEmpty(), qPrintable(answer.problem));
    QCOMPARE(answer.program, QString(HIGHWATER_TEST_PYTHON));
    QCOMPARE(answer.version.count('.'), 2);
    QVERIFY(answer.torch.startsWith("2."));
    QVERIFY(answer.probeReady);
  }

  /// A module of the user's that prints at each start must not spoil the answer, and what lies in
  /// the folder must not be taken for Highwater's.
  void isNotConfusedByTheUsersFiles() {
    program("site/sitecustomize.py", "print('hello')\n");
    program("site/highwater.py", "raise SystemExit('not this one')\n");
    qputenv("PYTHONPATH", folder_->filePath("site").toLocal8Bit());
    const InterpreterAnswer answer = ask(HIGHWATER_TEST_PYTHON, folder_->filePath("site"));
    qunsetenv("PYTHONPATH");
    QVERIFY2(answer.problem.isEmpty(), qPrintable(answer.problem));
    QVERIFY(!answer.torch.isEmpty());
  }

  void saysWhatIsWrong() {
    // A Python without PyTorch: the build's own, which is kept from its packages.
    const QString bare = program("bare", "#!/bin/sh\nexec " HIGHWATER_TEST_PYTHON " -S \"$@\"\n");
    InterpreterAnswer answer = ask(bare);
    QVERIFY2(answer.problem.contains("has no PyTorch"), qPrintable(answer.problem));
    QVERIFY(!answer.version.isEmpty() && answer.torch.isEmpty() && !answer.probeReady);

    answer = ask(
        program("old", "#!/bin/sh\necho '{\"python\": \"2.7.18\", \"problem\": \"too old\"}'\n"));
    QCOMPARE(answer.problem, QString("too old"));
    answer = ask(program("none", "#!/bin/sh\nexit 0\n"));
    QVERIFY2(answer.problem.contains("not a Python"), qPrintable(answer.problem));
    answer = ask(program("broken", "#!/bin/sh\necho 'no libpython' >&2\nexit 1\n"));
    QVERIFY2(answer.problem.contains("no libpython"), qPrintable(answer.problem));
    answer = ask(folder_->filePath("missing"));
    QVERIFY2(answer.problem.contains("cannot be started"), qPrintable(answer.problem));
    QVERIFY(answer.version.isEmpty());
  }

  void doesNotWaitForEver() {
    const QString slow = program("slow", "#!/bin/sh\nexec sleep 1000\n");
    const InterpreterAnswer answer = ask(slow, {}, std::chrono::milliseconds(200));
    QVERIFY2(answer.problem.contains("no answer within 0.2 s"), qPrintable(answer.problem));
  }

  void onlyTheLastQuestionIsAnswered() {
    const QString slow = program("slow", "#!/bin/sh\nexec sleep 1000\n");
    InterpreterQuestion question;
    QStringList answered;
    connect(&question, &InterpreterQuestion::answered, &question,
            [&](const InterpreterAnswer& answer) { answered << answer.program; });
    question.ask(slow, {});
    const QString quick = program("quick", "#!/bin/sh\nexit 0\n");
    question.ask(quick, {});
    QTRY_COMPARE(answered, QStringList{quick});
    question.ask(slow, {});
    question.cancel();
    QTest::qWait(0);
    QCOMPARE(answered.size(), 1);
  }
};

HIGHWATER_TEST(TestInterpreters, QCoreApplication)
#include "tst_interpreters.moc"
