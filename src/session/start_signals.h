#pragma once

namespace highwater::session {

/// Notes SIGINT and SIGQUIT while a program is started, besides calling the handlers that were set
/// before. A terminal sends these signals to all its processes: one that came before the program
/// was forked is raised in the program, and a later one the program gets from the terminal, so that
/// it gets each once. Signals that nobody handles are left alone. A second instance adds nothing to
/// the first. Main thread.
class StartSignals {
 public:
  StartSignals();
  ~StartSignals();
  StartSignals(const StartSignals&) = delete;
  StartSignals& operator=(const StartSignals&) = delete;

  /// In the forked program, which must block both signals and have its own handlers: raises those
  /// that were noted. Async-signal-safe.
  static void raiseNoted();
};

}  // namespace highwater::session
