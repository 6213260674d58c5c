#include "cli/doctor/interpreter_check.h"

#include <QFileInfo>
#include <QJsonDocument>
#include <QProcess>
#include <QProcessEnvironment>
#include <QStandardPaths>
#include <algorithm>

#include "cli/doctor/doctor_command.h"
#include "cli/terminal.h"
#include "core/exit_codes.h"
#include "session/interpreters.h"
#include "session/python_package.h"

namespace highwater::cli {
namespace {

QProcessEnvironment environmentOfCheck() {
  auto environment = QProcessEnvironment::systemEnvironment();
  const QString theirs = environment.value(QStringLiteral("PYTHONPATH"));
  const QString package = session::pythonPackageFolder();
  environment.insert(QStringLiteral("PYTHONPATH"),
                     theirs.isEmpty() ? package : package + ':' + theirs);
  const auto variable = QLatin1String(session::kScriptLibraryVariable);
  if (!environment.contains(variable)) {
    environment.insert(variable, session::scriptLibraryFolder());
  }
  return environment;
}

/// The interpreter's answer. Fails with kNotFound where there is no such program, else with
/// kFailed.
Result<QJsonObject> askInterpreter(const QString& interpreter) {
  const std::string name = interpreter.toStdString();
  const QFileInfo file(interpreter);
  const bool isProgram = !QStandardPaths::findExecutable(interpreter).isEmpty() ||
                         (file.isExecutable() && !file.isDir());
  if (!isProgram) {
    return Error{ErrorCode::kNotFound,
                 "there is no interpreter " + name +
                     "; name the Python that runs your script, for example .venv/bin/python"};
  }
  QProcess process;
  process.setProcessEnvironment(environmentOfCheck());
  process.setProcessChannelMode(QProcess::ForwardedErrorChannel);  // the progress of a build
  process.setStandardInputFile(QProcess::nullDevice());
  process.setWorkingDirectory(session::kFolderOfQuestions);
  process.start(interpreter.contains(u'/') ? file.absoluteFilePath() : interpreter,
                {QStringLiteral("-m"), QStringLiteral("highwater_mps._doctor")});
  if (!process.waitForStarted(-1)) {
    return failure(name + " cannot be started: " + process.errorString().toStdString());
  }
  process.waitForFinished(-1);
  // A sitecustomize may print, too.
  for (const QByteArray& line : process.readAllStandardOutput().split('\n')) {
    const QJsonDocument answer = QJsonDocument::fromJson(line);
    if (answer.isObject() && answer.object().contains(QStringLiteral("problem"))) {
      return answer.object();
    }
  }
  const std::string how = process.exitStatus() == QProcess::CrashExit
                              ? "it crashed"
                              : "it ended with exit code " + std::to_string(process.exitCode());
  return failure(name + " does not work as a Python 3 interpreter: " + how +
                 " when asked for its PyTorch");
}

std::string row(const char* name, const QString& value) {
  std::string text(name);
  text.resize(std::max<std::size_t>(text.size() + 2, 14), ' ');
  return text + value.toStdString() + "\n";
}

QString originText(const QString& origin) {
  if (origin == QLatin1String("prebuilt")) return QStringLiteral("came with Highwater");
  if (origin == QLatin1String("cached")) return QStringLiteral("built earlier, from the cache");
  return QStringLiteral("built just now");
}

QString mpsText(const QJsonObject& report) {
  if (report[QLatin1String("mps_available")].toBool()) return QStringLiteral("available");
  if (report[QLatin1String("mps_built")].toBool()) {
    return QStringLiteral("built, but not available on this machine");
  }
#ifdef __linux__
  return QStringLiteral("not built; highwater run --device sim simulates it");
#else
  return QStringLiteral("not built");
#endif
}

}  // namespace

std::string interpreterText(const QJsonObject& report) {
  const auto text = [&report](const char* key) { return report[QLatin1String(key)].toString(); };
  std::string out = row("Interpreter", text("interpreter")) + row("Python", text("python"));
  if (report.contains(QLatin1String("torch"))) {
    out += row("PyTorch", text("torch") + ", " + text("torch_folder"));
    out += row("C++ ABI", text("cxx_abi"));
    const QString compiler = text("compiler");
    out += row("Compiler", compiler.isEmpty() ? QStringLiteral("none") : compiler);
    out += row("Cache", text("cache"));
  }
  if (report.contains(QLatin1String("library"))) {
    out += row("Library", text("library") + " (" + originText(text("origin")) + ')');
  }
  if (report.contains(QLatin1String("mps_built"))) out += row("MPS", mpsText(report));
  if (text("problem").isEmpty()) {
    out += "\nScripts of this interpreter can be watched: highwater run --record FILE -- " +
           text("interpreter").toStdString() + " train.py\n";
  }
  return out;
}

int runInterpreterCheck(const DoctorOptions& options) {
  const auto report = askInterpreter(options.interpreter);
  if (!report) {
    printError(report.error().message);
    return report.error().code == ErrorCode::kNotFound ? kExitUsage : kExitFailed;
  }
  if (auto printed = printAnswer(options, *report, interpreterText(*report)); !printed) {
    printError(printed.error().message);
    return kExitFailed;
  }
  const QString problem = (*report)[QLatin1String("problem")].toString();
  if (problem.isEmpty()) return kExitDone;
  printError("scripts of this interpreter cannot be watched: " + problem.toStdString());
  return kExitFailed;
}

}  // namespace highwater::cli
