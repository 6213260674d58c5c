#pragma once

#include <functional>
#include <string>
#include <thread>

namespace highwater::probe {

/// Starts a thread in a program that may not be ours. The thread takes none of the signals that are
/// sent to the program, which may wait for them elsewhere. An exception of `body` ends this thread
/// alone: `failed` is then called on it with what the exception says. Throws std::system_error
/// where the system gives no thread.
[[nodiscard]] std::thread startGuestThread(std::function<void()> body,
                                           std::function<void(const std::string&)> failed);

}  // namespace highwater::probe
