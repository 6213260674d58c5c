// The kernels of watched ops on the device whose library is the first argument: each wait is
// recorded once, on every thread and while the level changes, and the dispatcher is left as it was.
// A separate process, since torch and Qt headers do not mix.

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <dlfcn.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "probe/observer/module_scope.h"
#include "probe/observer/op_observer.h"
#include "probe/observer/watched_ops.h"
#include "probe/readings/mps_device.h"
#include "probe/readings/phase_scope.h"

using namespace highwater;
using namespace highwater::probe;

namespace {

constexpr auto kKey = c10::DispatchKey::TESTING_ONLY_GenericMode;

int failures = 0;

void check(bool fine, const std::string& what) {
  if (fine) return;
  ++failures;
  std::fprintf(stderr, "watched_ops_check: %s\n", what.c_str());
}

at::Tensor onDevice() {
  return at::ones({4}).to(at::Device(at::kMPS, 0));
}

int notes = 0;  // recorded by the observer

/// The waits and fallbacks recorded since the last call, by op.
std::map<std::string, int> takeWaits(Recorder& recorder) {
  static std::map<NameId, std::string> names;
  Definitions definitions;
  recorder.names().takeNew(definitions);
  for (const NameDefinition& each : definitions.names) names[each.id] = each.text;
  std::map<std::string, int> waits;
  for (const auto& lane : recorder.lanes()) {
    lane->drain([&](const EventRecord& record) {
      record.visit([&](const auto& event) {
        if constexpr (std::is_same_v<decltype(event), const events::SyncPoint&>) {
          ++waits[names[event.op()]];
        }
        if constexpr (std::is_same_v<decltype(event), const events::FallbackEvent&>) {
          ++waits["fallback of " + names[event.op()]];
        }
        if constexpr (std::is_same_v<decltype(event), const events::Marker&>) ++notes;
      });
    });
  }
  return waits;
}

std::string text(const std::map<std::string, int>& waits) {
  std::string line = "{";
  for (const auto& [op, count] : waits) line += " " + op + ": " + std::to_string(count);
  return line + " }";
}

void checkWaits(Recorder& recorder, const std::map<std::string, int>& expected,
                const std::string& what) {
  const auto found = takeWaits(recorder);
  check(found == expected, what + ": " + text(found) + " instead of " + text(expected));
}

/// All that the dispatcher says of its ops.
std::string dispatcherState() {
  auto& dispatcher = c10::Dispatcher::singleton();
  std::string state;
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    if (const auto op = dispatcher.findOp(name)) state += op->dumpState();
  }
  return state;
}

std::size_t dispatcherOps() {
  return c10::Dispatcher::singleton().getAllOpNames().size();
}

/// The number of ops with a kernel at a key.
std::size_t opsAt(c10::DispatchKey key) {
  auto& dispatcher = c10::Dispatcher::singleton();
  std::size_t count = 0;
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto op = dispatcher.findOp(name);
    count += op && op->hasKernelForDispatchKey(key);
  }
  return count;
}

/// Called before any observer but a blind one: what the first one leaves are the kernels that
/// notice threads.
void leavesFewKernels() {
  const std::size_t before = opsAt(c10::DispatchKey::BackendSelect);
  Recorder recorder(RunClock::startingNow());
  { const OpObserver observer(recorder); }
  const std::size_t left = opsAt(c10::DispatchKey::BackendSelect) - before;
  check(left >= 100 && left < dispatcherOps() / 2,
        std::to_string(left) + " kernels notice threads");
  check(opsAt(kKey) == 0, "an ended observer leaves kernels registered");
}

void leavesTheDispatcherAsItWas() {
  const std::string before = dispatcherState();
  for (int i = 0; i < 3; ++i) {
    Recorder recorder(RunClock::startingNow());
    const OpObserver observer(recorder);
    check(WatchedOps::count() > 100, "few ops are watched");
    check(c10::impl::tls_is_dispatch_key_included(kKey), "the observer's thread is not watched");
    check(dispatcherState() != before, "no kernel is registered");
    (void)onDevice().sum().item<float>();
    takeWaits(recorder);
    recorder.setLevel(events::ProbeLevel::Off);
    check(dispatcherState() == before, "level off leaves kernels registered");
    check(!c10::impl::tls_is_dispatch_key_included(kKey), "level off leaves the thread watched");
    recorder.setLevel(events::ProbeLevel::Monitor);
    (void)onDevice().sum().item<float>();
    checkWaits(recorder, {{"aten::copy_", 1}, {"aten::_local_scalar_dense", 1}}, "after level off");
  }
  check(dispatcherState() == before, "an ended observer leaves kernels registered");
  check(WatchedOps::count() == 0, "ops stay watched");
  check(!c10::impl::tls_is_dispatch_key_included(kKey), "the thread stays watched");
}

