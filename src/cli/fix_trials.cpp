#include "cli/fix_trials.h"

#include <algorithm>
#include <utility>

#include "analysis/tried_fix.h"
#include "cli/terminal.h"

namespace highwater::cli {
namespace {

/// Steps before a first look at the findings, and between two: gains are estimated from them.
constexpr std::size_t kStepsBetweenLooks = 60;

std::string tooShortText() {
  return "a try begins after " + std::to_string(kStepsBetweenLooks) +
         " steps, and takes at least 120 more";
}

}  // namespace

FixTrials::FixTrials(run::Run* run, std::vector<std::string> lines, bool all)
    : run_(run), lines_(std::move(lines)), all_(all) {
  if (!all_ && lines_.empty()) return;
  connect(run_, &run::Run::dataChanged, this, &FixTrials::look);
  connect(run_, &run::Run::tryChanged, this, &FixTrials::onTryChanged);
}

bool FixTrials::isWanted(const analysis::Finding& finding) const {
  if (finding.line.empty() || done_.contains(finding.line)) return false;
  return all_ ? finding.canBeTried && finding.readsForLog
              : std::find(lines_.begin(), lines_.end(), finding.line) != lines_.end();
}

void FixTrials::look() {
  const std::size_t steps = run_->store().steps().records.size();
  const bool trains = run_->state() == session::Session::State::kRunning;
  if (run_->tries() || !trains || steps < lookedAt_ + kStepsBetweenLooks) return;
  if (!all_ && done_.size() == lines_.size()) return;
  lookedAt_ = steps;
  const analysis::Findings findings = analysis::findProblems(run_->store());
  for (const analysis::Finding& each : findings.found) {
    if (!isWanted(each)) continue;
    done_.insert(each.line);
    if (auto started = run_->startTry(each); !started) {
      printError(each.line + " is not tried: " + started.error().message);
      continue;
    }
    printError("trying " + each.line +
               " without its waits, in turns; values that are read there are old ones meanwhile");
    return;
  }
}

void FixTrials::onTryChanged() {
  const run::TryRun* tried = run_->tried();
  if (!tried || tried->isRunning()) return;
  // The next one begins with steps as they are.
  lookedAt_ = run_->store().steps().records.size();
  if (const auto& fix = tried->result()) {
    printError("without the waits at " + fix->line + ": " + analysis::measuredGainText(fix->gain) +
               "; " + analysis::triedText(*fix));
  } else {
    printError(tried->line() + " was not tried: " + tried->problem());
  }
}

void FixTrials::conclude() {
  for (const std::string& line : lines_) {
    if (done_.contains(line)) continue;
    printError(lookedAt_ > 0 ? "no finding about waits was at " + line
                             : line + " was not tried: " + tooShortText());
  }
  if (all_ && done_.empty()) {
    printError(lookedAt_ > 0 ? "no finding was one that can be tried"
                             : "nothing was tried: " + tooShortText());
  }
}

}  // namespace highwater::cli
