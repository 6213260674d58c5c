#include "simmps/policy/settings.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "core/option_values.h"
#include "core/units.h"
#include "simmps/policy/device_queue.h"
#include "simmps/policy/memory_range.h"
#include "simmps/policy/setting_values.h"

extern char** environ;

namespace highwater::simmps {
namespace {

// PyTorch's default_high_watermark_upper_bound.
constexpr double kHighestRatio = 2.0;
constexpr std::uint64_t kLeastRecommended = 16 * kMiB;
constexpr std::uint64_t kLeastSystem = 32 * kMiB;
constexpr std::uint64_t kMostMemory = 1024 * kGiB;
constexpr std::uint64_t kMostDelayNs = 1'000'000'000;
constexpr double kMostSlowdown = 1000;
/// After how much work MPSGraph commits by itself is not documented. More than a step of the small
/// preset has, so that what PyTorch commits decides.
constexpr std::uint64_t kDefaultCommitAfter = 500;

/// Reads the variables in turn; stops at the first invalid one.
class Reader {
 public:
  Reader(const Environment& environment, const Machine& machine)
      : environment_(environment), machine_(machine) {}

  std::variant<Settings, std::string> read() {
    checkNames();
    readMemory();
    readRatios();
    readDevice();
    readPower();
    readFaults();
    if (!problem_.empty()) return problem_;
    return settings_;
  }

 private:
  /// The variable's text; nullptr if it is not set, or after an error.
  const char* text(const char* variable) const {
    if (!problem_.empty()) return nullptr;
    const char* value = environment_.value(variable);
    return value && *value ? value : nullptr;
  }

  void refuse(const char* variable, std::string_view value, std::string_view allowed) {
    problem_ = refusal(variable, value, allowed);
  }

  void checkNames() {
    std::vector<std::string> known;
    for (const SimKnob& knob : kSimKnobs) known.push_back(knob.variable);
    for (const std::string& name : environment_.names) {
      if (name.compare(0, kSimPrefix.size(), kSimPrefix) != 0) continue;
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      std::ostringstream out;
      const auto near = nearestWords(name, known);
      out << name << " is not a setting of the simulated mps device; "
          << (near.empty() ? "see docs/simulated-mps.md"
                           : "did you mean " + alternatives(near) + "?");
      problem_ = out.str();
      return;
    }
  }

  void readBytes(const char* variable, std::uint64_t least, std::string_view range,
                 std::uint64_t& target) {
    const char* given = text(variable);
    if (!given) return;
    const auto bytes = parseBytes(given, variable);
    if (!bytes || *bytes < least || *bytes > kMostMemory) {
      refuse(variable, given,
             "bytes, or a number with KiB, MiB or GiB, from " + std::string(range));
      return;
    }
    target = *bytes;
  }

  void readMemory() {
    AllocatorLimits& limits = settings_.limits;
    settings_.systemBytes = machine_.memoryBytes;
    readBytes(kSimSystemVariable, kLeastSystem, "32 MiB to 1024 GiB", settings_.systemBytes);
    limits.recommendedBytes = settings_.systemBytes / 4 * 3;
    settings_.maxBufferBytes = settings_.systemBytes / 4 * 3;
    readBytes(kSimRecommendedVariable, kLeastRecommended, "16 MiB to 1024 GiB",
              limits.recommendedBytes);
    readOtherMemory();
    readBytes(kSimHiddenGrowthVariable, 0, "0 to 1024 GiB", settings_.hiddenGrowthBytes);
    readBytes(kSimGraphCacheVariable, 0, "0 to 1024 GiB", settings_.graphCacheBytes);
    if (!problem_.empty()) return;
    if (limits.recommendedBytes > settings_.systemBytes) {
      refuseMoreThanSystem();
    } else if (text(kSimRecommendedVariable) || text(kSimSystemVariable)) {
      if (machine_.canReserve && !machine_.canReserve(limits.recommendedBytes)) {
        refuseUnreservable();
      }
    }
  }