/// A guard that is older than the end of the observer includes the key again.
void survivesAnEndInsideAGuard() {
  {
    const c10::impl::LocalDispatchKeySet keys = [] {
      Recorder recorder(RunClock::startingNow());
      const OpObserver observer(recorder);
      return c10::impl::tls_local_dispatch_key_set();
    }();
    const c10::impl::ForceDispatchKeyGuard restored(keys);
    check(c10::impl::tls_is_dispatch_key_included(kKey), "the guard does not include the key");
    (void)onDevice().sum().item<float>();
    (void)at::linear(onDevice(), at::ones({2, 4}).to(at::Device(at::kMPS, 0)));
  }
  check(!c10::impl::tls_is_dispatch_key_included(kKey), "the key stays included");
}

void seesThreadsInScopes() {
  Recorder recorder(RunClock::startingNow());
  const OpObserver observer(recorder);
  const at::Tensor tensor = onDevice();
  takeWaits(recorder);
  const auto wait = [&tensor] { (void)at::where(tensor.gt(0)); };
  std::thread([&] {
    const ModuleScope scope("layer");
    wait();
  }).join();
  checkWaits(recorder, {{"aten::where", 1}}, "a thread in a module");
  std::thread([&] {
    const PhaseScope scope(recorder, nullptr, events::Phase::Forward);
    wait();
  }).join();
  checkWaits(recorder, {{"aten::where", 1}}, "a thread in a phase");
  recorder.setLevel(events::ProbeLevel::Ops);
  std::thread([&] { wait(); }).join();
  checkWaits(recorder, {{"aten::where", 1}}, "a thread of its own, at level ops");
}

/// What a thread of its own finds by `work`, at both levels.
template <typename F>
void checkThread(Recorder& recorder, F&& work, const std::map<std::string, int>& atMonitor,
                 const std::map<std::string, int>& atOps, const std::string& what) {
  takeWaits(recorder);
  std::thread(work).join();
  checkWaits(recorder, atMonitor, what);
  recorder.setLevel(events::ProbeLevel::Ops);
  std::thread(work).join();
  checkWaits(recorder, atOps, what + ", at level ops");
  recorder.setLevel(events::ProbeLevel::Monitor);
}

/// A thread that nobody has had watched is met at its first wait, which has the name of the op that
/// waits, not of the one around it.
void meetsThreads() {
  const std::string before = dispatcherState();
  {
    Recorder recorder(RunClock::startingNow());
    const OpObserver observer(recorder);
    const at::Tensor tensor = onDevice();
    const auto where = [&tensor] { (void)at::where(tensor.gt(0)); };
    checkThread(
        recorder,
        [&] {
          where();
          check(c10::impl::tls_is_dispatch_key_included(kKey), "a thread that waited is unmet");
          where();
        },
        {{"aten::nonzero", 1}, {"aten::where", 1}}, {{"aten::where", 2}}, "a thread of its own");
    const std::map<std::string, int> read = {{"aten::_local_scalar_dense", 1}};
    checkThread(
        recorder, [&] { (void)tensor.sum().item<float>(); }, read, read, "a scalar");
    checkThread(
        recorder, [&] { (void)tensor.cpu(); }, {{"aten::copy_", 1}}, {{"aten::copy_", 1}},
        "a copy");
    const at::Tensor target = at::ones({1}, at::kLong).to(tensor.device());
    const std::map<std::string, int> fallback = {{"fallback of aten::multi_margin_loss", 1}};
    checkThread(
        recorder, [&] { (void)at::multi_margin_loss(tensor, target.select(0, 0)); }, fallback,
        fallback, "a fallback");
    checkThread(
        recorder,
        [&] {
          (void)at::ones({4}).clone().sum().item<float>();
          (void)tensor.clone();
          check(!c10::impl::tls_is_dispatch_key_included(kKey),
                "a thread that did not wait is met");
          const c10::InferenceMode inference;
          (void)tensor.sum().item<float>();
        },
        read, read, "a thread in inference mode");
    recorder.setLevel(events::ProbeLevel::Off);
    takeWaits(recorder);
    std::thread(where).join();
    checkWaits(recorder, {}, "a thread of its own, at level off");
  }
  check(dispatcherState() == before, "threads that were met leave kernels registered");
}

/// A guard drops the key of the training thread, which is met again.
void meetsTheTrainingThreadAgain() {
  const std::string before = dispatcherState();
  {
    Recorder recorder(RunClock::startingNow());
    const OpObserver observer(recorder);
    const at::Tensor tensor = onDevice();
    recorder.setLevel(events::ProbeLevel::Off);
    {
      const c10::InferenceMode inference;
      recorder.setLevel(events::ProbeLevel::Monitor);
    }
    takeWaits(recorder);
    (void)tensor.sum().item<float>();
    checkWaits(recorder, {{"aten::_local_scalar_dense", 1}}, "after a guard");
  }
  check(dispatcherState() == before, "a thread that was met again leaves kernels registered");
}

