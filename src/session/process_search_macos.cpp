#include <sys/proc.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include <cstddef>

#include "session/process_search.h"

namespace highwater::session {
namespace {

std::vector<kinfo_proc> processesOfThisUser() {
  int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_UID, static_cast<int>(::geteuid())};
  std::size_t bytes = 0;
  if (::sysctl(name, 4, nullptr, &bytes, nullptr, 0) != 0) return {};
  // Some room for processes that start meanwhile.
  std::vector<kinfo_proc> processes(bytes / sizeof(kinfo_proc) + 64);
  bytes = processes.size() * sizeof(kinfo_proc);
  if (::sysctl(name, 4, processes.data(), &bytes, nullptr, 0) != 0) return {};
  processes.resize(bytes / sizeof(kinfo_proc));
  return processes;
}

/// The process's arguments and environment, each string ended by a NUL; empty if not readable.
std::string argumentsAndEnvironment(pid_t id) {
  int name[] = {CTL_KERN, KERN_PROCARGS2, id};
  std::size_t bytes = 0;
  if (::sysctl(name, 3, nullptr, &bytes, nullptr, 0) != 0) return {};
  std::string block(bytes, '\0');
  if (::sysctl(name, 3, block.data(), &bytes, nullptr, 0) != 0) return {};
  block.resize(bytes);
  return block;
}

}  // namespace

std::vector<pid_t> processesWithEnvironment(const std::string& entry) {
  std::vector<pid_t> found;
  for (const kinfo_proc& process : processesOfThisUser()) {
    const pid_t id = process.kp_proc.p_pid;
    if (id != ::getpid() && holdsEntry(argumentsAndEnvironment(id), entry)) found.push_back(id);
  }
  return found;
}

bool isRunning(pid_t id) {
  int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, id};
  kinfo_proc process{};
  std::size_t bytes = sizeof process;
  return ::sysctl(name, 4, &process, &bytes, nullptr, 0) == 0 && bytes > 0 &&
         process.kp_proc.p_stat != SZOMB;
}

}  // namespace highwater::session
