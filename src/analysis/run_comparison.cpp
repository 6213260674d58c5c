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
    if (knob.declaredAt.empty()) continue;
    all.emplace_back("knob " + knob.name + ", at last", valueText(knob, knob.value));
  }
  for (const EnvironmentEntry& each : hello.environment) {
    all.emplace_back(each.name, each.value.value_or("not set"));
  }
  all.emplace_back("level at last",
                   store.hello() ? std::string(probeLevelKey(store.probeLevel())) : "");
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
    const std::string unit(a.rateUnit() == "tokens/s" ? "tokens" : "samples");
    const bool isOneBatch = !numbers.sizesA.empty() && numbers.sizesA == numbers.sizesB;
    cautions.push_back("A step of A has " + formatDecimals(numbers.tokensA, 0) + ' ' + unit +
                       ", one of B " + formatDecimals(numbers.tokensB, 0) +
                       (isOneBatch ? ", in batches of one size: they are counted by the backwards "
                                     "of a step. "
                                   : ". ") +
                       (numbers.rate() ? "Compare the throughput, not the time of a step."
                                       : "Times of their steps do not compare."));
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
  } else if ((a.ops().endRow() > 0) != (b.ops().endRow() > 0)) {
    cautions.emplace_back(
        "One run recorded every op (level ops), which takes the host some time of its own.");
  }
  for (const auto& [name, store] : {std::pair("A", &a), std::pair("B", &b)}) {
    if (store->end() && store->end()->reason == RunEnd::Reason::kFinished) continue;
    cautions.push_back(std::string(name) + " did not run to its end" +
                       (store->end() ? ": " + store->end()->message + '.' : "."));
  }
  cautions.emplace_back(
      "The noise is that of the steps within the runs: whole runs of one program differ as well. "
      "Repeat both to be sure.");
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
  // The file may have another name as well.
  take([&](const Finding& x, const Finding& y) {
    return isAlike(x, y) && x.line.empty() == y.line.empty();
  });
  // Of several ops on a line some may be others.
  take([](const Finding& x, const Finding& y) {
    const bool isLine = x.kind == y.kind && !x.line.empty() && x.line == y.line;
    return isLine && std::any_of(x.ops.begin(), x.ops.end(), [&](const std::string& op) {
             return std::find(y.ops.begin(), y.ops.end(), op) != y.ops.end();
           });
  });
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
  // What was not looked for is not gone.
  if (a.isUnobserved() || b.isUnobserved()) {
    compared.numbers.ops.clear();
    return compared;
  }
  compared.gone = compared.a.found;
  compared.come = compared.b.found;
  takeSame(compared.gone, compared.come);
  const ComparedFact* time = compared.numbers.find("step_ms.p50");
  if (!time || !time->differs()) {
    for (auto* findings : {&compared.gone, &compared.come}) {
      std::erase_if(*findings, [](const Finding& each) { return each.vague; });
    }
  }
  return compared;
}

}  // namespace highwater::analysis
