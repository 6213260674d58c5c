#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace highwater::app {

/// What a stream of ours leads to.
struct Terminal {
  bool interactive = false;  ///< a terminal that can redraw a line
  int columns = 80;
  bool color = false;  ///< interactive, and $NO_COLOR is not set
};

[[nodiscard]] Terminal terminalOf(std::FILE* stream);

/// "highwater: message" on stderr.
void printError(std::string_view message);

/// Text to stdout, flushed: whoever reads a pipe sees it as it happens.
void print(std::string_view text);

/// `text` without control characters, so that names out of a recording cannot steer the terminal.
[[nodiscard]] std::string plain(std::string_view text);

}  // namespace highwater::app
