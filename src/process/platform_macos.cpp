#include <mach-o/dyld.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include <cstdlib>
#include <system_error>

#include "process/platform.h"

namespace highwater::process {
namespace {

constexpr int kFirstMacosWithMps = 14;  // what PyTorch 2.9 and later ask for

std::string readText(const char* name) {
  std::size_t size = 0;
  if (::sysctlbyname(name, nullptr, &size, nullptr, 0) != 0 || size == 0) return {};
  std::string text(size, '\0');
  if (::sysctlbyname(name, text.data(), &size, nullptr, 0) != 0) return {};
  text.resize(size > 0 ? size - 1 : 0);  // without the terminating null
  return text;
}

/// An Intel build under Rosetta says x86_64 here and runs on an Apple processor.
bool isTranslated() {
  int translated = 0;
  std::size_t size = sizeof translated;
  return ::sysctlbyname("sysctl.proc_translated", &translated, &size, nullptr, 0) == 0 &&
         translated == 1;
}

std::string architecture() {
#if defined(__arm64__)
  return "arm64";
#else
  return "x86_64";
#endif
}

/// The path the system started the program with; empty where unknown.
std::string programPath() {
  std::uint32_t size = 0;
  ::_NSGetExecutablePath(nullptr, &size);
  std::string path(size, '\0');
  if (::_NSGetExecutablePath(path.data(), &size) != 0) return {};
  path.resize(path.find('\0') == std::string::npos ? path.size() : path.find('\0'));
  return path;
}

}  // namespace

std::string platformName() {
  return "macOS " + readText("kern.osproductversion") + " " + architecture();
}

std::filesystem::path programFolder() {
  const std::string path = programPath();
  if (path.empty()) return {};
  std::error_code error;
  const auto resolved = std::filesystem::canonical(path, error);
  return (error ? std::filesystem::path(path) : resolved).parent_path();
}

std::vector<std::string> loadedLibraries() {
  std::vector<std::string> libraries;
  for (std::uint32_t i = 0; i < ::_dyld_image_count(); ++i) {
    if (const char* path = ::_dyld_get_image_name(i)) libraries.emplace_back(path);
  }
  return libraries;
}

std::string whyNoMetal() {
  if (isTranslated()) return "this is a program for Intel under Rosetta, use the arm64 build";
  if (architecture() != "arm64") return "PyTorch's MPS needs an Apple processor, this is x86_64";
  const std::string version = readText("kern.osproductversion");
  if (!version.empty() && std::atoi(version.c_str()) < kFirstMacosWithMps) {
    return "macOS " + version + " is too old, MPS needs " + std::to_string(kFirstMacosWithMps);
  }
  return {};
}

void restart(char** argv) {
  const std::string program = programPath();
  if (!program.empty()) ::execv(program.c_str(), argv);
}

void restartWithPassiveOpenMp(char** /*argv*/) {}

bool canSimulateMps() {
  return false;
}

}  // namespace highwater::process
