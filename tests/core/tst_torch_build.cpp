#include "core/torch_build.h"
#include "support/test_program.h"

using namespace highwater;

namespace {
constexpr std::string_view kConfig =
    "PyTorch built with:\n  - Build settings: BLAS_INFO=mkl, TORCH_VERSION=2.13.0, USE_CUDA=0, ";
}

class TestTorchBuild : public QObject {
  Q_OBJECT

 private slots:
  void readsBuildSettings() {
    QCOMPARE(buildSetting(kConfig, "TORCH_VERSION"), std::string("2.13.0"));
    QCOMPARE(buildSetting(kConfig, "USE_CUDA"), std::string("0"));
    QCOMPARE(buildSetting(kConfig, "USE_XPU"), std::string());
    QCOMPARE(buildSetting("TORCH_VERSION=2.6.0", "TORCH_VERSION"), std::string("2.6.0"));
  }

  void comparesReleases() {
    for (const char* version : {"2.13.0", "2.13.0+cpu", "2.13.0a0+git1234"}) {
      QVERIFY2(isBuildOf(version, "2.13.0"), version);
    }
    for (const char* version : {"2.13.1", "2.13.01", "2.13.0.1", "2.6.0", "12.13.0", ""}) {
      QVERIFY2(!isBuildOf(version, "2.13.0"), version);
    }
  }

  void namesTheBlas_data() {
    QTest::addColumn<QString>("libraries");
    QTest::addColumn<QString>("blas");
    QTest::newRow("linked in") << "/lib/libtorch_cpu.so"
                               << "MKL (inside libtorch)";
    QTest::newRow("reference") << "/lib/libc.so.6 /usr/lib/blas/libblas.so.3.12.0"
                               << "reference BLAS (/usr/lib/blas/libblas.so.3.12.0)";
    QTest::newRow("Debian's OpenBLAS")
        << "/usr/lib/openblas-pthread/libblas.so.3 /usr/lib/libopenblasp-r0.3.29.so"
        << "OpenBLAS (/usr/lib/openblas-pthread/libblas.so.3)";
    QTest::newRow("a user named like one")
        << "/home/openblas/lib/libc.so.6 /home/atlas/libtorch_cpu.so"
        << "MKL (inside libtorch)";
    QTest::newRow("a wheel's") << "/torch.libs/libopenblas-r0-f650aae0.3.3.so"
                               << "OpenBLAS (/torch.libs/libopenblas-r0-f650aae0.3.3.so)";
    QTest::newRow("MKL") << "/opt/mkl/libmkl_core.so.2"
                         << "MKL (/opt/mkl/libmkl_core.so.2)";
  }
  void namesTheBlas() {
    QFETCH(QString, libraries);
    QFETCH(QString, blas);
    std::vector<std::string> paths;
    for (const QString& each : libraries.split(u' ')) paths.push_back(each.toStdString());
    QCOMPARE(QString::fromStdString(blasName(paths, kConfig)), blas);
  }
  void namesThePathOfEachSystem() {
    const std::string here = otherTorchText("2.13.0", "2.12.1", "/lib/libtorch_cpu.so", false);
    QVERIFY2(
        here.starts_with("this worker was built for PyTorch 2.13.0 and cannot run with PyTorch "
                         "2.12.1 (/lib/libtorch_cpu.so); remove that one from LD_LIBRARY_PATH,"),
        here.c_str());
    const std::string mac = otherTorchText("2.13.0", "2.12.1", "", true);
    QVERIFY2(mac.find("2.12.1; remove that one from DYLD_LIBRARY_PATH") != std::string::npos,
             mac.c_str());
  }
  void knowsNoBlas() { QCOMPARE(blasName({}, "nothing"), std::string()); }
};

HIGHWATER_TEST(TestTorchBuild, QCoreApplication)
#include "tst_torch_build.moc"
