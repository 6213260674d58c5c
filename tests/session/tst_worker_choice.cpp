// Which worker an installation has, and which PyTorch a wheel's worker runs with.
#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include "session/worker_choice.h"
#include "support/test_program.h"

using namespace highwater;
using session::chooseWorker;

class TestWorkerChoice : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<QTemporaryDir> folder_;
  QProcessEnvironment environment_;

  QString path(const QString& name) const { return folder_->filePath(name); }
  void program(const QString& name, const QByteArray& content = "#!/bin/sh\n") const {
    QDir().mkpath(QFileInfo(path(name)).path());
    QFile made(path(name));
    QVERIFY(made.open(QIODevice::WriteOnly));
    made.write(content);
    made.setPermissions(made.permissions() | QFile::ExeOwner);
  }
  /// A Python whose PyTorch has this version.
  void python(const QString& name, const QByteArray& version) const {
    program(name, "#!/bin/sh\necho a line of a site hook\necho /torch/" + version + "\necho " +
                      version + "\n");
  }
  QString chosen() const {
    const auto choice = chooseWorker(path("bin"), environment_);
    return choice ? choice->program.mid(folder_->path().size() + 1) + ' ' + choice->torchLibraries
                  : QString::fromStdString(choice.error().message);
  }

 private slots:
  void init() {
    folder_ = std::make_unique<QTemporaryDir>();
    environment_ = QProcessEnvironment();
    environment_.insert("PATH", path("path"));
  }

  void theOneBesideTheProgramNeedsNoPython() {
    program("bin/highwater-worker");
    program("bin/highwater-worker-2.13.0");
    QCOMPARE(chosen(), "bin/highwater-worker ");
  }

  void theVariableComesFirst() {
    program("bin/highwater-worker");
    program("mine");
    environment_.insert("HIGHWATER_WORKER", path("mine"));
    QCOMPARE(chosen(), "mine ");
    environment_.insert("HIGHWATER_WORKER", path("gone"));
    QVERIFY(chosen().contains("gone, which does not exist"));
  }

  void withoutAWorkerItSaysSo() { QVERIFY(chosen().contains("there is no highwater-worker")); }

  void aWheelTakesTheFirstPythonThatHasAFittingTorch() {
    program("bin/highwater-worker-2.13.0");
    program("bin/highwater-worker-2.15.0");
    python("tool/bin/python", "2.13.0");
    environment_.insert("HIGHWATER_PYTHON", path("tool/bin/python"));
    QCOMPARE(chosen(), "bin/highwater-worker-2.13.0 /torch/2.13.0/lib");
    python("path/python3", "2.15.0+cpu");
    QCOMPARE(chosen(), "bin/highwater-worker-2.15.0 /torch/2.15.0+cpu/lib");
    python("active/bin/python", "2.13.0");
    environment_.insert("VIRTUAL_ENV", path("active"));
    QCOMPARE(chosen(), "bin/highwater-worker-2.13.0 /torch/2.13.0/lib");
  }

  void aCandidateIsNoRelease() {
    program("bin/highwater-worker-2.13.0");
    python("path/python3", "2.13.0rc1");
    python("tool/bin/python", "2.13.0+cpu");
    environment_.insert("HIGHWATER_PYTHON", path("tool/bin/python"));
    QCOMPARE(chosen(), "bin/highwater-worker-2.13.0 /torch/2.13.0+cpu/lib");
  }

  void theNewestIsAdvised() {
    program("bin/highwater-worker-2.13.0");
    program("bin/highwater-worker-2.9.1");
    QVERIFY2(chosen().contains("pip install torch==2.13.0"), qPrintable(chosen()));
  }

  void withoutAFittingTorchItSaysWhichAreThere() {
    program("bin/highwater-worker-2.13.0");
    QVERIFY2(chosen().contains("need PyTorch 2.13.0 (there is no python3 on the PATH)"),
             qPrintable(chosen()));
    python("path/python3", "2.6.0");
    program("tool/bin/python", "#!/bin/sh\nexit 1\n");
    environment_.insert("HIGHWATER_PYTHON", path("tool/bin/python"));
    QVERIFY2(chosen().contains("path/python3 with PyTorch 2.6.0, "), qPrintable(chosen()));
    QVERIFY2(chosen().contains("tool/bin/python without PyTorch); activate"), qPrintable(chosen()));
    QVERIFY2(chosen().contains("pip install torch==2.13.0"), qPrintable(chosen()));
  }

  void noModuleOfTheCurrentFolderIsRun() {
    const QString before = QDir::currentPath();
    program("here/re.py", "open('was run', 'w').close()\n");
    program("here/torch/version.py", "__version__ = '0.0.0'\n");
    QVERIFY(QDir::setCurrent(path("here")));
    aRealPythonIsAsked();
    // What `export PYTHONPATH=$PYTHONPATH:/foo` makes of one that was not set.
    qputenv("PYTHONPATH", ":/foo");
    aRealPythonIsAsked();
    qunsetenv("PYTHONPATH");
    QDir::setCurrent(before);
    QVERIFY(!QFile::exists(path("here/was run")));
  }

  void aRealPythonIsAsked() {
    const QString real = QStringLiteral(HIGHWATER_TEST_PYTHON);
    if (real.isEmpty()) QSKIP("the build has no Python");
    program("bin/highwater-worker-0.0.0");
    environment_ = QProcessEnvironment::systemEnvironment();
    environment_.remove("HIGHWATER_WORKER");
    environment_.remove("VIRTUAL_ENV");
    environment_.insert("PATH", path("path"));
    environment_.insert("HIGHWATER_PYTHON", real);
    QVERIFY2(chosen().contains(real + " with PyTorch 2."), qPrintable(chosen()));
  }
};

HIGHWATER_TEST(TestWorkerChoice, QCoreApplication)
#include "tst_worker_choice.moc"
