#include "app/doctor_command.h"

#include <QJsonDocument>
#include <QSaveFile>

#include "app/doctor_report.h"
#include "app/dry_check_command.h"
#include "app/self_test_command.h"
#include "app/terminal.h"
#include "core/exit_codes.h"
#include "session/describe_worker.h"

namespace highwater::app {

namespace {

int describeMachine(const DoctorOptions& options) {
  const auto program = session::findWorker();
  const Diagnosis diagnosis{program ? *program : QString(), session::describeWorker(options.launch),
                            readSystemFacts(), options.launch.environment};
  const Result<void> told = tell(options, doctorJson(diagnosis), doctorText(diagnosis));
  if (!told) {
    printError(told.error().message);
    return kExitFailed;
  }
  if (diagnosis.worker) return kExitDone;
  printError(diagnosis.worker.error().message);
  return diagnosis.worker.error().code == ErrorCode::kUsage ? kExitUsage : kExitFailed;
}

}  // namespace

int runDoctor(const DoctorOptions& options) {
  switch (options.question) {
    case DoctorOptions::Question::kWorkload:
      return runDryCheck(options);
    case DoctorOptions::Question::kSelfTest:
      return runSelfTest(options);
    case DoctorOptions::Question::kMachine:
      return describeMachine(options);
  }
  return kExitFailed;
}

Result<void> tell(const DoctorOptions& options, const QJsonObject& json, const std::string& text) {
  const QByteArray bytes = QJsonDocument(json).toJson(QJsonDocument::Indented);
  if (options.json == "-") {
    print(bytes.toStdString());
    return {};
  }
  print(text);
  if (!options.json) return {};
  QSaveFile file(QString::fromStdString(*options.json));
  if (file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() && file.commit()) {
    return {};
  }
  return failure(*options.json + " cannot be written: " + file.errorString().toStdString());
}

}  // namespace highwater::app
