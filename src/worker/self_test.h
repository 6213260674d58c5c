#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace highwater::worker {

/// A number that a check has measured.
struct Measure {
  std::string name;
  double value = 0;
  std::string unit;  ///< "bytes", "ms", or empty
};

/// What came of a check.
struct CheckResult {
  enum class Outcome {
    kPass,
    kFail,     ///< the device does something else
    kUnknown,  ///< it could not be told: the machine was too busy, or there was nothing to see
    kSkipped,  ///< this PyTorch does not have it, and we do without
  };
  Outcome outcome = Outcome::kUnknown;
  std::string detail;  ///< one clause: what was seen
  std::vector<Measure> measures;
};

/// Something that the probe takes for granted about the device, and how to see whether it holds.
/// Each check runs in a process of its own, so that it may hang or abort.
struct SelfCheck {
  std::string id;
  std::string assumption;  ///< one sentence
  std::string reliedOnBy;  ///< files of src/
  /// What its process needs: NAME=VALUE, or NAME alone where it must not be set.
  std::vector<std::string> environment;
  /// On the device; may throw, which is a failure.
  std::function<CheckResult()> run;
  /// Where not empty, a device that refuses to be loaded with this in its words passes.
  std::string refusal;
  /// The simulated device is known to do something else: there it is no failure.
  bool simulatedDiffers = false;
};

/// All checks in the order in which they run: the cheap and the safe ones first.
[[nodiscard]] std::vector<SelfCheck> selfChecks();

/// The checks that there are, for who starts them: an array of objects with `id`, `assumption`,
/// `relied_on_by` and `environment`.
[[nodiscard]] std::string selfCheckListJson();

/// `outcome` ("pass", "fail", "unknown", "skipped"), `detail` and `measures`.
[[nodiscard]] std::string checkResultJson(const CheckResult& result);

/// Runs a check; whatever it throws is its failure.
[[nodiscard]] CheckResult runSelfCheck(const SelfCheck& check, bool simulated);

/// The result of a check whose process could not load the device.
[[nodiscard]] CheckResult resultWithoutDevice(const SelfCheck& check, std::string_view why);

// The parts of the list, by what they are about.
[[nodiscard]] std::vector<SelfCheck> memoryChecks();
[[nodiscard]] std::vector<SelfCheck> limitChecks();
[[nodiscard]] std::vector<SelfCheck> eventChecks();
[[nodiscard]] std::vector<SelfCheck> fallbackChecks();
[[nodiscard]] std::vector<SelfCheck> observerChecks();
[[nodiscard]] std::vector<SelfCheck> waitChecks();

[[nodiscard]] inline CheckResult passed(std::string detail, std::vector<Measure> measures = {}) {
  return {CheckResult::Outcome::kPass, std::move(detail), std::move(measures)};
}
[[nodiscard]] inline CheckResult failed(std::string detail, std::vector<Measure> measures = {}) {
  return {CheckResult::Outcome::kFail, std::move(detail), std::move(measures)};
}
[[nodiscard]] inline CheckResult unknown(std::string detail, std::vector<Measure> measures = {}) {
  return {CheckResult::Outcome::kUnknown, std::move(detail), std::move(measures)};
}
[[nodiscard]] inline CheckResult skipped(std::string detail) {
  return {CheckResult::Outcome::kSkipped, std::move(detail), {}};
}

}  // namespace highwater::worker
