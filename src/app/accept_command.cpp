#include "app/accept_command.h"

#include <chrono>
#include <set>

#include "analysis/live_store.h"
#include "app/terminal.h"
#include "core/exit_codes.h"
#include "session/recording_loader.h"
#include "store/append.h"
#include "wire/codec.h"
#include "wire/limits.h"

namespace highwater::app {
namespace {

std::int64_t unixTimeNs() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

std::string withNamespace(const std::string& op) {
  return op.find("::") == std::string::npos ? "aten::" + op : op;
}

/// Takes the place of the file's last word on it.
Result<void> accept(const AcceptOptions& options) {
  analysis::LiveStore store;
  if (auto loaded = session::loadRecording(options.recording, store); !loaded) return loaded;
  std::set<std::string> ops;
  for (const events::FallbackEvent& each : store.fallbacks()) ops.insert(store.name(each.op()));
  if (!ops.contains(options.acceptance.op)) {
    std::string names;
    for (const std::string& op : ops) names += (names.empty() ? "" : ", ") + op;
    return usageError(options.acceptance.op + " did not fall back in this recording; " +
                      (names.empty() ? "nothing did" : "what did: " + names));
  }
  return store::appendAcceptance(options.recording, wire::encode(options.acceptance),
                                 options.acceptance);
}

}  // namespace

Result<FallbackAcceptance> parseAcceptance(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return usageError("an accepted fallback is \"" + text +
                      "\"; give OP=REASON, for example aten::gelu=\"once an epoch only\"");
  }
  FallbackAcceptance acceptance;
  acceptance.op = withNamespace(text.substr(0, equals));
  acceptance.reason = text.substr(equals + 1);
  acceptance.unixTimeNs = unixTimeNs();
  const auto tooLong = [](const char* what, std::size_t most) {
    return usageError(std::string("the ") + what +
                      " of an accepted fallback is too long; at most " + std::to_string(most) +
                      " bytes");
  };
  if (acceptance.op.size() > wire::kMaxNameBytes) return tooLong("op", wire::kMaxNameBytes);
  if (acceptance.reason.size() > wire::kMaxTextBytes) {
    return tooLong("reason", wire::kMaxTextBytes);
  }
  return acceptance;
}

int runAccept(const AcceptOptions& options) {
  if (auto done = accept(options); !done) {
    printError(done.error().message);
    return done.error().code == ErrorCode::kUsage ? kExitUsage : kExitFailed;
  }
  print(plain(options.acceptance.op) +
        " is accepted on the CPU: " + plain(options.acceptance.reason) + '\n');
  return kExitDone;
}

}  // namespace highwater::app