  void readOtherMemory() {
    const char* given = text(kSimOtherVariable);
    if (!given) return;
    auto parsed = parseOtherMemory(kSimOtherVariable, given);
    if (auto* problem = std::get_if<std::string>(&parsed)) {
      problem_ = std::move(*problem);
    } else {
      settings_.otherMemory = std::move(std::get<OtherMemory>(parsed));
    }
  }

  void readPower() {
    if (const char* given = text(kSimThermalVariable)) {
      auto parsed = parseThermalStates(kSimThermalVariable, given);
      if (auto* problem = std::get_if<std::string>(&parsed)) {
        problem_ = std::move(*problem);
      } else {
        settings_.thermalStates = std::move(std::get<ThermalStates>(parsed));
      }
    }
    if (const char* given = text(kSimLowPowerVariable)) {
      const std::string_view value = given;
      if (value != "0" && value != "1") refuse(kSimLowPowerVariable, value, "0 (off) or 1 (on)");
      settings_.lowPower = value == "1";
    }
  }

  void refuseMoreThanSystem() {
    const char* system = text(kSimSystemVariable);
    std::ostringstream allowed;
    allowed << "at most the system's memory, which is " << settings_.systemBytes << " bytes (";
    if (system) {
      allowed << kSimSystemVariable << ": \"" << system << "\")";
    } else {
      allowed << "this machine's; --sim-system-memory or " << kSimSystemVariable
              << " sets another)";
    }
    refuse(kSimRecommendedVariable, text(kSimRecommendedVariable), allowed.str());
  }

  void refuseUnreservable() {
    const char* variable =
        text(kSimRecommendedVariable) ? kSimRecommendedVariable : kSimSystemVariable;
    refuse(variable, text(variable),
           "less than this process can reserve of its address space (ulimit -v, overcommit)");
  }

  /// False if the text is no number from 0 to `most`.
  static bool isRatio(const char* given, double most, double& target) {
    const auto ratio = parseNumber(given);
    if (!ratio || !ratio->rest.empty() || ratio->value < 0 || ratio->value > most) return false;
    target = ratio->value;
    return true;
  }

  void readRatios() {
    AllocatorLimits& limits = settings_.limits;
    const char* high = text(kMpsHighWatermarkVariable);
    if (high && !isRatio(high, kHighestRatio, limits.highWatermarkRatio)) {
      refuse(kMpsHighWatermarkVariable, high,
             "a number from 0.0 (no limit) to 2.0, a multiple of the recommended max");
    }
    const double most = limits.highWatermarkRatio == 0 ? kHighestRatio : limits.highWatermarkRatio;
    std::ostringstream allowed;
    allowed << "a number from 0.0 (off) to " << most;
    if (limits.highWatermarkRatio != 0) allowed << ", the high watermark ratio";
    const char* low = text(kMpsLowWatermarkVariable);
    if (low && !isRatio(low, most, limits.lowWatermarkRatio)) {
      refuse(kMpsLowWatermarkVariable, low, allowed.str());
    }
    if (problem_.empty() && limits.lowWatermarkRatio > most) {
      // PyTorch refuses this too ("invalid low watermark ratio 1.4").
      std::ostringstream out;
      out << kMpsLowWatermarkVariable << ": its default 1.4 is over the high watermark ratio "
          << most << " (" << kMpsHighWatermarkVariable << "); give " << allowed.str() << ".";
      problem_ = out.str();
    }
  }

  /// Whether the variable has `changed` and not `usual`, which is the default.
  bool isChanged(const char* variable, std::string_view usual, std::string_view changed) {
    const char* given = text(variable);
    if (!given || given == usual) return false;
    if (given != changed) {
      refuse(variable, given, std::string(changed) + " or " + std::string(usual));
    }
    return true;
  }

