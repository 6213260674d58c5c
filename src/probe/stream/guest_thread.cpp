#include "probe/stream/guest_thread.h"

#include <pthread.h>

#include <csignal>
#include <exception>
#include <utility>

namespace highwater::probe {
namespace {

/// Blocks the signals of this thread while it exists, but not those that a fault of the thread
/// itself raises.
class BlockedProgramSignals {
 public:
  BlockedProgramSignals() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int each : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
      sigdelset(&blocked, each);
    }
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~BlockedProgramSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedProgramSignals(const BlockedProgramSignals&) = delete;
  BlockedProgramSignals& operator=(const BlockedProgramSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

std::thread startGuestThread(std::function<void()> body,
                             std::function<void(const std::string&)> failed) {
  const BlockedProgramSignals inherited;  // a thread begins with its creator's mask
  return std::thread([body = std::move(body), failed = std::move(failed)] {
    try {
      try {
        body();
      } catch (const std::exception& error) {
        failed(error.what());
      }
    } catch (const std::exception&) {  // no memory to say it
    }
  });
}

}  // namespace highwater::probe
