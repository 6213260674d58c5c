#include "cli/compare_command.h"

#include <QJsonDocument>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "analysis/live_store.h"
#include "cli/terminal.h"
#include "core/exit_codes.h"
#include "report/compare_report.h"
#include "run/recording_loader.h"

namespace highwater::cli {
namespace {

/// What each recording may take in memory, in bytes: half of what a report's may.
constexpr std::size_t kMemoryBudgetOfEach = std::size_t{144} << 20;

/// Reads a whole recording. Numbers of one that is cut off would not be those of the run.
Result<std::unique_ptr<analysis::LiveStore>> load(const std::string& name) {
  auto store = std::make_unique<analysis::LiveStore>();
  store->setMemoryBudget(kMemoryBudgetOfEach);
  auto condition = run::loadReadablePart(name, *store);
  if (!condition) return condition.error();
  if (!condition->damage.empty()) {
    return Error{ErrorCode::kMalformed, run::damageText(name, *condition)};
  }
  if (condition->beingWritten) {
    return Error{ErrorCode::kFailed,
                 '"' + name + "\" is still being written; compare it when the run is over"};
  }
  return store;
}

}  // namespace

int runCompare(const CompareOptions& options) {
  const auto a = load(options.a), b = load(options.b);
  for (const auto* each : {&a, &b}) {
    if (!*each) printError(each->error().message);
  }
  if (!a || !b) return kExitFailed;
  auto compared = analysis::compareRecordings(**a, **b);
  if (!compared) {
    printError(compared.error().message);
    return kExitFailed;
  }
  const report::CompareReport report{std::filesystem::path(options.a).filename().string(),
                                     std::filesystem::path(options.b).filename().string(),
                                     std::move(*compared), options.limits};
  switch (options.form) {
    case CompareOptions::Form::kText:
      print(report::compareText(report, textWidth(stdout)));
      break;
    case CompareOptions::Form::kMarkdown:
      print(report::compareMarkdown(report));
      break;
    case CompareOptions::Form::kJson:
      print(
          QJsonDocument(report::compareJson(report)).toJson(QJsonDocument::Indented).toStdString());
      break;
  }
  if (!report.fails()) return kExitDone;
  for (const analysis::FactLimit& limit : report.limits) {
    const auto outcome = analysis::judge(limit, report.compared.numbers);
    if (outcome == analysis::LimitOutcome::kBroken) {
      printError("the limit \"" + limit.text + "\" is broken");
    } else if (outcome == analysis::LimitOutcome::kUnknown) {
      printError("the limit \"" + limit.text +
                 "\" cannot be judged: the number is not known of both runs, or there are too few "
                 "steps");
    }
  }
  return kExitFailed;
}

}  // namespace highwater::cli
