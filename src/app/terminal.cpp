#include "app/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <QString>
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "session/line_log.h"

namespace highwater::app {

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

void printError(std::string_view message) {
  // A message may quote a damaged file. Its lines are ours, its other control characters are not.
  std::string text = "highwater: ";
  for (std::size_t begin = 0; begin <= message.size();) {
    const std::size_t end = std::min(message.find('\n', begin), message.size());
    text += plain(message.substr(begin, end - begin)) + '\n';
    begin = end + 1;
  }
  std::fputs(text.c_str(), stderr);
}

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

std::string plain(std::string_view text) {
  return session::plainText(QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())))
      .toStdString();
}

}  // namespace highwater::app
