#pragma once

namespace highwater::session {

/// How a process ended: by `signal`, or with `exitCode` if `signal` is 0.
struct ProcessExit {
  int exitCode = 0;
  int signal = 0;
};

/// The exit code by which a shell tells it: 128 and the signal's number for a signal.
[[nodiscard]] constexpr int shellExitCode(const ProcessExit& exit) {
  return exit.signal != 0 ? 128 + exit.signal : exit.exitCode;
}

}  // namespace highwater::session
