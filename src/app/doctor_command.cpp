#include "app/doctor_command.h"

#include <QJsonDocument>

#include "app/doctor_report.h"
#include "app/terminal.h"
#include "core/exit_codes.h"
#include "session/describe_worker.h"

namespace highwater::app {

int runDoctor(const DoctorOptions& options) {
  const auto program = session::findWorker();
  const Diagnosis diagnosis{program ? *program : QString(), session::describeWorker(options.launch),
                            readSystemFacts(), options.launch.environment};
  print(options.json
            ? QJsonDocument(doctorJson(diagnosis)).toJson(QJsonDocument::Indented).toStdString()
            : doctorText(diagnosis));
  if (diagnosis.worker) return kExitDone;
  printError(diagnosis.worker.error().message);
  return diagnosis.worker.error().code == ErrorCode::kUsage ? kExitUsage : kExitFailed;
}

}  // namespace highwater::app
