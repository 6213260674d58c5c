#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <system_error>

#include "worker/platform.h"

namespace highwater::worker {

std::string platformName() {
  utsname name{};
  if (::uname(&name) != 0) return "Linux";
  return std::string("Linux ") + name.machine;
}

std::filesystem::path programFolder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
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

}  // namespace highwater::worker
