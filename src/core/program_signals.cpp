#include "core/program_signals.h"

#include <pthread.h>

#include <initializer_list>

namespace highwater {

BlockedProgramSignals::BlockedProgramSignals() {
  sigset_t blocked;
  sigfillset(&blocked);
  for (const int each : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
    sigdelset(&blocked, each);
  }
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before_);
}

BlockedProgramSignals::~BlockedProgramSignals() {
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace highwater
