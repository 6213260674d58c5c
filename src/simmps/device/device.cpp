#include "simmps/device/device.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>

#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include "core/program_signals.h"
#include "simmps/device/deferred_release.h"
#include "simmps/torch_version.h"

namespace highwater::simmps {
namespace {

/// Passes warnings on, but for those of resized outputs. An op has warned of its own when it was
/// queued, and some of PyTorch's CPU kernels, such as mse_loss, warn although nobody gave an
/// output.
class QuietResizes final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override {
    if (warning.msg().find("was resized since it had shape") != std::string::npos) return;
    c10::WarningHandler::process(warning);
  }
};

/// Keeps libgomp from busy-waiting. While a process has no more OpenMP threads than the machine has
/// cores, idle members of a team spin. If other threads want those cores, each parallel region then
/// lasts until the scheduler steps in (2 busy cores: 1.9 s a step instead of 0.17 s). A second,
/// idle team raises the count above that limit. OMP_WAIT_POLICY=passive has the same effect, but
/// must be set before libgomp is loaded.
void parkSecondTeam() {
  if (std::getenv("OMP_WAIT_POLICY") || std::getenv("GOMP_SPINCOUNT")) return;
  std::promise<void> opened;
  auto isOpen = opened.get_future();
  const BlockedProgramSignals inherited;
  std::thread([&opened] {
    ::pthread_setname_np(::pthread_self(), "parked team");
    {
      const at::NoGradGuard noGrad;
      const at::DisableRecordFunctionGuard unobserved;
      // at::parallel_for() from a header compiled without OpenMP opens no team, but libtorch's own
      // code does.
      at::zeros({4 * at::internal::GRAIN_SIZE}).add_(1);
    }
    opened.set_value();
    for (;;) ::pause();
  }).detach();
  isOpen.wait();
}

struct Device {
  Settings settings;
  const std::unique_ptr<Ledger> ledger;
  DeviceQueue queue;
  HeapAllocator memory;

  Device(const Settings& from, std::unique_ptr<Ledger> account)
      : settings(from),
        ledger(std::move(account)),
        queue({.scope = onDeviceThread,
               .knobs = {from.launchDelayNs, from.slowdown, from.hangAt, from.crashAt},
               .commitAfter = from.commitAfter,
               .lateNotices = from.lateNotices,
               .ledger = ledger.get()}),
        memory(from.limits, memoryOptions()) {}

  /// Calls wait() and records it in the ledger.
  template <typename Wait>
  auto timed(DrainCause cause, std::string_view op, const Wait& wait) {
    const std::uint64_t begin = ledger ? deviceClockNs() : 0;
    auto outcome = wait();
    if (ledger) DeviceCall::account({cause, op, begin, deviceClockNs()});
    return outcome;
  }

  MemoryOptions memoryOptions() {
    MemoryOptions options;
    options.jobs.submitted = [this] { return queue.submitted(); };
    options.jobs.finished = [this] { return queue.finished(); };
    // Failures are kept for the next drain.
    options.jobs.wait = [this] {
      timed(DrainCause::Release, {}, [this] { return queue.wait(), true; });
    };
    options.ledger = ledger.get();
    options.outOfMemoryAt = settings.outOfMemoryAt;
    options.limitsRequestsOnly = settings.limitsRequestsOnly;
    return options;
  }

  // Jobs must not run while the statics that they use are destroyed.
  void stop() {
    const std::uint64_t begin = deviceClockNs();
    queue.stop();
    if (ledger) DeviceCall::account({DrainCause::Exit, {}, begin, deviceClockNs()});
    if (ledger) ledger->flush();
  }

  // Jobs run CPU kernels below autograd and unobserved: to the process they are a GPU's work.
  static void onDeviceThread(const std::function<void()>& loop) {
    const at::AutoDispatchBelowADInplaceOrView belowAutograd;
    const at::NoGradGuard noGrad;
    const at::DisableRecordFunctionGuard unobserved;
    QuietResizes quiet;
    const c10::WarningUtils::WarningHandlerGuard warnings(&quiet);
    // Uses the process's thread count. All parallel work of the device happens on this thread, so
    // it needs one OpenMP team.
    at::init_num_threads();
    ::pthread_setname_np(::pthread_self(), "simulated mps");
    parkSecondTeam();
    loop();
  }
};

Device* gDevice = nullptr;

Device& theDevice() {
  TORCH_CHECK(gDevice, "the simulated mps device was refused when its library was loaded");
  return *gDevice;
}

thread_local FallbackScope* tFallback = nullptr;
thread_local DeviceCall* tCall = nullptr;

/// Throws c10::Error or a class derived from it, with the op in its context.
void throwIfFailed(const std::optional<JobFailure>& failure) {
  if (!failure) return;
  const std::string context = "by " + failure->op + ", which the simulated mps device ran earlier";
  const auto throwNew = [&context](const char* what) {
    c10::Error error({__func__, __FILE__, __LINE__}, what);
    error.add_context(context);
    throw error;
  };
  try {
    std::rethrow_exception(failure->error);
  } catch (c10::Error& error) {
    error.add_context(context);
    throw;
  } catch (const std::bad_alloc&) {
    throwNew("this machine (not the simulated device) is out of memory");
  } catch (const std::exception& error) {
    throwNew(error.what());
  }
}

}  // namespace

