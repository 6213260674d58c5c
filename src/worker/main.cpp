#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/activity.h"
#include "core/clock.h"
#include "core/exit_codes.h"
#include "core/sim_knobs.h"
#include "process/connection.h"
#include "process/device.h"
#include "process/environment.h"
#include "process/platform.h"
#include "process/running_torch.h"
#include "worker/checks/benchmark/benchmark.h"
#include "worker/checks/dry_check.h"
#include "worker/checks/json_line.h"
#include "worker/checks/op_names.h"
#include "worker/checks/self_test.h"
#include "worker/options.h"
#include "worker/worker.h"

namespace {

using namespace highwater;
using namespace highwater::worker;

// Time after which SIGALRM ends a check that hangs: `highwater` may be gone itself. It usually asks
// for a shorter limit.
constexpr std::uint32_t kLongestCheckMs = 180'000;
constexpr unsigned kLongestDryCheck = 660;  // seconds

/// Prints the error and returns its exit code.
int complain(const Error& error) {
  std::fprintf(stderr, "highwater-worker: %s\n", error.message.c_str());
  return error.code == ErrorCode::kUsage ? kExitUsage : kExitFailed;
}

/// Whether stdout carries frames or an answer, so that nothing else may be printed there.
bool keepsStdout(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--stdio" || word == "--dry-check" || word.starts_with("--benchmark") ||
        word.starts_with("--self-test")) {
      return true;
    }
  }
  return false;
}

/// Writes one line of JSON. Returns `code`, or the exit code of the failure to write.
int answer(int fd, const nlohmann::ordered_json& json, int code) {
  const std::string line = jsonLine(json) + '\n';
  std::FILE* out = ::fdopen(fd, "w");
  const bool written =
      out && std::fwrite(line.data(), 1, line.size(), out) == line.size() && std::fflush(out) == 0;
  return written ? code : complain(failure("the answer could not be written"));
}

int runDryCheck(const Options& options, Sizes sizes, DeviceReport device, int fd) {
  if (device.selected != "mps") {
    const std::string why = "there is no mps to ask which ops it has: ";
    if (options.device == "cpu") return complain(usageError(why + "--device is cpu"));
    return complain(failure(why + device.reason));
  }
  ::alarm(kLongestDryCheck);
  auto data = loadData(options);
  if (!data) return complain(data.error());
  const TrainingSetup setup{&options, std::move(sizes), std::move(device), std::move(*data)};
  const auto report = dryCheckWorkload(setup);
  if (!report) return complain(report.error());
  return answer(fd, dryCheckJson(*report, setup), report->fails() ? kExitFailed : kExitDone);
}

int runBenchmark(const Options& options, Sizes sizes, DeviceReport device, int fd) {
  if (device.selected != "mps") {
    const std::string why = "there is no mps to compare the CPU with: ";
    if (options.device == device.selected) {
      return complain(usageError(why + "--device is " + options.device));
    }
    return complain(failure(why + device.reason));
  }
  TrainingSetup setup{&options, std::move(sizes), std::move(device), {}};
  if (options.benchmark->needsModel()) {
    auto data = loadData(options);
    if (!data) return complain(data.error());
    setup.data = std::move(*data);
  }
  std::FILE* out = ::fdopen(fd, "w");
  if (!out) return complain(failure("the answer could not be written"));
  // False once nobody reads any more: the benchmark then ends.
  const auto print = [out](const nlohmann::ordered_json& json) {
    const std::string line = jsonLine(json) + '\n';
    return std::fwrite(line.data(), 1, line.size(), out) == line.size() && std::fflush(out) == 0;
  };
  const auto done = benchmark(setup, print);
  return done ? kExitDone : complain(done.error());
}

