#include "app/accept_command.h"

#include <set>

#include "analysis/live_store.h"
#include "app/terminal.h"
#include "core/clock.h"
#include "core/exit_codes.h"
#include "session/recording_loader.h"
#include "store/append.h"
#include "wire/codec.h"
#include "wire/limits.h"

namespace highwater::app {
namespace {

std::string withNamespace(const std::string& op) {
  return op.find("::") == std::string::npos ? "aten::" + op : op;
}

std::string listed(const std::set<std::string>& ops) {
  std::string names;
  for (const std::string& op : ops) names += (names.empty() ? "" : ", ") + op;
  return names;
}

Error tooLong(const char* what, std::size_t most) {
  return usageError(std::string("the ") + what + " of an accepted fallback is too long; at most " +
                    std::to_string(most) + " bytes");
}

/// Takes the place of the file's last word on it.
Result<void> accept(const AcceptOptions& options) {
  analysis::LiveStore store;
  const auto loaded = session::loadRecording(options.recording, store);
  if (!loaded) return loaded.error();
  if (loaded->beingWritten) {
    return failure('"' + options.recording +
                   "\" is being written by a running process; wait for the end of its run");
  }
  if (!loaded->damage.empty()) {
    return Error{ErrorCode::kMalformed,
                 session::damageText(options.recording, *loaded) + "; nothing is written into it"};
  }
  std::set<std::string> fellBack, accepted;
  for (const events::FallbackEvent& each : store.fallbacks()) {
    const std::string op = store.name(each.op());
    fellBack.insert(op);
    if (store.acceptanceOf(op)) accepted.insert(op);
  }
  const std::string& op = options.acceptance.op;
  if (options.acceptance.accepted && !fellBack.contains(op)) {
    return usageError(op + " did not fall back in this recording; " +
                      (fellBack.empty() ? "nothing did" : "what did: " + listed(fellBack)));
  }
  if (!options.acceptance.accepted && !accepted.contains(op)) {
    return usageError(op + " is not accepted in this recording; " +
                      (accepted.empty() ? "nothing is" : "what is: " + listed(accepted)));
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
  acceptance.unixTimeNs = unixNs();
  if (acceptance.op.size() > wire::kMaxNameBytes) return tooLong("op", wire::kMaxNameBytes);
  if (acceptance.reason.size() > wire::kMaxTextBytes) {
    return tooLong("reason", wire::kMaxTextBytes);
  }
  return acceptance;
}

Result<FallbackAcceptance> parseWithdrawal(const std::string& op) {
  if (op.empty()) return usageError("--fallback names no op; give one, for example aten::gelu");
  FallbackAcceptance withdrawal;
  withdrawal.op = withNamespace(op);
  withdrawal.accepted = false;
  withdrawal.unixTimeNs = unixNs();
  if (withdrawal.op.size() > wire::kMaxNameBytes) return tooLong("op", wire::kMaxNameBytes);
  return withdrawal;
}

int runAccept(const AcceptOptions& options) {
  if (auto done = accept(options); !done) {
    printError(done.error().message);
    return done.error().code == ErrorCode::kUsage ? kExitUsage : kExitFailed;
  }
  const FallbackAcceptance& said = options.acceptance;
  print(plain(said.op) +
        (said.accepted ? " is accepted on the CPU: " + plain(said.reason)
                       : " is no longer accepted on the CPU") +
        '\n');
  return kExitDone;
}

}  // namespace highwater::app
