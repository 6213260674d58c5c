#include "session/start_signals.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>

namespace highwater::session {
namespace {

struct Noted {
  int signal = 0;
  volatile std::sig_atomic_t came = 0;
  bool isHandled = false;
  struct sigaction before {};
};

std::array<Noted, 2> entries = {{{.signal = SIGINT}, {.signal = SIGQUIT}}};
int instances = 0;
/// A forked child has the handlers until it sets its own, and must not act for this process.
volatile std::sig_atomic_t thisProcess = 0;

/// Async-signal-safe, as far as the handlers of before are.
extern "C" void noteSignal(int signal) {
  for (Noted& each : entries) {
    if (each.signal != signal) continue;
    each.came = 1;
    if (::getpid() == thisProcess) each.before.sa_handler(signal);
  }
}

}  // namespace

StartSignals::StartSignals() {
  if (instances++ > 0) return;
  thisProcess = ::getpid();
  for (Noted& each : entries) {
    each.came = 0;
    ::sigaction(each.signal, nullptr, &each.before);
    each.isHandled = each.before.sa_handler != SIG_DFL && each.before.sa_handler != SIG_IGN;
    if (!each.isHandled) continue;
    struct sigaction noting = each.before;
    noting.sa_handler = &noteSignal;
    ::sigaction(each.signal, &noting, nullptr);
  }
}

StartSignals::~StartSignals() {
  if (--instances > 0) return;
  for (const Noted& each : entries) {
    if (each.isHandled) ::sigaction(each.signal, &each.before, nullptr);
  }
}

void StartSignals::raiseNoted() {
  for (const Noted& each : entries) {
    if (each.came != 0) ::kill(::getpid(), each.signal);
  }
}

}  // namespace highwater::session
