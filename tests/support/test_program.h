#pragma once

// What nearly every test uses: this header is precompiled, and no test includes these again.
#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QtTest>
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/wait_limit.h"

// These give up after 5 s, which a busy machine needs for what takes milliseconds on an idle one.
#undef QTRY_VERIFY
#undef QTRY_VERIFY2
#undef QTRY_COMPARE
#define QTRY_VERIFY(condition) QTRY_VERIFY_WITH_TIMEOUT(condition, ::highwater::test::kWaitMs)
#define QTRY_VERIFY2(condition, message) \
  QTRY_VERIFY2_WITH_TIMEOUT(condition, message, ::highwater::test::kWaitMs)
#define QTRY_COMPARE(actual, expected) \
  QTRY_COMPARE_WITH_TIMEOUT(actual, expected, ::highwater::test::kWaitMs)

namespace highwater::testing {

/// The main() of one class of tests; argv has no class name any more.
using TestMain = int (*)(int argc, char** argv);

/// Registers `run` in this program, before main(), under the name of the file: NAME for
/// tst_NAME.cpp. `file` is __FILE__. Returns true, so that a global variable can be initialized
/// with it.
bool registerTest(const char* file, TestMain run);

/// The same under `name`: for a process that a test starts out of its own program.
bool registerTestProcess(const char* name, TestMain run);

/// What QTEST_MAIN does: makes the application, and runs all slots of the class.
template <typename Test, typename Application>
int runTestClass(int argc, char** argv) {
  QTest::Internal::callInitMain<Test>();
  Application application(argc, argv);
  application.setAttribute(Qt::AA_Use96Dpi, true);
  Test test;
  return QTest::qExec(&test, argc, argv);
}

}  // namespace highwater::testing

/// HIGHWATER_TEST(Class, Application) takes the place of QTEST_MAIN. All test classes of a folder
/// are one program, tst_FOLDER, whose first argument names the file of the class to run: `tst_views
/// panes` runs that of tst_panes.cpp. Each is an entry of ctest (tests/CMakeLists.txt).
/// `Application` is QCoreApplication, or QApplication where there are widgets.
#define HIGHWATER_TEST(Class, Application)                                                   \
  [[maybe_unused]] static const bool Class##IsRegistered = highwater::testing::registerTest( \
      __FILE__, &highwater::testing::runTestClass<Class, Application>);
