#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace highwater::session {

/// Finds the ids of all running processes that were started with `entry` ("NAME=VALUE") in their
/// environment, this process excluded. Finds processes of this user only; one that overwrote its
/// environment is missed, on macOS also a program of the system itself, such as /bin/sleep.
[[nodiscard]] std::vector<pid_t> processesWithEnvironment(const std::string& entry);

/// Whether the process runs; false for one that has ended and that nobody has waited for yet.
[[nodiscard]] bool isRunning(pid_t id);

/// True if `entry` ("NAME=VALUE") is in `block`, the environment of a process as one string in
/// which each entry ends with a NUL.
[[nodiscard]] inline bool holdsEntry(const std::string& block, const std::string& entry) {
  const std::string needle = '\0' + entry + '\0';
  return ('\0' + block).find(needle) != std::string::npos;
}

}  // namespace highwater::session
