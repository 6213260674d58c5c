#include "cli/compare_command.h"

#include <QJsonDocument>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "analysis/live_store.h"
#include "cli/report_command.h"
#include "cli/terminal.h"
#include "core/exit_codes.h"
#include "report/compare_report.h"
#include "run/recording_loader.h"

namespace highwater::cli {
namespace {

/// Reads a whole recording. Numbers of one that is cut off would not be those of the run.
Result<std::unique_ptr<analysis::LiveStore>> load(const std::string& name) {
  auto store = std::make_unique<analysis::LiveStore>();
  store->setMemoryBudget(kReportMemory);
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
  std::error_code ignored;
  if (std::filesystem::equivalent(options.a, options.b, ignored)) {
    printError(options.a + " and " + options.b + " are the same file; give two recordings");
    return kExitUsage;
  }
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
  const auto nameOf = [](const std::string& path) {
    return std::filesystem::path(path).filename().string();
  };
  const bool isAlike = nameOf(options.a) == nameOf(options.b);
  const report::CompareReport report{isAlike ? options.a : nameOf(options.a),
                                     isAlike ? options.b : nameOf(options.b), std::move(*compared),
                                     options.limits};
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
  const std::vector<std::string> failures = report.failures();
  for (const std::string& each : failures) printError(each);
  return failures.empty() ? kExitDone : kExitFailed;
}

}  // namespace highwater::cli
