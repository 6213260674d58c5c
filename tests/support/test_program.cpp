#include "support/test_program.h"

#include <QTemporaryDir>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>

namespace highwater::testing {
namespace {

// Function-local, because other files register before this one's globals are made.
std::map<std::string, TestMain>& registeredTests() {
  static std::map<std::string, TestMain> tests;
  return tests;
}

}  // namespace

bool registerTestProcess(const char* name, TestMain run) {
  return registeredTests().emplace(name, run).second;
}

bool registerTest(const char* file, TestMain run) {
  std::string_view name = file;
  name.remove_prefix(name.rfind("tst_") + std::string_view("tst_").size());
  name.remove_suffix(std::string_view(".cpp").size());
  return registerTestProcess(std::string(name).c_str(), run);
}

}  // namespace highwater::testing

int main(int argc, char** argv) {
  const auto& tests = highwater::testing::registeredTests();
  const auto test = argc < 2 ? tests.end() : tests.find(argv[1]);
  if (test == tests.end()) {
    std::fprintf(stderr, "usage: %s CLASS [arguments of Qt Test]\nclasses:", argv[0]);
    for (const auto& [name, run] : tests) std::fprintf(stderr, " %s", name.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  // Tests that run side by side must not see each other's recordings and settings, nor the user's.
  const QTemporaryDir home;
  for (const char* each : {"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"}) {
    qputenv(each, home.path().toLocal8Bit());
  }
  // Qt Test sees the arguments behind the class's name.
  argv[1] = argv[0];
  return test->second(argc - 1, argv + 1);
}