  void readDevice() {
    settings_.asynchronous = !isChanged(kSimQueueVariable, "async", "sync");
    settings_.lateNotices = isChanged(kSimNoticesVariable, "queue", "late");
    settings_.limitsRequestsOnly = isChanged(kSimLimitVariable, "heaps", "requests");
    settings_.plainOutOfMemory = isChanged(kSimOutOfMemoryErrorVariable, "typed", "plain");
    if (const char* given = text(kSimCommitVariable)) readCommit(given);
    if (const char* given = text(kMpsFallbackVariable)) {
      // PyTorch takes any number but 0 as on.
      const auto number = wholeNumber(given);
      if (!number) refuse(kMpsFallbackVariable, given, "a whole number: 0 (off) or 1 (on)");
      settings_.cpuFallback = number.value_or(0) != 0;
    }
    if (const char* given = text(kSimLedgerVariable)) settings_.ledgerFile = given;
    if (const char* given = text(kSimMissingOpsVariable)) {
      auto names = parseOpNames(given);
      if (!names) {
        refuse(kSimMissingOpsVariable, given,
               "names of ops with commas between, as in kthvalue,aten::mode.values");
      } else {
        settings_.missingOps = std::move(*names);
      }
    }
  }

  void readCommit(std::string_view given) {
    constexpr std::string_view kDeferred = "deferred";
    if (given == "eager") return;
    if (given == kDeferred) {
      settings_.commitAfter = kDefaultCommitAfter;
      return;
    }
    if (given.starts_with("deferred:")) {
      const auto kernels = parseWhole<std::uint64_t>(
          kSimCommitVariable, given.substr(kDeferred.size() + 1), 1, DeviceQueue::kMaxPending);
      if (kernels) {
        settings_.commitAfter = *kernels;
        return;
      }
    }
    refuse(kSimCommitVariable, given,
           "eager, deferred, or deferred:N with N from 1 to " +
               std::to_string(DeviceQueue::kMaxPending));
  }

  /// nullopt if the text is not exactly one number that fits an int.
  static std::optional<int> wholeNumber(const char* given) {
    char* end = nullptr;
    errno = 0;
    const long number = std::strtol(given, &end, 10);
    if (errno != 0 || end == given || *end != '\0' || !std::in_range<int>(number)) {
      return std::nullopt;
    }
    return static_cast<int>(number);
  }

  void readFaults() {
    if (const char* given = text(kSimLaunchDelayVariable)) {
      const auto delay = parseDurationNs(given);
      if (!delay || *delay > kMostDelayNs) {
        refuse(kSimLaunchDelayVariable, given,
               "microseconds, or a number with us or ms, from 0 to 1000 ms");
      } else {
        settings_.launchDelayNs = *delay;
      }
    }
    if (const char* given = text(kSimSlowdownVariable)) {
      const auto factor = parseNumber(given);
      if (!factor || !factor->rest.empty() || factor->value < 1 || factor->value > kMostSlowdown) {
        refuse(kSimSlowdownVariable, given, "a number from 1 (none) to 1000");
      } else {
        settings_.slowdown = factor->value;
      }
    }
    readNumberOf(kSimOutOfMemoryAtVariable, "allocation", settings_.outOfMemoryAt);
    readNumberOf(kSimHangAtVariable, "kernel", settings_.hangAt);
    readNumberOf(kSimCrashAtVariable, "kernel", settings_.crashAt);
  }

  void readNumberOf(const char* variable, const char* what, std::uint64_t& target) {
    const char* given = text(variable);
    if (!given) return;
    const auto number = parseWhole<std::uint64_t>(variable, given, 1);
    if (!number) {
      refuse(variable, given,
             "the number of the " + std::string(what) + ", a whole number from 1 on");
      return;
    }
    target = *number;
  }

  const Environment& environment_;
  const Machine& machine_;
  Settings settings_;
  std::string problem_;
};

}  // namespace

Environment processEnvironment() {
  Environment environment;
  environment.value = [](const char* name) { return std::getenv(name); };
  for (char** variable = environ; variable && *variable; ++variable) {
    const std::string_view entry = *variable;
    const auto equals = entry.find('=');
    // An empty value counts as not set.
    if (equals == std::string_view::npos || equals + 1 == entry.size()) continue;
    environment.names.emplace_back(entry.substr(0, equals));
  }
  return environment;
}

Machine thisMachine() {
  Machine machine;
  machine.memoryBytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                        static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  machine.canReserve = [](std::uint64_t bytes) { return MemoryRange::reserve(bytes).has_value(); };
  return machine;
}

std::variant<Settings, std::string> readSettings(const Environment& environment,
                                                 const Machine& machine) {
  return Reader(environment, machine).read();
}

}  // namespace highwater::simmps
