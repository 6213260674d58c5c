// Counts the allocations and locks of the observer while real ops run. At the level ops, two more
// callbacks, registered before and after the observer's, mark when its begin and end run:
// RecordFunction calls them in the order of registration. At monitor, ops run with and without the
// observer. A separate process, since torch and Qt headers do not mix.
//
// By design no lock is taken: names, shapes and modules are in per-thread tables, events go into
// single-writer rings, and the level enables or disables callbacks. The count also catches a lock
// in a library below.

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <atomic>
#include <cstdio>

#include "counted_calls.h"
#include "probe/observer/module_scope.h"
#include "probe/observer/op_observer.h"
#include "probe/observer/watched_ops.h"

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

/// Runs forward in a module and backward, some hundred times; drains the recorder meanwhile.
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
  // Proves that the marks enclose the observer: the first ops do allocate.
  return check(first.allocations > 0, "the marks miss the observer", first) &&
         check(steady.windows > 2000, "too few callbacks", steady) &&
         check(steady.allocations == 0 && steady.locks == 0, name, steady);
}

constexpr int kTimes = 200;

/// Counts while kTimes runs of `op`.
template <typename F>
Counts countRuns(Recorder* recorder, F&& op) {
  for (int i = 0; i < 2; ++i) op();
  take();
  counting = true;
  for (int i = 0; i < kTimes; ++i) op();
  counting = false;
  if (recorder) {
    for (const auto& lane : recorder->lanes()) lane->drain([](const EventRecord&) {});
  }
  return take();
}

bool checkMore(const Counts& bare, const Counts& watched, int expected, const char* name) {
  const int more = watched.allocations - bare.allocations;
  std::printf("%s: %d allocations and %d locks more in %d runs\n", name, more,
              watched.locks - bare.locks, kTimes);
  return check(more == expected && watched.locks == bare.locks, name, watched);
}

/// PyTorch allocates the stack for the arguments of a kernel that takes them in one. Nothing more
/// may be allocated, nothing at all by the kernels with their own arguments, and no lock taken.
bool checkWatched() {
  const at::Tensor from = at::ones({2}), to = at::ones({2});
  const auto equal = [&] { (void)at::equal(from, to); };
  const auto copy = [&] { to.copy_(from); };
  const Counts bareEqual = countRuns(nullptr, equal), bareCopy = countRuns(nullptr, copy);
  Recorder recorder(RunClock::startingNow());
  const OpObserver observer(recorder);
  if (!check(WatchedOps::count() > 0, "no op is watched", {})) return false;
  // The first of the two proves that ops are observed: their stacks are allocated, once by the
  // kernel that observes and once by the one that notices threads.
  return checkMore(bareEqual, countRuns(&recorder, equal), 2 * kTimes, "equal") &&
         checkMore(bareCopy, countRuns(&recorder, copy), 0, "copy_");
}

}  // namespace

int main() {
  // Without marks, whose callbacks would count for themselves.
  if (!checkWatched()) return 1;
  Recorder recorder(RunClock::startingNow());
  mark(true);
  const OpObserver observer(recorder);
  mark(false);
  return checkLevel(recorder, events::ProbeLevel::Ops, "ops") ? 0 : 1;
}
