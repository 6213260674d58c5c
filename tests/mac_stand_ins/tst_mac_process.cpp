// What a process on a Mac finds out about itself, with scripted answers of the system.
#include <filesystem>
#include <fstream>

#include "mac_stand_ins/mac.h"
#include "probe/call_sites/own_process.h"
#include "process/platform.h"
#include "support/test_program.h"

using namespace highwater;
using highwater::test::mac;

class TestMacProcess : public QObject {
  Q_OBJECT

 private slots:
  void init() {
    const auto removed = mac().removed;  // registered once for the life of the process
    mac() = {};
    mac().removed = removed;
  }

  void namesThePlatform() {
    mac().sysctls["kern.osproductversion"] = std::string("14.5\0", 5);
    QVERIFY(process::platformName().starts_with("macOS 14.5 "));
    mac().sysctls.clear();
    QVERIFY(process::platformName().starts_with("macOS  "));
  }

  void findsItsFolder() {
    QTemporaryDir folder;
    const std::filesystem::path real = folder.path().toStdString();
    std::filesystem::create_directory(real / "bin");
    std::ofstream(real / "bin" / "program") << "x";
    std::filesystem::create_symlink(real / "bin" / "program", real / "link");
    mac().executable = (real / "link").string();
    QCOMPARE(process::programFolder(), std::filesystem::canonical(real / "bin"));
    mac().executable = "/gone/program";
    QCOMPARE(process::programFolder(), std::filesystem::path("/gone"));
    mac().executable.clear();
    QVERIFY(process::programFolder().empty());
  }

  /// An image may be unloaded between the count and the question for its name.
  void listsTheLibrariesThatAreStillLoaded() {
    mac().images = {"/usr/lib/libobjc.A.dylib", nullptr, "/x/libtorch_cpu.dylib"};
    QCOMPARE(process::loadedLibraries(),
             (std::vector<std::string>{"/usr/lib/libobjc.A.dylib", "/x/libtorch_cpu.dylib"}));
  }

  void saysWhyThereIsNoMetal() {
    mac().setSysctl("sysctl.proc_translated", 1);
    QVERIFY(process::whyNoMetal().find("Rosetta") != std::string::npos);
    // Another size than an int's is no answer.
    mac().setSysctl("sysctl.proc_translated", std::int64_t{1});
    QVERIFY(process::whyNoMetal().find("Rosetta") == std::string::npos);
    mac().setSysctl("sysctl.proc_translated", 0);
#if defined(__arm64__)
    mac().sysctls["kern.osproductversion"] = std::string("13.6\0", 5);
    QVERIFY(process::whyNoMetal().find("13.6 is too old") != std::string::npos);
    mac().sysctls.clear();
    QVERIFY(process::whyNoMetal().empty());
#else
    QVERIFY(process::whyNoMetal().find("Apple processor") != std::string::npos);
#endif
    QVERIFY(!process::canSimulateMps());
  }

  void countsLibrariesThatAreUnloaded() {
    const std::uint64_t before = probe::unloadedLibraries();
    QVERIFY(mac().removed != nullptr);
    mac().removed(nullptr, 0);
    mac().removed(nullptr, 0);
    QCOMPARE(probe::unloadedLibraries(), before + 2);
  }

  void findsTheLibraryOfAnAddress() {
    static const int here = 0;
    const auto own = probe::libraryAt(&here);
    QVERIFY(own.base != nullptr && !own.file.empty());
    QVERIFY(probe::libraryAt(nullptr).base == nullptr);
  }

  void lowersItsPriorityByQualityOfService() {
    probe::lowerThreadPriority();
    QCOMPARE(mac().qosClass.value(), 0x11);
  }
};

HIGHWATER_TEST(TestMacProcess, QCoreApplication)
#include "tst_mac_process.moc"
