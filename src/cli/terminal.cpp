#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/exit_codes.h"
#include "core/plain_text.h"

namespace highwater::cli {

Terminal terminalOf(std::FILE* stream) {
  Terminal terminal;
  const int fd = ::fileno(stream);
  const char* kind = std::getenv("TERM");
  const bool dumb = kind != nullptr && std::strcmp(kind, "dumb") == 0;
  terminal.interactive = ::isatty(fd) == 1 && !dumb;
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) terminal.columns = size.ws_col;
  const char* noColor = std::getenv("NO_COLOR");
  terminal.color = terminal.interactive && (noColor == nullptr || *noColor == '\0');
  return terminal;
}

std::size_t textWidth(std::FILE* stream) {
  constexpr long kLeast = 40, kMost = 100'000;
  const char* columns = std::getenv("COLUMNS");
  char* end = nullptr;
  const long asked = columns != nullptr ? std::strtol(columns, &end, 10) : 0;
  const bool usable = asked > 0 && *end == '\0';
  const long width = usable ? std::min(asked, kMost) : terminalOf(stream).columns;
  return static_cast<std::size_t>(std::max(width, kLeast));
}

Seat ownSeat() {
  const auto isSet = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0';
  };
  Seat seat;
#if defined(__APPLE__)
  seat.isMac = true;
#endif
  seat.isBySsh = isSet("SSH_CONNECTION");
  // The console belongs to whoever is logged in at the screen, else to root.
  struct stat console {};
  seat.isAtConsole = ::stat("/dev/console", &console) == 0 && console.st_uid == ::getuid();
  seat.hasServer = isSet("DISPLAY") || isSet("WAYLAND_DISPLAY");
  seat.namesPlatform = std::getenv("QT_QPA_PLATFORM") != nullptr;
  return seat;
}

bool hasDisplay(const Seat& seat) {
  return seat.namesPlatform || (seat.isMac ? !seat.isBySsh : seat.hasServer);
}

bool canShowWindow(const Seat& seat) {
  return hasDisplay(seat) || (seat.isMac && seat.isAtConsole);
}

void printError(std::string_view message) {
  // A message may quote a damaged file: only its line feeds are trusted.
  std::string text = "highwater: ";
  for (std::size_t begin = 0; begin <= message.size();) {
    const std::size_t end = std::min(message.find('\n', begin), message.size());
    text += plainText(message.substr(begin, end - begin)) + '\n';
    begin = end + 1;
  }
  std::fputs(text.c_str(), stderr);
}

int failWith(const Error& error) {
  printError(error.message);
  return error.code == ErrorCode::kUsage ? kExitUsage : kExitFailed;
}

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace highwater::cli
