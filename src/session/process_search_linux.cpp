#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include "session/process_search.h"

namespace highwater::session {

std::vector<pid_t> processesWithEnvironment(const std::string& entry) {
  std::vector<pid_t> found;
  std::error_code error;
  for (auto each = std::filesystem::directory_iterator("/proc", error);
       !error && each != std::filesystem::directory_iterator(); each.increment(error)) {
    const std::string name = each->path().filename().string();
    pid_t id = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), id);
    if (problem != std::errc() || *end != '\0' || id == ::getpid()) continue;
    std::ifstream file(each->path() / "environ", std::ios::binary);
    const std::string environment{std::istreambuf_iterator<char>(file), {}};
    if (holdsEntry(environment, entry)) found.push_back(id);
  }
  return found;
}

bool isRunning(pid_t id) {
  std::ifstream file("/proc/" + std::to_string(id) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return false;
  // "4711 (name) S ...": the name may contain anything, the state is Z for an ended process.
  const std::size_t name = line.rfind(')');
  return name != std::string::npos && name + 2 < line.size() && line[name + 2] != 'Z';
}

}  // namespace highwater::session
