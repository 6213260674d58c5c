// Counts what the observer's own callbacks allocate and lock while real ops run: two more
// callbacks, one registered before the observer and one after, mark when its begin and end run.
// RecordFunction calls them in the order of their registration. A process of its own: no torch
// header meets Qt.
//
// That no lock is taken follows from the code: names, shapes and modules are found in tables of the
// thread, events go into rings with one writer, the level is a callback that is enabled or not. The
// count holds it to that, also where a library below would lock.

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <atomic>
#include <cstdio>

#include "counted_calls.h"
#include "probe/module_scope.h"
#include "probe/op_observer.h"

using namespace highwater;
using namespace highwater::probe;

namespace {

std::atomic<int> windows{0};

std::uint64_t mark(bool on) {
  static const auto set = [](bool value) {
    counting = value;
    if (value) ++windows;
  };
  using Begin = at::RecordFunctionCallback::StartCallback;
  using End = at::RecordFunctionCallback::EndCallback;
  const Begin begin = on ? Begin([](const at::RecordFunction&) {
    set(true);
    return std::unique_ptr<at::ObserverContext>();
  })
                         : Begin([](const at::RecordFunction&) {
                             set(false);
                             return std::unique_ptr<at::ObserverContext>();
                           });
  const End end = on ? End([](const at::RecordFunction&, at::ObserverContext*) { set(true); })
                     : End([](const at::RecordFunction&, at::ObserverContext*) { set(false); });
  return at::addGlobalCallback(at::RecordFunctionCallback(begin, end));
}

struct Counts {
  int allocations, locks, windows;
};
Counts take() {
  return {allocations.exchange(0), locks.exchange(0), windows.exchange(0)};
}

/// Forward in a module and backward, some hundred times; what was recorded is drained meanwhile.
void train(Recorder& recorder, int times) {
  const at::Tensor input = at::ones({8, 4});
  const at::Tensor weight = at::ones({3, 4}).set_requires_grad(true);
  for (int i = 0; i < times; ++i) {
    const ModuleScope layers("layers");
    const ModuleScope first("0");
    at::linear(input, weight).relu().sum().backward();
    for (const auto& lane : recorder.lanes()) lane->drain([](const EventRecord&) {});
  }
}

bool check(bool fine, const char* what, const Counts& counts) {
  if (!fine) {
    std::fprintf(stderr, "hot_path_check: %s: %d allocations, %d locks in %d callbacks\n", what,
                 counts.allocations, counts.locks, counts.windows);
  }
  return fine;
}

bool checkLevel(Recorder& recorder, events::ProbeLevel level, const char* name) {
  recorder.setLevel(level);
  train(recorder, 2);
  const Counts first = take();
  train(recorder, 200);
  const Counts steady = take();
  std::printf("%s: at first %d allocations, %d locks; then %d and %d in %d callbacks\n", name,
              first.allocations, first.locks, steady.allocations, steady.locks, steady.windows);
  // That the first ops are counted at all shows that the marks enclose the observer.
  return check(first.allocations > 0, "the marks miss the observer", first) &&
         check(steady.windows > 2000, "too few callbacks", steady) &&
         check(steady.allocations == 0 && steady.locks == 0, name, steady);
}

}  // namespace

int main() {
  Recorder recorder(RunClock::startingNow());
  mark(true);
  const OpObserver observer(recorder);
  mark(false);
  const bool fine = checkLevel(recorder, events::ProbeLevel::Monitor, "monitor") &&
                    checkLevel(recorder, events::ProbeLevel::Ops, "ops");
  return fine ? 0 : 1;
}
