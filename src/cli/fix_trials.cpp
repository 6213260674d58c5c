#include "cli/fix_trials.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/tried_fix.h"
#include "cli/terminal.h"

namespace highwater::cli {
namespace {

/// Steps before a first look at the findings, and between two: gains are estimated from them.
constexpr std::size_t kStepsBetweenLooks = 60;

std::string tooShortText() {
  return "a try begins after " + std::to_string(kStepsBetweenLooks) +
         " steps, and takes at least 120 more and 5 s";
}

}  // namespace

FixTrials::FixTrials(run::Run* run, TriedOptions options)
    : run_(run), options_(std::move(options)) {
  if (!options_.any()) return;
  connect(run_, &run::Run::dataChanged, this, &FixTrials::look);
  connect(run_, &run::Run::tryChanged, this, &FixTrials::onTryChanged);
  // One that continues another begins with steps as they are.
  connect(run_, &run::Run::runReplaced, this, [this] { lookedAt_ = 0; });
}

bool FixTrials::isWanted(const analysis::Finding& finding) const {
  const bool isNew = !finding.line.empty() && !done_.contains(finding.line);
  if (!isNew || !analysis::isOfWaits(finding)) return false;
  const bool isNamed =
      std::find(options_.lines.begin(), options_.lines.end(), finding.line) != options_.lines.end();
  return isNamed || (options_.all && finding.canBeTried && finding.readsForLog);
}

void FixTrials::look() {
  const std::size_t steps = run_->store().steps().records.size();
  const bool trains = run_->state() == session::Session::State::kRunning;
  if (run_->tries() || !trains || steps < lookedAt_ + kStepsBetweenLooks) return;
  const bool looksForLines = options_.all || done_.size() < options_.lines.size();
  if (!looksForLines && knobsDone_ == options_.knobs.size()) return;
  lookedAt_ = steps;
  if (!looksForLines || !tryFinding()) tryNextKnob();
}

/// Whether one is tried now.
bool FixTrials::tryFinding() {
  std::vector<analysis::Finding> found = analysis::findProblems(run_->store()).found;
  for (const std::string& line : options_.lines) {
    if (done_.contains(line)) continue;
    if (auto waits = analysis::waitsAt(run_->store(), line)) found.push_back(std::move(*waits));
  }
  for (const analysis::Finding& each : found) {
    if (!isWanted(each)) continue;
    done_.insert(each.line);
    if (auto started = run_->startTry(each); !started) {
      printError(each.line + " is not tried: " + started.error().message);
      continue;
    }
    printError("trying " + each.line + " without its waits, in turns" +
               (analysis::readsWhereTried(run_->store(), each)
                    ? "; values that are read there are old ones meanwhile"
                    : ""));
    return true;
  }
  return false;
}

void FixTrials::tryNextKnob() {
  while (knobsDone_ < options_.knobs.size()) {
    auto [knob, value] = options_.knobs[knobsDone_++];
    // A name may have a "=" too.
    const std::string whole = knob + '=' + value;
    for (const ScriptKnob& each : run_->store().scriptKnobs()) {
      if (each.name.size() <= knob.size() || !whole.starts_with(each.name + '=')) continue;
      knob = each.name;
      value = whole.substr(knob.size() + 1);
    }
    if (auto started = run_->startTry(knob, value); !started) {
      printError(knob + '=' + value + " is not tried: " + started.error().message);
      continue;
    }
    printError("trying " + knob + " = " + value +
               " in turns with what it was; the training is another one meanwhile");
    return;
  }
}

void FixTrials::onTryChanged() {
  const run::TryRun* tried = run_->tried();
  if (!tried || tried->isRunning()) return;
  // The next one begins with steps as they are.
  lookedAt_ = run_->store().steps().records.size();
  printError(tried->text());
}

void FixTrials::conclude() {
  for (const std::string& line : options_.lines) {
    if (done_.contains(line)) continue;
    printError(lookedAt_ > 0 ? "no wait was seen at " + line
                             : line + " was not tried: " + tooShortText());
  }
  for (; knobsDone_ < options_.knobs.size(); ++knobsDone_) {
    const auto& [knob, value] = options_.knobs[knobsDone_];
    printError(knob + '=' + value + " was not tried: " + tooShortText());
  }
  if (options_.all && done_.empty()) {
    printError(lookedAt_ > 0 ? "no finding was one that can be tried"
                             : "nothing was tried: " + tooShortText());
  }
}

}  // namespace highwater::cli
