#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

#include "core/result.h"

namespace highwater::cli {

/// The properties of the terminal that a stream leads to.
struct Terminal {
  bool interactive = false;  ///< a terminal that can redraw a line
  int columns = 80;
  bool color = false;  ///< interactive, and $NO_COLOR is not set
};

/// Finds out whether `stream` (stdout or stderr) is a terminal, and its width in columns.
[[nodiscard]] Terminal terminalOf(std::FILE* stream);

/// The width, in columns, that text on `stream` is wrapped to: $COLUMNS, else the terminal's, else
/// 80. At least 40.
[[nodiscard]] std::size_t textWidth(std::FILE* stream);

/// What tells whether this process can show windows.
struct Seat {
  bool isMac = false;
  bool isBySsh = false;
  bool isAtConsole = false;    ///< a Mac at whose screen this user is logged in
  bool hasServer = false;      ///< of X11 or Wayland
  bool namesPlatform = false;  ///< QT_QPA_PLATFORM is set, say to offscreen
};
[[nodiscard]] Seat ownSeat();

/// Whether a user expects windows here: not by ssh on a Mac, and on Linux only with a display, or
/// where QT_QPA_PLATFORM is set.
[[nodiscard]] bool hasDisplay(const Seat& seat = ownSeat());
/// Whether a window can be shown to those who ask for one: on a Mac by ssh too, where they are
/// logged in at its screen. Elsewhere on a Mac the program would abort or hang, without a reason.
[[nodiscard]] bool canShowWindow(const Seat& seat = ownSeat());

/// Prints "highwater: message" to stderr. Control characters other than line feeds are escaped.
void printError(std::string_view message);

/// Prints the error that ends a command. Returns its exit code: kExitUsage for kUsage, else
/// kExitFailed.
[[nodiscard]] int failWith(const Error& error);

/// Prints text to stdout and flushes it, so that a reader of a pipe sees it at once. An error shows
/// in std::ferror(stdout).
void print(std::string_view text);

}  // namespace highwater::cli