/// Has SIGALRM end the process in `ms` milliseconds.
void endProcessIn(std::uint32_t ms) {
  itimerval timer{};
  timer.it_value.tv_sec = ms / 1000;
  timer.it_value.tv_usec = static_cast<decltype(timer.it_value.tv_usec)>(ms % 1000) * 1000;
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

Result<std::vector<SelfCheck>> namedChecks(const std::string& names) {
  const std::vector<SelfCheck> all = selfChecks();
  std::vector<SelfCheck> named;
  std::istringstream words(names);
  for (std::string id; std::getline(words, id, ',');) {
    const auto check =
        std::find_if(all.begin(), all.end(), [&](const SelfCheck& each) { return each.id == id; });
    if (check == all.end()) {
      return usageError("--self-test " + id +
                        ": no check has that id; --self-test list prints all ids");
    }
    named.push_back(*check);
  }
  return named;
}

int runSelfTest(const Options& options, int fd) {
  if (options.selfTest == "list") return answer(fd, selfCheckListJson(), kExitDone);
  const auto checks = namedChecks(options.selfTest);
  if (!checks) return complain(checks.error());
  std::FILE* out = ::fdopen(fd, "w");
  if (!out) return complain(failure("the answers cannot be written"));
  const std::uint32_t limitMs =
      options.selfTestLimitMs > 0 ? options.selfTestLimitMs : kLongestCheckMs;
  endProcessIn(limitMs);
  const auto device = process::chooseDevice(options.device);
  const bool isMps = device && device->selected == "mps";
  for (const SelfCheck& check : *checks) {
    endProcessIn(limitMs);
    const auto begin = std::chrono::steady_clock::now();
    const CheckResult result =
        isMps ? runSelfCheck(check, device->simulated)
              : resultWithoutDevice(
                    check, device ? device->reason : std::string_view(device.error().message));
    const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - begin;
    nlohmann::ordered_json json = checkResultJson(result);
    json["id"] = check.id;
    json["time_ms"] = std::llround(ms.count());
    // The next check may end the process, so each answer leaves it at once.
    const std::string line = jsonLine(json) + '\n';
    if (std::fwrite(line.data(), 1, line.size(), out) != line.size() || std::fflush(out) != 0) {
      return complain(failure("the answer could not be written"));
    }
  }
  return kExitDone;
}

int runWorker(int argc, char** argv, int outFd) {
  const RunClock clock = RunClock::startingNow();
  auto parsed = parseOptions(argc, argv);
  if (!parsed) return complain(parsed.error());
  auto* options = std::get_if<Options>(&*parsed);
  if (!options) return kExitDone;

  if (auto fits = process::checkTorchVersion(); !fits) return complain(fits.error());
  for (const std::string& op : options->acceptedOps) {
    if (auto known = checkOpName(op); !known) return complain(known.error());
  }
  // A question must not overwrite the ledger of a run.
  const bool isQuestion =
      options->describe || options->dryCheck || options->benchmark || !options->selfTest.empty();
  if (isQuestion) ::unsetenv(kSimLedgerVariable);
  if (!options->selfTest.empty()) return runSelfTest(*options, outFd);
  auto device = process::chooseDevice(options->device);
  if (!device) return complain(device.error());
  auto sizes = resolveSizes(*options, device->selected == "mps" && !device->simulated);
  if (!sizes) return complain(sizes.error());
  const Activity activity("Highwater trains and measures");
  if (options->benchmark) {
    return runBenchmark(*options, std::move(*sizes), std::move(*device), outFd);
  }
  if (options->dryCheck) return runDryCheck(*options, std::move(*sizes), std::move(*device), outFd);
  auto connection = process::openConnection(options->host, outFd);
  if (!connection) return complain(connection.error());

  auto* worker = new Worker(std::move(*options), std::move(*sizes), std::move(*device),
                            std::move(*connection), clock);
  if (auto fine = worker->checkSettings(); !fine) return complain(fine.error());
  if (auto fine = worker->scheduleChanges(); !fine) return complain(fine.error());
  return worker->run();
}

}  // namespace

int main(int argc, char** argv) {
  const bool environmentChanged = process::setScenarioEnvironment(argc, argv);
  process::restartWithPassiveOpenMp(argv);
  if (environmentChanged) process::restart(argv);
  int outFd = -1;
  if (keepsStdout(argc, argv)) {
    const auto kept = process::takeStdoutForFrames();
    if (!kept) return complain(kept.error());
    outFd = *kept;
  }
  std::signal(SIGPIPE, SIG_IGN);
  int code = kExitFailed;
  try {
    code = runWorker(argc, argv, outFd);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "highwater-worker: %s\n", error.what());
  }
  process::finishSimulatedDevice();
  std::fflush(nullptr);
  // Not return: the thread that reads commands and libtorch's threads still run and must not use
  // destroyed globals.
  std::_Exit(code);
}
