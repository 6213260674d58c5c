#include "cli/accept_command.h"

#include <set>

#include "analysis/live_store.h"
#include "cli/terminal.h"
#include "core/exit_codes.h"
#include "core/plain_text.h"
#include "run/fallback_acceptance.h"
#include "run/recording_loader.h"

namespace highwater::cli {
namespace {

std::string listed(const std::set<std::string>& ops) {
  std::string names;
  for (const std::string& op : ops) names += (names.empty() ? "" : ", ") + op;
  return names;
}

/// Checks that the op fell back in the recording (or, to withdraw, that it is accepted), and
/// appends the acceptance.
Result<void> accept(const AcceptOptions& options) {
  analysis::LiveStore store;
  const auto loaded = run::loadRecording(options.recording, store);
  if (!loaded) return loaded.error();
  if (loaded->beingWritten || !loaded->damage.empty()) {
    // Refused there, in words: what fell back is not known for sure yet.
    return run::appendAcceptance(options.recording, options.acceptance);
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
  return run::appendAcceptance(options.recording, options.acceptance);
}

}  // namespace

int runAccept(const AcceptOptions& options) {
  if (auto done = accept(options); !done) return failWith(done.error());
  const FallbackAcceptance& said = options.acceptance;
  print(plainText(said.op) +
        (said.accepted ? " is accepted on the CPU: " + plainText(said.reason)
                       : " is no longer accepted on the CPU") +
        '\n');
  return kExitDone;
}

}  // namespace highwater::cli
