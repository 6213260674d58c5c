#include "cli/stop_signals.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>

namespace highwater::cli {
namespace {

constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
int pipeEnds[2] = {-1, -1};

/// Async-signal-safe: writes one byte into a non-blocking pipe.
void onSignal(int signal) {
  const char byte = static_cast<char>(signal);
  [[maybe_unused]] const ssize_t written = ::write(pipeEnds[1], &byte, 1);
}

void handleWith(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (const int signal : kSignals) {
    struct sigaction before {};
    ::sigaction(signal, nullptr, &before);
    // With nohup, the end of the terminal must not end the run.
    if (signal == SIGHUP && before.sa_handler == SIG_IGN) continue;
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace

StopSignals::StopSignals(QObject* parent) : QObject(parent) {
  if (::pipe(pipeEnds) != 0) return;
  for (const int fd : pipeEnds) {
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    ::fcntl(fd, F_SETFL, O_NONBLOCK);
  }
  notifier_ = std::make_unique<QSocketNotifier>(pipeEnds[0], QSocketNotifier::Read);
  connect(notifier_.get(), &QSocketNotifier::activated, this, &StopSignals::readPending);
  handleWith(onSignal);
}

StopSignals::~StopSignals() {
  handleWith(SIG_DFL);
  notifier_.reset();
  for (int& fd : pipeEnds) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
}

bool StopSignals::readPending() {
  const int before = count_;
  char byte = 0;
  while (::read(pipeEnds[0], &byte, 1) == 1) emit stopRequested(++count_, byte);
  return count_ > before;
}

}  // namespace highwater::cli
