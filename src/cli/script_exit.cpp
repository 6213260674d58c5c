#include "cli/script_exit.h"

#include <sys/resource.h>

#include <csignal>

namespace highwater::cli {

int exitAs(const session::ProcessExit& exit) {
  if (exit.signal == 0) return exit.exitCode;
  // The core is the program's to leave, and it has.
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  std::signal(exit.signal, SIG_DFL);
  std::raise(exit.signal);
  return session::shellExitCode(exit);
}

}  // namespace highwater::cli
