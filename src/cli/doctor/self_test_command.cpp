#include "cli/doctor/self_test_command.h"

#include <QDateTime>
#include <QElapsedTimer>
#include <QJsonArray>
#include <QJsonDocument>
#include <algorithm>
#include <chrono>

#include "cli/doctor/doctor_command.h"
#include "cli/doctor/doctor_report.h"
#include "cli/doctor/self_test_report.h"
#include "cli/terminal.h"
#include "core/exit_codes.h"
#include "core/sim_knobs.h"
#include "session/ask_worker.h"
#include "session/worker_launch.h"

namespace highwater::cli {
namespace {

constexpr int kSchema = 1;
/// Time limit of all checks together; checks that would start later are skipped.
constexpr std::chrono::seconds kWholeLimit{115};
constexpr std::chrono::seconds kListLimit{60};

/// Unsets the variables that change the tested device; the command line and checks may set them
/// again.
QStringList neutralEnvironment() {
  return {QLatin1String(kMpsFallbackVariable), QLatin1String(kMpsHighWatermarkVariable),
          QLatin1String(kMpsLowWatermarkVariable), QLatin1String(kMpsDebugVariable)};
}

QString outcomeOfEnd(const session::WorkerAnswer& answer, QString& detail) {
  if (answer.isTimedOut) {
    detail = QStringLiteral("hung: no answer within the time limit, so it was killed");
  } else if (answer.exit.signal != 0) {
    detail = QStringLiteral("the process ended by ") + session::signalText(answer.exit.signal);
  } else {
    detail = QStringLiteral("the process ended with exit code %1 and no answer")
                 .arg(answer.exit.exitCode);
  }
  if (!answer.lastLines.isEmpty()) {
    detail += QStringLiteral("; its last line: ") + answer.lastLines.back();
  }
  return QStringLiteral("fail");
}

/// Runs the checks of the worker one after the other.
class SelfTest {
 public:
  SelfTest(QString program, const DoctorOptions& options, std::chrono::milliseconds checkLimit)
      : program_(std::move(program)), options_(options), checkLimit_(checkLimit) {}

  Result<QJsonArray> run() {
    auto list = askForList();
    if (!list) return list.error();
    clock_.start();
    QJsonArray done;
    if (auto known = checkNames(*list); !known) return known.error();
    for (const QJsonValue& each : *list) {
      if (isWanted(each["id"].toString())) done.append(runCheck(each.toObject()));
    }
    return done;
  }
  [[nodiscard]] qint64 elapsedMs() const { return clock_.elapsed(); }

 private:
  Result<session::WorkerAnswer> ask(const QString& what, const QStringList& environment,
                                    std::chrono::milliseconds limit) const {
    return session::askWorker(
        program_,
        {QStringLiteral("--device"), options_.launch.device, QStringLiteral("--self-test"), what},
        environment, limit);
  }

  [[nodiscard]] Result<QJsonArray> askForList() const {
    const auto answer = ask(QStringLiteral("list"), {}, kListLimit);
    if (!answer) return answer.error();
    const QJsonDocument list = QJsonDocument::fromJson(answer->out);
    if (list.isArray() && !list.array().isEmpty()) return list.array();
    return failure("the worker did not list its checks" +
                   (answer->lastLines.isEmpty() ? std::string()
                                                : ": " + answer->lastLines.back().toStdString()));
  }

  static bool isNamed(const QString& id, const QString& name) {
    return id == name || id.startsWith(name + u'-');
  }

  [[nodiscard]] bool isWanted(const QString& id) const {
    const QStringList& wanted = options_.checks;
    return wanted.isEmpty() || std::any_of(wanted.begin(), wanted.end(),
                                           [&](const QString& name) { return isNamed(id, name); });
  }

