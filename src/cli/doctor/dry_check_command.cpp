#include "cli/doctor/dry_check_command.h"

#include <QJsonArray>
#include <QJsonDocument>

#include "cli/doctor/doctor_command.h"
#include "cli/doctor/json_text.h"
#include "cli/sim_options.h"
#include "cli/terminal.h"
#include "core/exit_codes.h"
#include "core/plain_text.h"
#include "report/text_table.h"
#include "session/ask_worker.h"
#include "session/option_names.h"
#include "session/worker_launch.h"

namespace highwater::cli {
namespace {

constexpr std::chrono::minutes kLimit{10};  // enough for a big model on a slow CPU

std::string lastLineOf(const session::WorkerAnswer& answer) {
  if (answer.lastLines.isEmpty()) return "the worker printed no message";
  // Without the worker's name at its beginning.
  return answer.lastLines.back().section(QStringLiteral("highwater-worker: "), -1).toStdString();
}

Result<QJsonObject> askForReport(const session::LaunchOptions& launch) {
  const auto program = session::findWorker();
  if (!program) return program.error();
  const auto answer = session::askWorker(
      *program, session::workerArguments(launch) + QStringList{QStringLiteral("--dry-check")},
      launch.environment, kLimit);
  if (!answer) return answer.error();
  if (answer->isTimedOut) return failure("the worker gave no answer within ten minutes");
  const QJsonDocument document = QJsonDocument::fromJson(answer->out);
  if (document.isObject()) return document.object();
  if (answer->exit.signal != 0) {
    return failure("the worker ended by " + session::signalText(answer->exit.signal).toStdString());
  }
  return Error{answer->exit.exitCode == kExitUsage ? ErrorCode::kUsage : ErrorCode::kFailed,
               session::withOptionNames(lastLineOf(*answer), launch.environment)};
}

std::string phaseOf(const QJsonObject& place) {
  return plainText(place["phase"].toString().replace(u'_', u' ').toStdString());
}

std::string placesText(const QJsonArray& places) {
  std::string text;
  for (const QJsonValue& each : places) {
    const QJsonObject place = each.toObject();
    const std::string module = valueText(place["module"]);
    text += (text.empty() ? "" : ", ") + phaseOf(place) + (module.empty() ? "" : " in " + module);
    const int times = place["times"].toInt();
    if (times > 1) text += " (" + std::to_string(times) + " times)";
  }
  return text;
}

std::string findingText(const QJsonObject& finding) {
  const bool fails = finding["happens"] == QLatin1String("fails");
  const std::string happens =
      fails ? "fails: " + valueText(finding["error"]) : std::string("falls back to the CPU");
  const int times = finding["times_a_step"].toInt();
  return valueText(finding["op"]) + "  " + happens + ", " + std::to_string(times) +
         (times == 1 ? " time a step\n" : " times a step\n") + "    where  " +
         placesText(finding["places"].toArray()) + "\n    why    " + valueText(finding["why"]) +
         "\n    do     " + valueText(finding["advice"]) + "\n";
}

std::string headingText(const QJsonObject& report) {
  const QJsonObject workload = report["workload"].toObject();
  const std::string scenario = valueText(workload["scenario"]);
  const bool simulated = report["simulated"].toBool();
  return valueText(workload["name"]) + (scenario.empty() ? "" : ", scenario " + scenario) +
         ", preset " + valueText(workload["preset"]) + ", batch " +
         std::to_string(workload["batch"].toInt()) + ", length " +
         std::to_string(workload["seq"].toInt()) + ", against " +
         (simulated ? "the simulated mps (with the op table of PyTorch on a Mac)" : "mps") +
         " of PyTorch " + valueText(report["torch"]) + "\nCPU fallback " +
         (report["fallback_allowed"].toBool() ? "allowed" : "not allowed") +
         " (PYTORCH_ENABLE_MPS_FALLBACK)\n\n";
}

std::string unseenText(const QJsonArray& unseen) {
  if (unseen.isEmpty()) return {};
  std::string text = "Not checked, because they call other ops on mps than on the CPU:";
  for (const QJsonValue& each : unseen) text += ' ' + valueText(each["op"]);
  return text + '\n';
}

}  // namespace

std::string dryCheckText(const QJsonObject& report) {
  std::string text = headingText(report);
  for (const QJsonValue& each : report["findings"].toArray()) {
    text += findingText(each.toObject()) + '\n';
  }
  if (report["findings"].toArray().isEmpty()) text += "Every op would run on mps.\n\n";
  text += std::to_string(report["ops_checked"].toInt()) + " ops checked, " +
          std::to_string(report["ops_with_mps_kernel"].toInt()) + " have an MPS kernel.\n";
  return text + unseenText(report["unseen"].toArray());
}

int runDryCheck(const DoctorOptions& options) {
  const auto report = askForReport(options.launch);
  if (!report) return failWith(report.error());
  if (const auto printed = printAnswer(options, *report, dryCheckText(*report)); !printed) {
    printError(printed.error().message);
    return kExitFailed;
  }
  return (*report)["verdict"] == QLatin1String("fails") ? kExitFailed : kExitDone;
}

}  // namespace highwater::cli
