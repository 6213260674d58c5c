#pragma once

namespace highwater::session {

/// How a process ended: by `signal`, or with `exitCode` if `signal` is 0.
struct ProcessExit {
  int exitCode = 0;
  int signal = 0;
};

}  // namespace highwater::session
