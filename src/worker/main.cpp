#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "core/clock.h"
#include "core/exit_codes.h"
#include "core/sim_knobs.h"
#include "worker/connection.h"
#include "worker/device.h"
#include "worker/environment.h"
#include "worker/options.h"
#include "worker/platform.h"
#include "worker/worker.h"

namespace {

using namespace highwater;
using namespace highwater::worker;

int complain(const Error& error) {
  std::fprintf(stderr, "highwater-worker: %s\n", error.message.c_str());
  return error.code == ErrorCode::kUsage ? kExitUsage : kExitFailed;
}

bool asksForStdio(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--stdio") return true;
  }
  return false;
}

int runWorker(int argc, char** argv, int framesFd) {
  const RunClock clock = RunClock::startingNow();
  auto parsed = parseOptions(argc, argv);
  if (!parsed) return complain(parsed.error());
  auto* options = std::get_if<Options>(&*parsed);
  if (!options) return kExitDone;

  if (!options->recommendedMax.empty()) {
    ::setenv(kSimRecommendedVariable, options->recommendedMax.c_str(), 1);
  }
  // A question must not empty the ledger of a run.
  if (options->describe) ::unsetenv(kSimLedgerVariable);
  auto device = chooseDevice(options->device);
  if (!device) return complain(device.error());
  if (!options->recommendedMax.empty() && !device->simulated) {
    return complain(
        usageError("--recommended-max is for the simulated device; leave it out for --device " +
                   options->device));
  }
  auto sizes = resolveSizes(*options, device->selected == "mps" && !device->simulated);
  if (!sizes) return complain(sizes.error());
  auto connection = openConnection(*options, framesFd);
  if (!connection) return complain(connection.error());

  auto* worker = new Worker(std::move(*options), std::move(*sizes), std::move(*device),
                            std::move(*connection), clock);
  if (auto fine = worker->scheduleChanges(); !fine) return complain(fine.error());
  return worker->run();
}

}  // namespace

int main(int argc, char** argv) {
  const bool environmentChanged = setScenarioEnvironment(argc, argv);
  restartWithPassiveOpenMp(argv);
  if (environmentChanged) restart(argv);
  int framesFd = -1;
  if (asksForStdio(argc, argv)) {
    const auto kept = takeStdoutForFrames();
    if (!kept) return complain(kept.error());
    framesFd = *kept;
  }
  std::signal(SIGPIPE, SIG_IGN);
  int code = kExitFailed;
  try {
    code = runWorker(argc, argv, framesFd);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "highwater-worker: %s\n", error.what());
  }
  finishSimulatedDevice();
  std::fflush(nullptr);
  // Not return: the thread that reads commands and libtorch's own threads are still there, and
  // must not meet half-destroyed globals.
  std::_Exit(code);
}
