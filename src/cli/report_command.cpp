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

std::string loadForReport(const std::filesystem::path& path, analysis::LiveStore& store,
                          RecordingCondition& condition) {
  store.setMemoryBudget(kReportMemory);
  auto loaded = run::loadReadablePart(path, store);
  if (!loaded) {
    condition.damage = {loaded.error().message};
    return loaded.error().message;
  }
  condition = *loaded;
  return condition.damage.empty() ? std::string() : run::damageText(path, condition);
}

int runReport(const ReportOptions& options) {
  const std::filesystem::path path = options.recording;
  analysis::LiveStore store;
  RecordingCondition condition;
  const std::string problem = loadForReport(path, store, condition);
  // If the stream is damaged, the report shows what came before.
  if (problem.empty() || store.hello()) {
    const analysis::RunSummary summary = analysis::summarize(store);
    if (options.json) {
      const QJsonDocument report(report::reportJson(store, summary, condition));
      print(report.toJson(QJsonDocument::Indented).toStdString());
    } else {
      const std::string title = path.filename().string();
      print(options.markdown
                ? report::reportMarkdown(title, store, summary, condition,
                                         {.width = kFixedWidth, .full = options.full})
                : report::reportText(title, store, summary, condition,
                                     {.width = textWidth(stdout), .full = options.full}));
    }
  }
  if (problem.empty()) return kExitDone;
  printError(problem);
  return kExitFailed;
}

}  // namespace highwater::cli
