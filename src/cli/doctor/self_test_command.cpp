#include "cli/doctor/self_test_command.h"

#include <QDateTime>
#include <QElapsedTimer>
#include <QJsonArray>
#include <QJsonDocument>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <vector>

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
/// Time limits of all checks together.
constexpr std::chrono::seconds kSimulatedLimit{115};
constexpr std::chrono::seconds kDeviceLimit{300};
/// What a process takes to load libtorch and to end.
constexpr std::chrono::seconds kGrace{10};
constexpr std::chrono::seconds kListLimit{60};

/// Unsets the variables that change the tested device; the command line and checks may set them
/// again.
QStringList neutralEnvironment() {
  return {QLatin1String(kMpsFallbackVariable), QLatin1String(kMpsHighWatermarkVariable),
          QLatin1String(kMpsLowWatermarkVariable), QLatin1String(kMpsDebugVariable)};
}

/// The result of a check that ended its process. `wholeLimit`: the time of all checks was over.
QJsonObject resultOfEnd(const session::WorkerAnswer& answer, bool wholeLimit) {
  QString detail;
  if (answer.isTimedOut && wholeLimit) {
    return {{"outcome", "skipped"}, {"detail", "the time of the self-test was over while it ran"}};
  }
  if (answer.isTimedOut || answer.exit.signal == SIGALRM) {
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
  return {{"outcome", "fail"}, {"detail", detail}};
}

/// Called after each check with all results so far.
using Saved = std::function<Result<void>(const QJsonArray&)>;

/// Runs the checks of the worker. Those with the same environment share a process; where one hangs
/// or ends it, the rest get another one.
class SelfTest {
 public:
  struct Limits {
    std::chrono::milliseconds check;  ///< for one check
    std::chrono::milliseconds whole;  ///< for all; checks that would start later are skipped
  };

  SelfTest(QString program, const DoctorOptions& options, Limits limits, Saved save)
      : program_(std::move(program)), options_(options), limits_(limits), save_(std::move(save)) {}

  Result<QJsonArray> run() {
    auto list = askForList();
    if (!list) return list.error();
    clock_.start();
    if (auto known = checkNames(*list); !known) return known.error();
    for (const QJsonValue& each : *list) {
      if (isWanted(each["id"].toString())) checks_.append(each);
    }
    for (qsizetype i = 0; i < checks_.size(); ++i) {
      if (!isDone(i)) runGroup(i);
      if (problem_) return *problem_;
    }
    return checks_;
  }
  [[nodiscard]] qint64 elapsedMs() const { return clock_.elapsed(); }

 private:
  [[nodiscard]] QStringList arguments(const QString& what) const {
    return {QStringLiteral("--device"),          QString::fromStdString(options_.launch.device),
            QStringLiteral("--self-test"),       what,
            QStringLiteral("--self-test-limit"), QString::number(limits_.check.count())};
  }

  [[nodiscard]] Result<QJsonArray> askForList() const {
    const auto answer =
        session::askWorker(program_, arguments(QStringLiteral("list")), {}, kListLimit);
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

  [[nodiscard]] QStringList environmentOf(const QJsonArray& own) const {
    QStringList environment = neutralEnvironment() + options_.launch.environment;
    for (const QJsonValue& entry : own) environment << entry.toString();
    return environment;
  }

  [[nodiscard]] bool isDone(qsizetype index) const {
    return checks_[index].toObject().contains(QLatin1String("outcome"));
  }

  void setResult(qsizetype index, const QJsonObject& result) {
    QJsonObject check = checks_[index].toObject();
    for (const char* member : {"outcome", "detail", "measures", "time_ms"}) {
      if (result.contains(QLatin1String(member))) {
        check[QLatin1String(member)] = result[QLatin1String(member)];
      }
    }
    checks_[index] = check;
    if (const auto saved = save_(checks_); !saved) problem_ = saved.error();
  }

  /// The check and all later ones with its environment that have no result yet.
  [[nodiscard]] std::vector<qsizetype> groupFrom(qsizetype first) const {
    const QJsonArray environment = checks_[first][QLatin1String("environment")].toArray();
    std::vector<qsizetype> group;
    for (qsizetype i = first; i < checks_.size(); ++i) {
      if (!isDone(i) && checks_[i][QLatin1String("environment")].toArray() == environment) {
        group.push_back(i);
      }
    }
    return group;
  }

  /// Runs checks in one process, up to the first one that ends it.
  void runGroup(qsizetype first) {
    const auto left = limits_.whole - std::chrono::milliseconds(clock_.elapsed());
    if (left <= std::chrono::seconds(1)) {
      setResult(first, {{"outcome", "skipped"},
                        {"detail", QStringLiteral("the %1 s of the self-test were over")
                                       .arg(limits_.whole.count() / 1000)}});
      return;
    }
    const std::vector<qsizetype> group = groupFrom(first);
    QStringList ids;
    for (const qsizetype index : group) ids << checks_[index][QLatin1String("id")].toString();
    QElapsedTimer timer;  // of the check that runs
    timer.start();
    const auto take = [&](const QByteArray& line) {
      timer.start();
      const QJsonObject result = QJsonDocument::fromJson(line).object();
      const qsizetype at = ids.indexOf(result[QLatin1String("id")].toString());
      if (at >= 0) setResult(group[static_cast<std::size_t>(at)], result);
    };
    // The worker ends a check that hangs; where even that fails, this does.
    const auto limit =
        std::min<std::chrono::milliseconds>(left, limits_.check * (ids.size() + 1) + kGrace);
    const auto answer = session::askWorker(
        program_, arguments(ids.join(u',')),
        environmentOf(checks_[first][QLatin1String("environment")].toArray()), limit, take);
    const auto open = std::find_if(group.begin(), group.end(),
                                   [this](qsizetype index) { return !isDone(index); });
    if (open == group.end()) return;
    QJsonObject result =
        answer ? resultOfEnd(*answer, left <= limit)
               : QJsonObject{{"outcome", "unknown"}, {"detail", text(answer.error().message)}};
    result["time_ms"] = timer.elapsed();
    setResult(*open, result);
  }

  static QString text(const std::string& message) { return QString::fromStdString(message); }

  QString program_;
  const DoctorOptions& options_;
  Limits limits_;
  Saved save_;
  QElapsedTimer clock_;
  QJsonArray checks_;
  std::optional<Error> problem_;
};

QJsonObject countsOf(const QJsonArray& checks) {
  QJsonObject counts{{"pass", 0}, {"fail", 0}, {"unknown", 0}, {"skipped", 0}};
  for (const QJsonValue& each : checks) {
    const QString outcome = each["outcome"].toString();
    if (outcome.isEmpty()) continue;  // not run yet
    counts[outcome] = counts[outcome].toInt() + 1;
  }
  return counts;
}

int fail(const Error& error) {
  printError(error.message);
  return error.code == ErrorCode::kUsage ? kExitUsage : kExitFailed;
}

/// The words in which the system says why it cannot load the worker, or the worker why it does not
/// run, and the libraries that it is linked to, with the paths where they are found.
QJsonObject loaderReport(const QString& program) {
  QJsonObject report{{"program", program}};
  const auto ask = [&](const QString& tool, const QStringList& arguments, const char* member) {
    const auto answer = session::askWorker(tool, arguments, {}, kListLimit);
    QStringList lines = answer ? answer->lastLines : QStringList();
    if (answer) lines = QString::fromUtf8(answer->out).split(u'\n', Qt::SkipEmptyParts) + lines;
    if (!answer) lines << QString::fromStdString(answer.error().message);
    report[QLatin1String(member)] = QJsonArray::fromStringList(lines);
    if (answer && tool == program) {
      report["exit_code"] = answer->exit.exitCode;
      report["signal"] = answer->exit.signal;
    }
  };
  ask(program, {QStringLiteral("--version")}, "says");
#ifdef __APPLE__
  ask(QStringLiteral("otool"), {QStringLiteral("-L"), program}, "linked_libraries");
  ask(QStringLiteral("otool"), {QStringLiteral("-l"), program}, "load_commands");
#else
  ask(QStringLiteral("ldd"), {program}, "linked_libraries");
#endif
  return report;
}

/// The report so far: it begins with the doctor's on machine, versions and environment.
QJsonObject reportOf(const Diagnosis& diagnosis, const QJsonArray& checks, bool complete) {
  QJsonObject report = doctorJson(diagnosis);
  report["schema"] = kSchema;
  report["date"] = QDateTime::currentDateTimeUtc().toString(Qt::ISODate);
  report["complete"] = complete;
  report["checks"] = checks;
  report["counts"] = countsOf(checks);
  return report;
}

/// Reports why no check can be run, and what tells the reason of that.
int cannotRun(const DoctorOptions& options, const Diagnosis& diagnosis, const Error& error) {
  QJsonObject report = reportOf(diagnosis, {}, false);
  report["problem"] = QString::fromStdString(error.message);
  if (!diagnosis.workerProgram.isEmpty()) report["loader"] = loaderReport(diagnosis.workerProgram);
  const Result<void> saved = saveAnswer(options, report);
  if (options.json == "-") print(jsonText(report));
  const int code = fail(error);
  if (!saved) return fail(saved.error());
  if (options.json && options.json != "-") {
    printError("the reason and what the machine says of it are in " + *options.json);
  }
  return code;
}

}  // namespace

int runSelfTest(const DoctorOptions& options) {
  const auto program = session::findWorker();
  const Diagnosis diagnosis{program ? *program : QString(), describedWorker(options.launch),
                            readSystemFacts(), options.launch.environment};
  if (!program) return cannotRun(options, diagnosis, program.error());
  if (!diagnosis.worker) return cannotRun(options, diagnosis, diagnosis.worker.error());
  if (diagnosis.worker->device.selected != "mps") {
    return cannotRun(options, diagnosis,
                     failure("there is no mps to test: " + diagnosis.worker->device.reason));
  }
  const auto limits = session::readSupervisionLimits();
  if (!limits) return fail(limits.error());
  const auto whole = diagnosis.worker->device.simulated ? kSimulatedLimit : kDeviceLimit;
  SelfTest test(*program, options, {limits->silence, whole}, [&](const QJsonArray& checks) {
    return saveAnswer(options, reportOf(diagnosis, checks, false));
  });
  const auto checks = test.run();
  if (!checks) {
    if (checks.error().code == ErrorCode::kUsage) return fail(checks.error());
    return cannotRun(options, diagnosis, checks.error());
  }
  QJsonObject report = reportOf(diagnosis, *checks, true);
  report["time_ms"] = test.elapsedMs();
  if (const auto printed = printAnswer(options, report, selfTestText(report)); !printed) {
    return fail(printed.error());
  }
  return report["counts"].toObject()["fail"].toInt() > 0 ? kExitFailed : kExitDone;
}

}  // namespace highwater::cli
