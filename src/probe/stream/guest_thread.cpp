#include "probe/stream/guest_thread.h"

#include <exception>
#include <utility>

#include "core/program_signals.h"

namespace highwater::probe {
std::thread startGuestThread(std::function<void()> body,
                             std::function<void(const std::string&)> failed) {
  const BlockedProgramSignals inherited;  // a thread begins with its creator's mask
  return std::thread([body = std::move(body), failed = std::move(failed)] {
    try {
      try {
        body();
      } catch (const std::exception& error) {
        failed(error.what());
      }
    } catch (const std::exception&) {  // no memory to say it
    }
  });
}

}  // namespace highwater::probe
