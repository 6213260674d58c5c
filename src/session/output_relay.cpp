#include "session/output_relay.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "session/frame_channel.h"

namespace highwater::session {
namespace {

constexpr int kHighestFd = 65'536;

Error systemError(const char* what) {
  return {ErrorCode::kFailed, std::string(what) + ": " + std::strerror(errno)};
}

/// What is read, and where it would have gone.
struct Stream {
  int from = -1;
  int to = -1;
};

/// The window size of the terminal `from`, for the terminal `to`.
void copySize(int from, int to) {
  winsize size{};
  if (::ioctl(from, TIOCGWINSZ, &size) == 0) ::ioctl(to, TIOCSWINSZ, &size);
}

volatile sig_atomic_t resized = 0;
extern "C" void noteResize(int) {
  resized = 1;
}

/// Everything from here to runRelay() runs in a forked child of a program with threads: only
/// async-signal-safe calls are allowed.
void writeAll(int fd, const char* bytes, std::size_t size, bool mayDrop) {
  while (size > 0) {
    const ssize_t written = ::write(fd, bytes, size);
    if (written < 0 && errno == EAGAIN && mayDrop) return;
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) {
      pollfd ready{fd, POLLOUT, 0};
      if (errno == EAGAIN) ::poll(&ready, 1, -1);
      continue;
    }
    if (written <= 0) return;  // the terminal is gone; the program shall not notice
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
}

/// Copies what `stream` has ready. Returns false at its end.
bool copyOnce(const Stream& stream, int copy, bool mayDrop) {
  std::array<char, 16'384> buffer;
  const ssize_t got = ::read(stream.from, buffer.data(), buffer.size());
  if (got < 0) return errno == EINTR || errno == EAGAIN;  // EIO: nobody has the terminal open
  if (got == 0) return false;
  const auto size = static_cast<std::size_t>(got);
  writeAll(stream.to, buffer.data(), size, mayDrop);
  // Its reader may hang. MSG_DONTWAIT would not do: macOS looks at the socket's own flag only.
  ::send(copy, buffer.data(), size, 0);
  return true;
}

[[noreturn]] void runRelay(std::array<Stream, 2> streams, int copy, bool mayDrop) {
  // They are the program's; the relay ends when the program's output does.
  for (const int each : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(each, SIG_IGN);
  struct sigaction resize {};
  resize.sa_handler = &noteResize;
  ::sigaction(SIGWINCH, &resize, nullptr);
  const long limit = ::sysconf(_SC_OPEN_MAX);
  const int end = limit > 0 && limit < kHighestFd ? static_cast<int>(limit) : kHighestFd;
  for (int fd = STDERR_FILENO + 1; fd < end; ++fd) {
    const bool isOurs = fd == copy || fd == streams[0].from || fd == streams[1].from;
    if (!isOurs) ::close(fd);
  }
  while (streams[0].from >= 0 || streams[1].from >= 0) {
    std::array<pollfd, 2> ready{pollfd{streams[0].from, POLLIN, 0},
                                pollfd{streams[1].from, POLLIN, 0}};
    const int count = ::poll(ready.data(), ready.size(), -1);
    if (resized) {
      resized = 0;
      copySize(STDOUT_FILENO, streams[0].from);
    }
    if (count < 0 && errno != EINTR) break;
    for (std::size_t i = 0; count > 0 && i < ready.size(); ++i) {
      if (ready[i].revents != 0 && !copyOnce(streams[i], copy, mayDrop)) streams[i].from = -1;
    }
  }
  ::_exit(0);
}

bool isOneTerminal() {
  struct stat out {
  }, err{};
  return ::isatty(STDOUT_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1 &&
         ::fstat(STDOUT_FILENO, &out) == 0 && ::fstat(STDERR_FILENO, &err) == 0 &&
         out.st_rdev == err.st_rdev;
}

/// As by "> file 2>&1".
bool isOneFile() {
  struct stat out {
  }, err{};
  return ::fstat(STDOUT_FILENO, &out) == 0 && ::fstat(STDERR_FILENO, &err) == 0 &&
         out.st_dev == err.st_dev && out.st_ino == err.st_ino;
}

bool goesNowhere(int fd) {
  struct stat file {
  }, null{};
  if (::fstat(fd, &file) != 0) return true;
  return ::stat("/dev/null", &null) == 0 && S_ISCHR(file.st_mode) && file.st_rdev == null.st_rdev;
}

struct Pair {
  UniqueFd read, write;
};

Result<Pair> makePipe() {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return systemError("no pipe for the program's output");
  return Pair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

/// A terminal that passes bytes through as they are: its output would otherwise be changed twice.
Result<Pair> makeTerminal() {
  UniqueFd master(::posix_openpt(O_RDWR | O_NOCTTY));
  if (!master.valid() || ::grantpt(master.get()) != 0 || ::unlockpt(master.get()) != 0) {
    return systemError("no terminal for the program's output");
  }
  UniqueFd slave(::open(::ptsname(master.get()), O_RDWR | O_NOCTTY));
  termios modes{};
  if (!slave.valid() || ::tcgetattr(slave.get(), &modes) != 0) {
    return systemError("no terminal for the program's output");
  }
  ::cfmakeraw(&modes);
  ::tcsetattr(slave.get(), TCSANOW, &modes);
  winsize size{40, 120, 0, 0};
  ::ioctl(slave.get(), TIOCSWINSZ, &size);
  copySize(STDOUT_FILENO, slave.get());
  return Pair{std::move(master), std::move(slave)};
}

void closeOnExec(const UniqueFd& fd) {
  ::fcntl(fd.get(), F_SETFD, FD_CLOEXEC);
}

/// Forks twice, so that the relay is nobody's child to wait for.
Result<void> forkRelay(const std::array<Stream, 2>& streams, int copy, bool mayDrop) {
  const pid_t first = ::fork();
  if (first < 0) return systemError("no process for the program's output");
  if (first == 0) {
    const pid_t relay = ::fork();
    if (relay == 0) runRelay(streams, copy, mayDrop);
    ::_exit(relay < 0 ? 1 : 0);
  }
  int status = 0;
  while (::waitpid(first, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0 ? Result<void>() : failure("no process for the program's output");
}

}  // namespace

Result<OutputRelay> OutputRelay::start(bool mayDrop) {
  auto copies = socketPair();
  if (!copies) return copies.error();
  auto& [ours, theirs] = *copies;
  OutputRelay relay;
  UniqueFd outEnd, errEnd;
  const bool isTerminal =
      isOneTerminal() || (goesNowhere(STDOUT_FILENO) && goesNowhere(STDERR_FILENO));
  if (isTerminal || isOneFile()) {
    auto both = isTerminal ? makeTerminal() : makePipe();
    if (!both) return both.error();
    outEnd = std::move(both->read);
    relay.err = UniqueFd(::fcntl(both->write.get(), F_DUPFD_CLOEXEC, 0));
    relay.out = std::move(both->write);
  } else {
    auto out = makePipe();
    if (!out) return out.error();
    auto err = makePipe();
    if (!err) return err.error();
    outEnd = std::move(out->read);
    relay.out = std::move(out->write);
    errEnd = std::move(err->read);
    relay.err = std::move(err->write);
  }
  for (const UniqueFd* each : {&outEnd, &errEnd, &relay.out, &relay.err, &ours, &theirs}) {
    if (each->valid()) closeOnExec(*each);
  }
  for (const UniqueFd* each : {&ours, &theirs}) ::fcntl(each->get(), F_SETFL, O_NONBLOCK);
  const std::array streams{Stream{outEnd.get(), STDOUT_FILENO},
                           Stream{errEnd.get(), STDERR_FILENO}};
  if (auto forked = forkRelay(streams, theirs.get(), mayDrop); !forked) return forked.error();
  relay.copy = std::move(ours);
  return relay;
}

}  // namespace highwater::session
