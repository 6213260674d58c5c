#include "analysis/run_comparison.h"

#include <algorithm>

#include "core/knobs.h"
#include "core/names.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

std::string numberOrEmpty(std::uint64_t number) {
  return number > 0 ? std::to_string(number) : std::string();
}

/// What a recording says of the run, by the names for people. Empty: not told.
std::vector<std::pair<std::string, std::string>> settingsOf(const LiveStore& store) {
  std::vector<std::pair<std::string, std::string>> all;
  const Hello hello = store.hello() ? *store.hello() : Hello();
  const RunDescription run = store.run() ? *store.run() : RunDescription();
  const Knobs& knobs = run.knobs;
  all.emplace_back("device", store.hello() ? std::string(deviceLabel(hello.device)) : "");
  all.emplace_back("PyTorch", hello.torchVersion);
  all.emplace_back("platform", hello.platform);
  all.emplace_back("program", run.workload);
  all.emplace_back("scenario", run.scenario);
  all.emplace_back("preset", run.preset);
  all.emplace_back("model", run.model);
  all.emplace_back("optimizer", run.optimizer);
  all.emplace_back("data type", run.dtype);
  all.emplace_back("parameters", numberOrEmpty(run.parameters));
  all.emplace_back("batch size at first", numberOrEmpty(knobs.batchSize));
  all.emplace_back("sequence length at first", numberOrEmpty(knobs.sequenceLength));
  if (!run.ownScript && store.run()) {
    all.emplace_back("loss read every", numberOrEmpty(knobs.lossEvery));
    all.emplace_back("accumulation", numberOrEmpty(knobs.accumulation));
    all.emplace_back("precision", knobs.precision == Precision::kUnknown
                                      ? std::string()
                                      : std::string(precisionName(knobs.precision)));
  }
  if (run.loader) all.emplace_back("loader workers", std::to_string(run.loader->workers));
  for (const ScriptKnob& knob : store.scriptKnobs()) {
    if (!knob.declaredAt.empty()) all.emplace_back(knob.name, valueText(knob, knob.value));
  }
  all.emplace_back("level", store.hello() ? std::string(probeLevelKey(store.probeLevel())) : "");
  return all;
}

std::string valueOf(const std::vector<std::pair<std::string, std::string>>& settings,
                    const std::string& name) {
  for (const auto& [each, value] : settings) {
    if (each == name && !value.empty()) return value;
  }
  return {};
}

std::vector<DifferentSetting> differentSettings(const LiveStore& a, const LiveStore& b) {
  const auto ofA = settingsOf(a), ofB = settingsOf(b);
  std::vector<DifferentSetting> different;
  const auto add = [&](const std::string& name) {
    const std::string inA = valueOf(ofA, name), inB = valueOf(ofB, name);
    const bool isThere = std::any_of(different.begin(), different.end(),
                                     [&](const auto& each) { return each.name == name; });
    if (inA == inB || isThere) return;
    const auto told = [](const std::string& value) { return value.empty() ? "unknown" : value; };
    different.push_back({name, told(inA), told(inB)});
  };
  for (const auto& [name, value] : ofA) add(name);
  for (const auto& [name, value] : ofB) add(name);
  return different;
}

bool iterates(const LiveStore& store) {
  return store.run() && store.run()->stepsAre == StepsAre::kIterations;
}

