#include "probe/observer/tried_waits.h"

#include <algorithm>
#include <exception>
#include <unordered_map>
#include <utility>

#include "probe/observer/thread_op_stack.h"
#include "probe/stream/recorder.h"

namespace highwater::probe {
namespace {

struct Tries {
  Recorder* recorder = nullptr;
  std::vector<CallSiteId> places;
  bool leavesOut = false;
  MayLeaveOut may = nullptr;
  std::uint32_t step = 0;
  std::unordered_map<CallSiteId, std::uint32_t> waits;  ///< of that step
};

Tries& triesOfThread() {
  thread_local Tries tries;
  return tries;
}

}  // namespace

std::optional<TriedWait> triedWaitHere() noexcept {
  if (!triesWaits || !kernelsObserve.load(std::memory_order_relaxed)) return std::nullopt;
  try {
    Tries& tries = triesOfThread();
    CallSites& sites = tries.recorder->callSites();
    const CallSites::Interpreter ask = sites.interpreter();
    const CallSiteId here = ask ? ask(sites) : kNoId;
    const bool isTried =
        std::find(tries.places.begin(), tries.places.end(), here) != tries.places.end();
    if (!isTried || here == kNoId || here == kOtherId || !tries.may()) return std::nullopt;
    const std::uint32_t step = tries.recorder->step();
    if (std::exchange(tries.step, step) != step) tries.waits.clear();
    const std::uint64_t place = (std::uint64_t{here} << 32) | tries.waits[here]++;
    return TriedWait{place, tries.leavesOut};
  } catch (const std::exception&) {
    return std::nullopt;  // no memory: it waits as ever
  }
}

void tryWaits(Recorder& recorder, std::vector<CallSiteId> places, bool leavesOut, MayLeaveOut may) {
  triesOfThread() = {&recorder, std::move(places), leavesOut, may, 0, {}};
  triesWaits = true;
}

void tryNoWaits() noexcept {
  triesWaits = copiesToHost = false;
}

}  // namespace highwater::probe
