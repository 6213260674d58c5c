#include "worker/self_test.h"

#include <exception>
#include <iterator>

#include "worker/json_text.h"
#include "worker/training_errors.h"

namespace highwater::worker {
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

std::string describe(const SelfCheck& check) {
  std::vector<std::string> environment;
  for (const std::string& each : check.environment) environment.push_back(jsonString(each));
  return JsonText()
      .add("id", check.id)
      .add("assumption", check.assumption)
      .add("relied_on_by", check.reliedOnBy)
      .addJson("environment", jsonArray(environment))
      .text();
}

}  // namespace

std::vector<SelfCheck> selfChecks() {
  std::vector<SelfCheck> all;
  for (auto part :
       {memoryChecks, limitChecks, fallbackChecks, observerChecks, eventChecks, waitChecks}) {
    auto checks = part();
    std::move(checks.begin(), checks.end(), std::back_inserter(all));
  }
  return all;
}

std::string selfCheckListJson() {
  std::vector<std::string> all;
  for (const SelfCheck& each : selfChecks()) all.push_back(describe(each));
  return jsonArray(all);
}

std::string checkResultJson(const CheckResult& result) {
  std::vector<std::string> measures;
  for (const Measure& each : result.measures) {
    measures.push_back(
        JsonText().add("name", each.name).add("value", each.value).add("unit", each.unit).text());
  }
  return JsonText()
      .add("outcome", outcomeKey(result.outcome))
      .add("detail", result.detail)
      .addJson("measures", jsonArray(measures))
      .text();
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