  [[nodiscard]] Result<void> checkNames(const QJsonArray& list) const {
    QStringList ids;
    for (const QJsonValue& each : list) ids << each["id"].toString();
    for (const QString& name : options_.checks) {
      const bool known =
          std::any_of(ids.begin(), ids.end(), [&](const QString& id) { return isNamed(id, name); });
      if (known) continue;
      return usageError("--selftest " + name.toStdString() + ": no check is called so; there are " +
                        ids.join(QStringLiteral(", ")).toStdString());
    }
    return {};
  }

  [[nodiscard]] QStringList environmentOf(const QJsonObject& check) const {
    QStringList environment = neutralEnvironment() + options_.launch.environment;
    for (const QJsonValue& entry : check["environment"].toArray()) {
      environment << entry.toString();
    }
    return environment;
  }

  QJsonObject runCheck(QJsonObject check) {
    const auto left = kWholeLimit - std::chrono::milliseconds(clock_.elapsed());
    const auto limit = std::min<std::chrono::milliseconds>(left, checkLimit_);
    if (limit <= std::chrono::seconds(1)) {
      check["outcome"] = QStringLiteral("skipped");
      check["detail"] = QStringLiteral("the two minutes of the self-test were over");
      return check;
    }
    QElapsedTimer timer;
    timer.start();
    const auto answer = ask(check["id"].toString(), environmentOf(check), limit);
    check["time_ms"] = timer.elapsed();
    if (!answer) {
      check["outcome"] = QStringLiteral("unknown");
      check["detail"] = QString::fromStdString(answer.error().message);
      return check;
    }
    addResult(*answer, check);
    return check;
  }

  static void addResult(const session::WorkerAnswer& answer, QJsonObject& check) {
    const QJsonDocument result = QJsonDocument::fromJson(answer.out);
    if (result.isObject() && !answer.isTimedOut) {
      for (const char* member : {"outcome", "detail", "measures"}) {
        check[QLatin1String(member)] = result[QLatin1String(member)];
      }
      return;
    }
    QString detail;
    check["outcome"] = outcomeOfEnd(answer, detail);
    check["detail"] = detail;
  }

  QString program_;
  const DoctorOptions& options_;
  std::chrono::milliseconds checkLimit_;
  QElapsedTimer clock_;
};

QJsonObject countsOf(const QJsonArray& checks) {
  QJsonObject counts{{"pass", 0}, {"fail", 0}, {"unknown", 0}, {"skipped", 0}};
  for (const QJsonValue& each : checks) {
    const QString outcome = each["outcome"].toString();
    counts[outcome] = counts[outcome].toInt() + 1;
  }
  return counts;
}

int fail(const Error& error) {
  printError(error.message);
  return error.code == ErrorCode::kUsage ? kExitUsage : kExitFailed;
}

}  // namespace

int runSelfTest(const DoctorOptions& options) {
  const auto program = session::findWorker();
  if (!program) return fail(program.error());
  const Diagnosis diagnosis{*program, describedWorker(options.launch), readSystemFacts(),
                            options.launch.environment};
  if (!diagnosis.worker) return fail(diagnosis.worker.error());
  if (diagnosis.worker->device.selected != "mps") {
    return fail(failure("there is no mps to test: " + diagnosis.worker->device.reason));
  }
  const auto limits = session::readSupervisionLimits();
  if (!limits) return fail(limits.error());
  SelfTest test(*program, options, limits->silence);
  const auto checks = test.run();
  if (!checks) return fail(checks.error());

  // Begins with the doctor's report on machine, versions and environment.
  QJsonObject report = doctorJson(diagnosis);
  report["schema"] = kSchema;
  report["date"] = QDateTime::currentDateTimeUtc().toString(Qt::ISODate);
  report["checks"] = *checks;
  report["counts"] = countsOf(*checks);
  report["time_ms"] = test.elapsedMs();
  if (const auto printed = printAnswer(options, report, selfTestText(report)); !printed) {
    return fail(printed.error());
  }
  return report["counts"].toObject()["fail"].toInt() > 0 ? kExitFailed : kExitDone;
}

}  // namespace highwater::cli