std::string createDevice(const Settings& settings, const LedgerOrigin& origin) {
  std::unique_ptr<Ledger> ledger;
  if (!settings.ledgerFile.empty()) {
    auto opened = FileLedger::open(settings, origin);
    if (const auto* problem = std::get_if<std::string>(&opened)) {
      std::ostringstream refusal;
      refusal << kSimLedgerVariable << ": \"" << settings.ledgerFile << "\" cannot be written ("
              << *problem << "); give a file in a folder that exists.";
      return refusal.str();
    }
    ledger = std::move(std::get<std::unique_ptr<FileLedger>>(opened));
  }
  gDevice = new Device(settings, std::move(ledger));
  std::atexit(finishDevice);
  return {};
}

void finishDevice() {
  static std::once_flag once;
  if (gDevice) std::call_once(once, [] { gDevice->stop(); });
}

bool deviceExists() {
  return gDevice != nullptr;
}

const Settings& deviceSettings() {
  return theDevice().settings;
}
DeviceQueue& deviceQueue() {
  return theDevice().queue;
}
HeapAllocator& deviceMemory() {
  return theDevice().memory;
}

Ledger* deviceLedger() {
  return theDevice().ledger.get();
}

void drainDevice(DrainCause cause, std::string_view op) {
  Device& device = theDevice();
  const auto failure = device.timed(cause, op, [&] { return device.queue.drain(); });
  // Not for a generator: its caller holds its lock.
  if (cause != DrainCause::Generator) releaseDeferred();
  throwIfFailed(failure);
}

void drainDeviceUntil(const DeviceEvent& event) {
  Device& device = theDevice();
  throwIfFailed(
      device.timed(DrainCause::Event, {}, [&] { return device.queue.drainUntil(event); }));
}

void waitForNotices(const DeviceEvent& start, const DeviceEvent& end) {
  Device& device = theDevice();
  if (start.isNoticed() && end.isNoticed()) return;
  device.timed(DrainCause::Event, {}, [&] {
    for (const DeviceEvent* each : {&start, &end}) device.queue.waitForNotice(*each);
    return true;
  });
}

double elapsedMs(std::uint64_t startNs, std::uint64_t endNs, const std::string& startName,
                 const std::string& endName) {
#if HIGHWATER_TORCH_AT_LEAST(2, 15)
  const bool inOrder = endNs >= startNs;
#else
  const bool inOrder = endNs > startNs;
#endif
  TORCH_CHECK(inOrder, "End event", endName, " was not recorded after start event", startName);
  return static_cast<double>(endNs - startNs) * 1e-6;
}

DeviceCall::DeviceCall() : counts_(!tCall && deviceLedger()) {
  if (!counts_) return;
  beginNs_ = deviceClockNs();
  tCall = this;
}

DeviceCall::~DeviceCall() {
  if (!counts_) return;
  tCall = nullptr;
  if (waits_.empty()) return;
  const std::uint64_t endNs = deviceClockNs();
  for (DrainEntry& wait : waits_) {
    wait.callNs = beginNs_;
    wait.returnNs = endNs;
    deviceLedger()->add(wait);
  }
}

void DeviceCall::account(const DrainEntry& entry) {
  if (tCall) {
    tCall->waits_.push_back(entry);
    return;
  }
  DrainEntry whole = entry;
  whole.callNs = entry.beginNs;
  whole.returnNs = entry.endNs;
  deviceLedger()->add(whole);
}

FallbackScope::FallbackScope(std::string op)
    : op_(std::move(op)), outer_(std::exchange(tFallback, this)) {
  entry_.beginNs = deviceClockNs();
}

FallbackScope::~FallbackScope() {
  tFallback = outer_;
  entry_.op = op_;
  entry_.endNs = deviceClockNs();
  if (Ledger* ledger = deviceLedger()) ledger->add(entry_);
}

void FallbackScope::copiedToCpu(std::uint64_t bytes) {
  if (tFallback) tFallback->entry_.bytesToCpu += bytes;
}

void FallbackScope::copiedToDevice(std::uint64_t bytes) {
  if (tFallback) tFallback->entry_.bytesToDevice += bytes;
}

}  // namespace highwater::simmps
