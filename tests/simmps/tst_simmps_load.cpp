#include "support/run_program.h"
#include "support/test_program.h"

using highwater::test::runProgram;

/// Which processes the simulated device accepts, tested with fake libtorchs.
class SimmpsLoad : public QObject {
  Q_OBJECT

 private:
  static highwater::test::Outcome load(const QStringList& libraries) {
    highwater::test::Outcome outcome = runProgram(SIMMPS_LOAD, libraries);
    outcome.out += outcome.err;
    return outcome;
  }

  /// A libtorch in its own folder; `file` beside its lib folder tells the version.
  static QString fakeTorch(const QTemporaryDir& folder, const QString& file,
                           const QByteArray& text) {
    QDir(folder.path()).mkpath("lib");
    const QString library = folder.filePath("lib/libtorch_cpu.so");
    if (!QFile::copy(SIMMPS_FAKE_TORCH, library)) return {};
    if (file.isEmpty()) return library;
    QFile out(folder.filePath(file));
    if (!out.open(QIODevice::WriteOnly)) return {};
    out.write(text);
    return library;
  }

 private slots:
  void refusesAnotherLibtorch_data() {
    QTest::addColumn<QString>("file");
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QString>("version");
    QTest::newRow("wheel") << "version.py"
                           << QByteArray("from typing import Optional\n__version__ = '1.6.0+cpu'\n")
                           << "1.6.0+cpu";
    QTest::newRow("archive") << "build-version" << QByteArray("2.7.1+cu126\n") << "2.7.1+cu126";
    QTest::newRow("longer") << "build-version" << QByteArray(SIMMPS_TORCH_VERSION "1\n")
                            << SIMMPS_TORCH_VERSION "1";
    QTest::newRow("no file") << QString() << QByteArray() << "1.6.0";
  }
  void refusesAnotherLibtorch() {
    QFETCH(QString, file);
    QFETCH(QByteArray, text);
    QFETCH(QString, version);
    const QTemporaryDir folder;
    const QString torch = fakeTorch(folder, file, text);
    QVERIFY(!torch.isEmpty());
    const highwater::test::Outcome outcome = load({torch, SIMMPS_LIBRARY});
    QCOMPARE(outcome.exitCode, 1);
    QVERIFY2(outcome.out.contains("was built for libtorch " SIMMPS_TORCH_VERSION
                                  " and cannot run in libtorch " +
                                  version + " (" + torch + ")"),
             qPrintable(outcome.out));
    QCOMPARE(outcome.out.contains("touched a symbol"), file.isEmpty());
  }

  void opensTheDeviceForItsOwnLibtorch() {
    // The version fits, so the device is opened. Its loader either misses PyTorch's symbols or
    // finds those of the real libtorch, but the version is not refused.
    const QTemporaryDir folder;
    const QString torch =
        fakeTorch(folder, "version.py", "__version__ = '" SIMMPS_TORCH_VERSION "+cpu'\n");
    const highwater::test::Outcome outcome = load({torch, SIMMPS_LIBRARY});
    QVERIFY2(!outcome.out.contains("was built for"), qPrintable(outcome.out));
  }

  void refusesWithoutLibtorch() {
    const highwater::test::Outcome outcome = load({SIMMPS_LIBRARY});
    QCOMPARE(outcome.exitCode, 1);
    QVERIFY2(outcome.out.contains("no libtorch is loaded in this process"),
             qPrintable(outcome.out));
    QVERIFY2(outcome.out.contains("import torch before"), qPrintable(outcome.out));
  }

  void refusesWhereTheDeviceIsMissing() {
    const QTemporaryDir folder;
    const QString alone = folder.filePath("libhighwater_simmps.so");
    QVERIFY(QFile::copy(SIMMPS_LIBRARY, alone));
    const QString torch =
        fakeTorch(folder, "version.py", "__version__ = '" SIMMPS_TORCH_VERSION "'\n");
    const highwater::test::Outcome outcome = load({torch, alone});
    QCOMPARE(outcome.exitCode, 1);
    QVERIFY2(outcome.out.contains("cannot be loaded: ") &&
                 outcome.out.contains("libhighwater_simmps_device.so"),
             qPrintable(outcome.out));
  }
};

HIGHWATER_TEST(SimmpsLoad, QCoreApplication)
#include "tst_simmps_load.moc"
