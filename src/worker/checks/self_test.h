#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace highwater::worker {

/// A number that a check of the self-test measured.
struct Measure {
  std::string name;
  double value = 0;
  std::string unit;  ///< "bytes", "ms", or empty
};

/// The result of a check of the self-test.
struct CheckResult {
  /// What a check of the self-test found out about its assumption.
  enum class Outcome {
    kPass,
    kFail,     ///< the assumption does not hold
    kUnknown,  ///< no result: the machine was too busy, or the device offers nothing to check
    kSkipped,  ///< does not apply to this PyTorch or device
  };
  Outcome outcome = Outcome::kUnknown;
  std::string detail;  ///< what was observed, as a clause
  std::vector<Measure> measures;
};

/// A check of the self-test, which tests one assumption that the probe makes about the device. It
/// may hang or abort: its process then ends, and the checks after it get another one.
struct SelfCheck {
  std::string id;
  std::string assumption;  ///< one sentence
  std::string reliedOnBy;  ///< the source files that rely on it
  /// Environment of its process: NAME=VALUE, or NAME for a variable that must be unset. Checks with
  /// the same environment may share a process.
  std::vector<std::string> environment;
  /// The check, on the loaded device. An exception is a failure.
  std::function<CheckResult()> run;
  /// If not empty, the check also passes where the device cannot be loaded and the error contains
  /// this text.
  std::string refusal;
  /// The simulated device is known to behave differently; a failure there is skipped.
  bool simulatedDiffers = false;
};

/// Returns all checks in the order in which to run them: cheap and safe ones first.
[[nodiscard]] std::vector<SelfCheck> selfChecks();

/// Returns the list of checks, for the program that starts them, as an array of objects with `id`,
/// `assumption`, `relied_on_by` and `environment`.
[[nodiscard]] nlohmann::ordered_json selfCheckListJson();

/// Returns a check's result as an object with `outcome` ("pass", "fail", "unknown" or "skipped"),
/// `detail` and `measures`.
[[nodiscard]] nlohmann::ordered_json checkResultJson(const CheckResult& result);

/// Runs a check in this process and returns its result; an exception is a failure. `simulated`: the
/// loaded device is the simulated one, where a check may fail if it is known to behave differently
/// (result: skipped).
[[nodiscard]] CheckResult runSelfCheck(const SelfCheck& check, bool simulated);

/// Returns the result of a check where the device could not be loaded: pass if the error `why`
/// contains the text that the check expects (SelfCheck::refusal), else fail.
[[nodiscard]] CheckResult resultWithoutDevice(const SelfCheck& check, std::string_view why);

// The parts of selfChecks(), by subject.
/// Checks of the memory counters and the allocator; part of selfChecks().
[[nodiscard]] std::vector<SelfCheck> memoryChecks();
/// Checks of the memory limits; part of selfChecks().
[[nodiscard]] std::vector<SelfCheck> limitChecks();
/// Checks of timing events; part of selfChecks().
[[nodiscard]] std::vector<SelfCheck> eventChecks();
/// Checks of ops that fall back to the CPU; part of selfChecks().
[[nodiscard]] std::vector<SelfCheck> fallbackChecks();
/// Checks of the machine's readings, of names, and of when the device starts its work; part of
/// selfChecks().
[[nodiscard]] std::vector<SelfCheck> hostChecks();
/// Checks of what RecordFunction callbacks see; part of selfChecks().
[[nodiscard]] std::vector<SelfCheck> observerChecks();
/// Checks of ops that make the host wait for the device; part of selfChecks().
[[nodiscard]] std::vector<SelfCheck> waitChecks();

/// Makes the result of a check whose assumption holds.
[[nodiscard]] inline CheckResult passed(std::string detail, std::vector<Measure> measures = {}) {
  return {CheckResult::Outcome::kPass, std::move(detail), std::move(measures)};
}
/// Makes the result of a check whose assumption does not hold.
[[nodiscard]] inline CheckResult failed(std::string detail, std::vector<Measure> measures = {}) {
  return {CheckResult::Outcome::kFail, std::move(detail), std::move(measures)};
}
/// Makes the result of a check that could not tell whether its assumption holds.
[[nodiscard]] inline CheckResult unknown(std::string detail, std::vector<Measure> measures = {}) {
  return {CheckResult::Outcome::kUnknown, std::move(detail), std::move(measures)};
}
/// Makes the result of a check that does not apply to this PyTorch or device.
[[nodiscard]] inline CheckResult skipped(std::string detail) {
  return {CheckResult::Outcome::kSkipped, std::move(detail), {}};
}

}  // namespace highwater::worker
