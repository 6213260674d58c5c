#include <link.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <system_error>

#include "process/platform.h"

namespace highwater::process {
namespace {

int addLibrary(dl_phdr_info* info, std::size_t, void* libraries) {
  std::error_code error;
  const auto path = std::filesystem::canonical(info->dlpi_name, error);
  // The program itself has no name, the kernel's vdso no file.
  if (!error) static_cast<std::vector<std::string>*>(libraries)->push_back(path.string());
  return 0;
}

}  // namespace

std::string platformName() {
  utsname name{};
  if (::uname(&name) != 0) return "Linux";
  return std::string("Linux ") + name.machine;
}

std::filesystem::path programFolder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

std::vector<std::string> loadedLibraries() {
  std::vector<std::string> libraries;
  ::dl_iterate_phdr(&addLibrary, &libraries);
  return libraries;
}

std::string whyNoMetal() {
  return "there is no Metal on Linux";
}

void restart(char** argv) {
  std::error_code error;
  // Not /proc/self/exe itself: the process would be named "exe".
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) ::execv(program.c_str(), argv);
}

void restartWithPassiveOpenMp(char** argv) {
  constexpr const char* kVariable = "OMP_WAIT_POLICY";
  if (!std::getenv(kVariable) && ::setenv(kVariable, "PASSIVE", 1) == 0) restart(argv);
}

bool canSimulateMps() {
  return true;
}

}  // namespace highwater::process
