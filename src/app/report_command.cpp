#include "app/report_command.h"

#include <QJsonDocument>
#include <filesystem>

#include "analysis/live_store.h"
#include "analysis/run_summary.h"
#include "app/report_json.h"
#include "app/report_text.h"
#include "app/terminal.h"
#include "core/exit_codes.h"
#include "session/recording_loader.h"

namespace highwater::app {

int runReport(const ReportOptions& options) {
  const std::filesystem::path path = options.recording;
  analysis::LiveStore store;
  session::RecordingCondition condition;
  std::string problem;
  if (auto loaded = session::loadRecording(path, store)) {
    condition = *loaded;
    if (!condition.damage.empty()) problem = session::damageText(path, condition);
  } else {
    problem = loaded.error().message;
    condition.damage = {problem};
  }
  // Of a stream that is damaged on its way, what came before is shown.
  if (problem.empty() || store.hello()) {
    const analysis::RunSummary summary = analysis::summarize(store);
    if (options.json) {
      const QJsonDocument report(reportJson(store, summary, condition));
      print(report.toJson(QJsonDocument::Indented).toStdString());
    } else {
      print(reportText(path.filename().string(), store, summary, condition));
    }
  }
  if (problem.empty()) return kExitDone;
  printError(problem);
  return kExitFailed;
}

}  // namespace highwater::app