std::vector<std::string> cautionsOf(const LiveStore& a, const LiveStore& b,
                                    const RunComparison& compared) {
  std::vector<std::string> cautions;
  const Comparison& numbers = compared.numbers;
  const bool isSimulated = a.simulated() || b.simulated();
  if (a.simulated() != b.simulated()) {
    cautions.emplace_back(
        "One device is simulated: neither times nor memory of it are those of a Mac.");
  } else if (a.hello() && b.hello() && a.hello()->device.selected != b.hello()->device.selected) {
    cautions.emplace_back("The runs trained on different devices.");
  } else if (isSimulated) {
    cautions.emplace_back("Both devices are simulated: times are not those of a Mac.");
  }
  if (!numbers.sameTokens) {
    cautions.push_back("A step of A has other sizes than one of B" +
                       (numbers.sizesA.empty() || numbers.sizesB.empty()
                            ? std::string()
                            : " (" + numbers.sizesA + " and " + numbers.sizesB + ")") +
                       ": compare the throughput, not the time of a step.");
  }
  if (a.rateUnit() != b.rateUnit()) {
    cautions.emplace_back("One run counts tokens a second, the other samples.");
  }
  if (iterates(a) != iterates(b)) {
    cautions.emplace_back(
        "The steps of one run are calls of the model, those of the other train it.");
  }
  if (a.isUnobserved() != b.isUnobserved()) {
    cautions.emplace_back("One run did not record waits, fallbacks and phases (level off).");
  } else if (a.probeLevel() != b.probeLevel()) {
    cautions.emplace_back(
        "One run recorded every op (level ops), which takes the host some time of its own.");
  }
  if (std::min(numbers.a.steps, numbers.b.steps) < kLeastComparedSteps) {
    cautions.push_back("Too few steps to tell a change from chance: each run needs " +
                       std::to_string(kLeastComparedSteps) + ".");
  }
  return cautions;
}

std::vector<ComparedRegion> regionsOf(const LiveStore& a, const LiveStore& b) {
  const TimeAccount ofA = accountTime(a), ofB = accountTime(b);
  std::vector<ComparedRegion> regions;
  for (std::size_t i = 0; i < kRegions; ++i) {
    const auto region = static_cast<Region>(i);
    const std::int64_t inA = ofA.nsIn(region), inB = ofB.nsIn(region);
    if (inA > 0 || inB > 0) regions.push_back({region, toMs(inA), toMs(inB)});
  }
  return regions;
}

/// The file of a line of code: "train.py" of "train.py:41".
std::string_view fileOf(std::string_view line) {
  return line.substr(0, line.rfind(':'));
}

/// Takes out of `left` what is also in `right`, one for one: those of the same line first, so that
/// a line that has moved is found among the rest.
void takeSame(std::vector<Finding>& left, std::vector<Finding>& right) {
  const auto take = [&](auto&& isSame) {
    for (auto each = left.begin(); each != left.end();) {
      const auto found = std::find_if(right.begin(), right.end(),
                                      [&](const Finding& other) { return isSame(*each, other); });
      if (found == right.end()) {
        ++each;
        continue;
      }
      right.erase(found);
      each = left.erase(each);
    }
  };
  const auto isAlike = [](const Finding& x, const Finding& y) {
    return x.kind == y.kind && x.ops == y.ops;
  };
  take([&](const Finding& x, const Finding& y) { return isAlike(x, y) && x.line == y.line; });
  take([&](const Finding& x, const Finding& y) {
    return isAlike(x, y) && fileOf(x.line) == fileOf(y.line);
  });
  // The longest of several ops may be another one.
  take([](const Finding& x, const Finding& y) { return x.kind == y.kind && x.line == y.line; });
}

}  // namespace

Result<RunComparison> compareRecordings(const LiveStore& a, const LiveStore& b) {
  auto numbers = compareRuns(a, b);
  if (!numbers) {
    const bool both = a.steps().records.empty() && b.steps().records.empty();
    return Error{ErrorCode::kFailed, std::string(both                        ? "A and B have"
                                                 : a.steps().records.empty() ? "A has"
                                                                             : "B has") +
                                         " no finished step, so there is nothing to compare"};
  }
  RunComparison compared;
  compared.numbers = std::move(*numbers);
  compared.settings = differentSettings(a, b);
  compared.cautions = cautionsOf(a, b, compared);
  compared.regions = regionsOf(a, b);
  compared.a = findProblems(a);
  compared.b = findProblems(b);
  compared.gone = compared.a.found;
  compared.come = compared.b.found;
  takeSame(compared.gone, compared.come);
  return compared;
}

}  // namespace highwater::analysis