void surviveExceptions() {
  Recorder recorder(RunClock::startingNow());
  const OpObserver observer(recorder);
  const at::Tensor tensor = onDevice();
  for (const auto level : {events::ProbeLevel::Monitor, events::ProbeLevel::Ops}) {
    recorder.setLevel(level);
    takeWaits(recorder);
    try {
      (void)tensor.index({at::ones({7}, at::kBool).to(tensor.device())});
      check(false, "an index of another size is accepted");
    } catch (const std::exception&) {
    }
    takeWaits(recorder);
    check(recorder.lane().openSpans().depth() == 0, "an op that throws stays open");
    (void)tensor.sum().item<float>();
    checkWaits(recorder, {{"aten::_local_scalar_dense", 1}}, "after an exception");
  }
}

/// Changes the level `times` times, by `levelOf(i)`, while threads wait in modules. Returns how
/// often they waited; at least once after each change.
template <typename F>
int changeBesideWaitingThreads(Recorder& recorder, int times, F&& levelOf) {
  constexpr int kThreads = 3;
  const at::Tensor tensor = onDevice();
  std::atomic<int> waits{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      do {
        const ModuleScope scope("layer");
        (void)tensor.nonzero();
        ++waits;
      } while (!done);
    });
  }
  for (int i = 0; i < times; ++i) {
    recorder.setLevel(levelOf(i));
    for (const int before = waits; waits == before;) std::this_thread::yield();
  }
  done = true;
  for (std::thread& each : threads) each.join();
  return waits;
}

void countsOnceWhileTheLevelChanges() {
  Recorder recorder(RunClock::startingNow());
  const OpObserver observer(recorder);
  const int waits = changeBesideWaitingThreads(recorder, 1000, [](int i) {
    return i % 2 == 0 ? events::ProbeLevel::Ops : events::ProbeLevel::Monitor;
  });
  auto found = takeWaits(recorder);
  found.erase("aten::copy_");  // of the tensor
  check(found == std::map<std::string, int>{{"aten::nonzero", waits}},
        "changes of the level: " + text(found) + " instead of " + std::to_string(waits));
}

/// Kernels come and go beside threads that run ops.
void survivesLevelOffBesideOtherThreads() {
  Recorder recorder(RunClock::startingNow());
  const OpObserver observer(recorder);
  const int waits = changeBesideWaitingThreads(recorder, 20, [](int i) {
    return i % 2 == 0 ? events::ProbeLevel::Off : events::ProbeLevel::Monitor;
  });
  const int found = takeWaits(recorder)["aten::nonzero"];
  check(found > 0 && found <= waits, std::to_string(found) + " waits of " + std::to_string(waits));
}

/// Called first, as the fallthrough stays: somebody else has the key.
void leavesTheKeyToAnotherUser() {
  torch::Library other(torch::Library::IMPL, "_", kKey, __FILE__, __LINE__);
  other.fallback(torch::CppFunction::makeFallthrough());
  Recorder recorder(RunClock::startingNow());
  const OpObserver observer(recorder);
  check(WatchedOps::count() == 0, "somebody else's key is used");
  notes = 0;
  takeWaits(recorder);
  check(notes == 1, "nothing says that the monitor is blind");
  check(!c10::impl::tls_is_dispatch_key_included(kKey), "somebody else's key is included");
  const at::Tensor tensor = onDevice();
  takeWaits(recorder);
  (void)tensor.sum().item<float>();
  checkWaits(recorder, {}, "beside another user of the key");
  recorder.setLevel(events::ProbeLevel::Ops);
  (void)tensor.sum().item<float>();
  checkWaits(recorder, {{"aten::_local_scalar_dense", 1}}, "beside another user, at level ops");
}

/// At level monitor, an op that is not watched runs no code of the probe.
void leavesOtherOpsAlone() {
  Recorder recorder(RunClock::startingNow());
  const OpObserver observer(recorder);
  check(!at::hasCallbacks(), "a RecordFunction callback is enabled");
  for (const char* name : {"aten::mm", "aten::relu", "aten::linear", "aten::view"}) {
    const auto op = c10::Dispatcher::singleton().findSchema({name, ""});
    check(op && !op->hasKernelForDispatchKey(kKey), std::string(name) + " is watched");
  }
}

}  // namespace

int main(int argc, char** argv) {
  ::setenv("PYTORCH_ENABLE_MPS_FALLBACK", "1", 1);
  if (argc != 2 || !::dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) || !mpsAvailable()) {
    std::fprintf(stderr, "watched_ops_check: no device in %s\n", argc == 2 ? argv[1] : "(nothing)");
    return 1;
  }
  leavesTheKeyToAnotherUser();
  leavesFewKernels();
  leavesTheDispatcherAsItWas();
  leavesOtherOpsAlone();
  survivesAnEndInsideAGuard();
  seesThreadsInScopes();
  meetsThreads();
  meetsTheTrainingThreadAgain();
  surviveExceptions();
  countsOnceWhileTheLevelChanges();
  survivesLevelOffBesideOtherThreads();
  return failures == 0 ? 0 : 1;
}
