#include "bench/reader_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace highwater::bench {
namespace {

[[noreturn]] void readToTheEnd(int fd) {
  std::array<char, 65536> buffer;
  ssize_t count = 0;
  do {
    count = ::read(fd, buffer.data(), buffer.size());
  } while (count > 0 || (count < 0 && errno == EINTR));
  ::_exit(0);
}

}  // namespace

ReaderProcess::ReaderProcess() {
  ::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  child_ = ::fork();
  if (child_ == 0) {
    ::close(ends[1]);
    readToTheEnd(ends[0]);
  }
  ::close(ends[0]);
  writeEnd_ = ends[1];
}

ReaderProcess::~ReaderProcess() {
  if (writeEnd_ >= 0) ::close(writeEnd_);
  if (child_ > 0) ::waitpid(child_, nullptr, 0);
}

}  // namespace highwater::bench
