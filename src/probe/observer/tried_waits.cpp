#include "probe/observer/tried_waits.h"

#include <algorithm>
#include <utility>

#include "probe/call_sites/call_sites.h"

namespace highwater::probe {
namespace {

struct Tries {
  CallSites* sites = nullptr;
  std::vector<CallSiteId> places;
  bool leavesOut = false;
};

Tries& triesOfThread() {
  thread_local Tries tries;
  return tries;
}

}  // namespace

std::optional<TriedWait> triedWaitHere() {
  if (!triesWaits) return std::nullopt;
  const Tries& tries = triesOfThread();
  const CallSites::Interpreter ask = tries.sites->interpreter();
  const CallSiteId here = ask ? ask(*tries.sites) : kNoId;
  const auto found = std::find(tries.places.begin(), tries.places.end(), here);
  if (here == kNoId || here == kOtherId || found == tries.places.end()) return std::nullopt;
  return TriedWait{static_cast<std::size_t>(found - tries.places.begin()), tries.leavesOut};
}

void tryWaits(CallSites& sites, std::vector<CallSiteId> places, bool leavesOut) {
  Tries& tries = triesOfThread();
  triesWaits = !places.empty();
  tries = {&sites, std::move(places), leavesOut};
}

}  // namespace highwater::probe
