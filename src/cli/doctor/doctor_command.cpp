#include "cli/doctor/doctor_command.h"

#include <QJsonDocument>

#include "cli/doctor/doctor_report.h"
#include "cli/doctor/dry_check_command.h"
#include "cli/doctor/interpreter_check.h"
#include "cli/doctor/report_archive.h"
#include "cli/doctor/self_test_command.h"
#include "cli/output_file.h"
#include "cli/sim_options.h"
#include "cli/terminal.h"
#include "core/exit_codes.h"
#include "session/describe_worker.h"
#include "session/option_names.h"

namespace highwater::cli {

namespace {

int describeMachine(const DoctorOptions& options) {
  const auto program = session::findWorker();
  const Diagnosis diagnosis{program ? *program : QString(), describedWorker(options.launch),
                            readSystemFacts(), options.launch.environment, readPowerState()};
  const Result<void> printed = printAnswer(options, doctorJson(diagnosis), doctorText(diagnosis));
  if (!printed) {
    printError(printed.error().message);
    return kExitFailed;
  }
  if (diagnosis.worker) return kExitDone;
  printError(diagnosis.worker.error().message);
  return diagnosis.worker.error().code == ErrorCode::kUsage ? kExitUsage : kExitFailed;
}

}  // namespace

Result<Hello> describedWorker(const session::LaunchOptions& launch) {
  auto hello = session::describeWorker(launch);
  if (hello) return hello;
  return Error{hello.error().code,
               session::withOptionNames(hello.error().message, launch.environment)};
}

int runDoctor(const DoctorOptions& options) {
  if (options.json && options.json != "-") {
    if (auto writable = checkJsonFile(*options.json, "--json"); !writable) {
      printError(writable.error().message);
      return kExitFailed;
    }
  }
  switch (options.question) {
    case DoctorOptions::Question::kWorkload:
      return runDryCheck(options);
    case DoctorOptions::Question::kSelfTest:
      return runSelfTest(options);
    case DoctorOptions::Question::kPython:
      return runInterpreterCheck(options);
    case DoctorOptions::Question::kReport:
      return runReportArchive(options);
    case DoctorOptions::Question::kMachine:
      return describeMachine(options);
  }
  return kExitFailed;
}

std::string jsonText(const QJsonObject& json) {
  return QJsonDocument(json).toJson(QJsonDocument::Indented).toStdString();
}

Result<void> saveAnswer(const DoctorOptions& options, const QJsonObject& json) {
  if (!options.json || options.json == "-") return {};
  return saveNamed(*options.json, QByteArray::fromStdString(jsonText(json)), "--json");
}

Result<void> printAnswer(const DoctorOptions& options, const QJsonObject& json,
                         const std::string& text) {
  if (options.json == "-") {
    print(jsonText(json));
    return {};
  }
  print(text);
  return saveAnswer(options, json);
}

}  // namespace highwater::cli
