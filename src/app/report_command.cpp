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
  if (auto loaded = session::loadRecording(path, store); !loaded) {
    printError(loaded.error().message);
    return kExitFailed;
  }
  const analysis::RunSummary summary = analysis::summarize(store);
  if (options.json) {
    print(QJsonDocument(reportJson(store, summary)).toJson(QJsonDocument::Indented).toStdString());
  } else {
    print(reportText(path.filename().string(), store, summary));
  }
  return kExitDone;
}

}  // namespace highwater::app
