#include "cli/report_command.h"

#include <QJsonDocument>
#include <cstdio>
#include <filesystem>

#include "analysis/live_store.h"
#include "analysis/run_summary.h"
#include "cli/terminal.h"
#include "core/exit_codes.h"
#include "report/report_json.h"
#include "report/report_text.h"
#include "run/recording_loader.h"

namespace highwater::cli {
int runReport(const ReportOptions& options) {
  const std::filesystem::path path = options.recording;
  analysis::LiveStore store;
  store.setMemoryBudget(kReportMemory);
  RecordingCondition condition;
  std::string problem;
  if (auto loaded = run::loadReadablePart(path, store)) {
    condition = *loaded;
    if (!condition.damage.empty()) problem = run::damageText(path, condition);
  } else {
    problem = loaded.error().message;
    condition.damage = {problem};
  }
  // If the stream is damaged, the report shows what came before.
  if (problem.empty() || store.hello()) {
    const analysis::RunSummary summary = analysis::summarize(store);
    if (options.json) {
      const QJsonDocument report(report::reportJson(store, summary, condition));
      print(report.toJson(QJsonDocument::Indented).toStdString());
    } else {
      // Markdown does not depend on a terminal.
      constexpr std::size_t kMarkdownWidth = 100;
      const auto write = options.markdown ? &report::reportMarkdown : &report::reportText;
      print(write(
          path.filename().string(), store, summary, condition,
          {.width = options.markdown ? kMarkdownWidth : textWidth(stdout), .full = options.full}));
    }
  }
  if (problem.empty()) return kExitDone;
  printError(problem);
  return kExitFailed;
}

}  // namespace highwater::cli
