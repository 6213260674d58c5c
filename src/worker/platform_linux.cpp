#include <sys/utsname.h>

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

std::string whyNoMetal() { return "there is no Metal on Linux"; }

bool canSimulateMps() { return true; }

}  // namespace highwater::worker
