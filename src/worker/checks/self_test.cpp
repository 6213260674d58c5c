#include "worker/checks/self_test.h"

#include <exception>
#include <iterator>
#include <nlohmann/json.hpp>

#include "worker/training/training_errors.h"

namespace highwater::worker {

using Json = nlohmann::ordered_json;

namespace {

const char* outcomeKey(CheckResult::Outcome outcome) {
  switch (outcome) {
    case CheckResult::Outcome::kPass:
      return "pass";
    case CheckResult::Outcome::kFail:
      return "fail";
    case CheckResult::Outcome::kSkipped:
      return "skipped";
    case CheckResult::Outcome::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace

std::vector<SelfCheck> selfChecks() {
  std::vector<SelfCheck> all;
  for (auto part : {memoryChecks, limitChecks, fallbackChecks, observerChecks, hostChecks,
                    eventChecks, waitChecks}) {
    auto checks = part();
    std::move(checks.begin(), checks.end(), std::back_inserter(all));
  }
  return all;
}

Json selfCheckListJson() {
  Json all = Json::array();
  for (const SelfCheck& each : selfChecks()) {
    all.push_back({{"id", each.id},
                   {"assumption", each.assumption},
                   {"relied_on_by", each.reliedOnBy},
                   {"environment", each.environment}});
  }
  return all;
}

Json checkResultJson(const CheckResult& result) {
  Json measures = Json::array();
  for (const Measure& each : result.measures) {
    measures.push_back({{"name", each.name}, {"value", each.value}, {"unit", each.unit}});
  }
  return {{"outcome", outcomeKey(result.outcome)},
          {"detail", result.detail},
          {"measures", std::move(measures)}};
}

CheckResult runSelfCheck(const SelfCheck& check, bool simulated) {
  CheckResult result;
  try {
    result = check.run();
  } catch (const std::exception& error) {
    result = failed("it threw: " + firstLine(error));
  }
  const bool isFailure = result.outcome == CheckResult::Outcome::kFail;
  if (isFailure && simulated && check.simulatedDiffers) {
    result.outcome = CheckResult::Outcome::kSkipped;
    result.detail = "the simulated device is known to differ here: " + result.detail;
  }
  return result;
}

CheckResult resultWithoutDevice(const SelfCheck& check, std::string_view why) {
  const std::string reason(why);
  if (!check.refusal.empty() && reason.find(check.refusal) != std::string::npos) {
    return passed("refused: " + reason);
  }
  return failed("the device cannot be used: " + reason);
}

}  // namespace highwater::worker
