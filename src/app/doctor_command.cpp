#include "app/doctor_command.h"

#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>
#include <QSaveFile>

#include "app/doctor_report.h"
#include "app/dry_check_command.h"
#include "app/self_test_command.h"
#include "app/sim_options.h"
#include "app/terminal.h"
#include "core/exit_codes.h"
#include "session/describe_worker.h"

namespace highwater::app {

namespace {

Error notWritten(const QSaveFile& file) {
  return failure(file.fileName().toStdString() + " cannot be written: " +
                 file.errorString().toStdString() + "; name another file after --json");
}

/// An answer may take the place of an older one, but not of a recording that was named by mistake.
Result<void> checkReplaced(const QString& path) {
  const QFileInfo info(path);
  // QSaveFile would put a file in the place of a device.
  if (info.exists() && !info.isFile()) {
    return failure(path.toStdString() + " is not a regular file; name another file after --json");
  }
  QFile old(path);
  if (!info.exists() || !old.open(QIODevice::ReadOnly)) return {};
  const QByteArray begin = old.read(1);
  if (begin.isEmpty() || begin == "{") return {};
  return Error{ErrorCode::kExists, path.toStdString() +
                                       " exists and is not JSON, and is not overwritten; name "
                                       "another file after --json"};
}

/// Before the answer, which may take minutes. What the file holds stays as it is.
Result<void> checkJsonFile(const DoctorOptions& options) {
  if (!options.json || options.json == "-") return {};
  const QString path = QString::fromStdString(*options.json);
  if (auto replaced = checkReplaced(path); !replaced) return replaced;
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly)) return notWritten(file);
  file.cancelWriting();
  return {};
}

int describeMachine(const DoctorOptions& options) {
  const auto program = session::findWorker();
  const Diagnosis diagnosis{program ? *program : QString(), describedWorker(options.launch),
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

Result<Hello> describedWorker(const session::LaunchOptions& launch) {
  auto hello = session::describeWorker(launch);
  if (hello) return hello;
  return Error{hello.error().code, namedAsGiven(hello.error().message, launch.environment)};
}

int runDoctor(const DoctorOptions& options) {
  if (auto writable = checkJsonFile(options); !writable) {
    printError(writable.error().message);
    return kExitFailed;
  }
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
  // flush(): commit() alone may not notice that the disk is full.
  if (file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() && file.flush() &&
      file.commit()) {
    return {};
  }
  return notWritten(file);
}

}  // namespace highwater::app
