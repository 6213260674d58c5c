#include "window/start/script_request.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QRegularExpression>
#include <QStandardPaths>

#include "run/recordings_folder.h"
#include "session/remote_start.h"
#include "session/shell_words.h"
#include "window/start/script_environment.h"
#include "window/tr.h"

namespace highwater::window {
namespace {

/// The option of a Python command line that makes it ignore PYTHONPATH, by which Highwater
/// attaches; empty if there is none.
QString isolatingOption(const QStringList& command) {
  static const QRegularExpression python(QStringLiteral("^python[0-9.]*$"));
  if (!python.match(QFileInfo(command.value(0)).fileName()).hasMatch()) return {};
  static const QRegularExpression isolating(QStringLiteral("^-[A-Za-z]*[IES]"));
  for (qsizetype i = 1; i < command.size() && command[i].startsWith(u'-'); ++i) {
    if (command[i] == QLatin1String("-m") || command[i] == QLatin1String("-c")) break;
    if (isolating.match(command[i]).hasMatch()) return command[i];
  }
  return {};
}

/// Checks one form, and collects what is wrong.
class ScriptCheck {
 public:
  explicit ScriptCheck(const ScriptFields& fields)
      : fields_(fields), folder_(workingFolderOf(fields)) {}

  ScriptRequest check() {
    if (runsElsewhere(fields_)) {
      checkHost();
    } else {
      checkFolder();
      checkCommand();
      request_.options.workingFolder = folder_;
    }
    checkRecording();
    request_.options.environment = scriptEnvironment(fields_, request_.problems);
    request_.options.simulated = fields_.simulated;
    request_.options.probeLevel = fields_.level;
    return std::move(request_);
  }

 private:
  void problem(ScriptField field, const QString& text) { request_.problems.emplace(field, text); }

  void checkFolder() {
    if (QFileInfo(folder_).isDir()) return;
    problem(ScriptField::kWorkingFolder,
            QFileInfo::exists(folder_) ? tr("%1 is not a folder").arg(run::shownPath(folder_))
                                       : tr("There is no folder %1").arg(run::shownPath(folder_)));
  }

  /// What can be said without asking the other machine, which checks the rest.
  void checkHost() {
    const QString host = fields_.host.trimmed();
    if (!session::isSshHost(host)) {
      problem(ScriptField::kHost, tr("A host that ssh knows, as in user@studio"));
    }
    request_.options.host = host;
    request_.options.workingFolder = fields_.workingFolder.trimmed();
    auto words = session::splitShellWords(fields_.script);
    if (!words || words->isEmpty()) {
      return problem(ScriptField::kScript,
                     words ? tr("Name a script, a module or a launcher") : asNote(words.error()));
    }
    request_.needsPython = words->front() == QLatin1String("-m") || isPythonFile(words->front());
    const QString python = fields_.python.trimmed();
    if (request_.needsPython && python.isEmpty()) {
      problem(ScriptField::kPython, tr("Name the Python that runs the script"));
    }
    if (request_.needsPython) words->prepend(python);
    request_.options.command = *words;
    addArguments();
  }

  void addArguments() {
    auto arguments = session::splitShellWords(fields_.arguments);
    if (!arguments) return problem(ScriptField::kArguments, asNote(arguments.error()));
    QStringList& command = request_.options.command;
    command << *arguments;
    if (const QString option = isolatingOption(command); !option.isEmpty()) {
      problem(ScriptField::kScript,
              tr("Python with %1 ignores what attaches Highwater: leave it out").arg(option));
    }
  }

  void checkCommand() {
    QStringList& command = request_.options.command;
    command = scriptWords();
    if (request_.needsPython) {
      const QString python = pythonPath();
      if (!command.isEmpty()) command.prepend(python);
    }
    addArguments();
  }

  /// What comes after Python, or the whole command of a launcher.
  QStringList scriptWords() {
    const QString script = fields_.script.trimmed();
    if (script.isEmpty()) {
      problem(ScriptField::kScript, tr("Name a script, a module or a launcher"));
      return {};
    }
    // A file may have blanks in its name without quotes.
    if (QFileInfo(run::meantPath(script, folder_)).isFile()) return fileWords(script, {});
    const auto words = session::splitShellWords(script);
    if (!words || words->isEmpty()) {
      problem(ScriptField::kScript, words ? tr("Name a script") : asNote(words.error()));
      return {};
    }
    if (words->front() == QLatin1String("-m")) return moduleWords(*words);
    if (QFileInfo(run::meantPath(words->front(), folder_)).isFile()) {
      return fileWords(words->front(), words->mid(1));
    }
    return launcherWords(*words);
  }

  QStringList moduleWords(const QStringList& words) {
    static const QRegularExpression module(QStringLiteral("^[^\\W\\d]\\w*(\\.[^\\W\\d]\\w*)*$"),
                                           QRegularExpression::UseUnicodePropertiesOption);
    if (!module.match(words.value(1)).hasMatch()) {
      problem(ScriptField::kScript, tr("-m needs the name of a module, as in -m package.train"));
      return {};
    }
    return words;
  }

  QStringList fileWords(const QString& text, const QStringList& rest) {
    const QString path = run::meantPath(text, folder_);
    if (isPythonFile(path)) {
      // As the user would write it in that folder, which is also what the script sees as its name.
      const QString inside = QDir(folder_).relativeFilePath(path);
      return QStringList{inside.startsWith(QLatin1String("..")) ? path : inside} + rest;
    }
    if (!isProgram(path)) {
      problem(ScriptField::kScript,
              tr("%1 is neither a .py file nor a program that may be executed")
                  .arg(QFileInfo(path).fileName()));
      return {};
    }
    request_.needsPython = false;
    return QStringList{path} + rest;
  }

  QStringList launcherWords(const QStringList& words) {
    const QString& name = words.front();
    const QString path = run::meantPath(name, folder_);
    if (name.startsWith(u'-')) {
      problem(ScriptField::kScript, tr("Options of Python do not go here, except -m module"));
      return {};
    }
    const bool isPath = name.contains(u'/') || isPythonFile(name);
    // A program may have the name of a folder.
    const QString program = isPath ? QString() : launcher(name);
    if (program.isEmpty() && QFileInfo(path).isDir()) {
      problem(ScriptField::kScript,
              tr("%1 is a folder: name a file in it").arg(run::shownPath(path)));
      return {};
    }
    if (isPath) {
      problem(ScriptField::kScript, tr("There is no file %1").arg(run::shownPath(path)));
      return {};
    }
    if (program.isEmpty()) {
      problem(ScriptField::kScript, tr("There is neither a file nor a program %1").arg(name));
      return {};
    }
    request_.needsPython = false;
    return QStringList{program} + words.mid(1);
  }

  /// The launchers of an environment lie beside its Python, and are not on the PATH unless it is
  /// activated.
  [[nodiscard]] QString launcher(const QString& name) const {
    const QString python = pythonOf(fields_);
    const QString beside = QFileInfo(python).path() + u'/' + name;
    return !python.isEmpty() && isProgram(beside) ? beside : QStandardPaths::findExecutable(name);
  }

  QString pythonPath() {
    const QString found = pythonOf(fields_);
    const QString python = fields_.python.trimmed();
    if (python.isEmpty()) {
      problem(ScriptField::kPython, tr("Name the Python that runs the script"));
    } else if (found.isEmpty()) {
      problem(ScriptField::kPython, tr("There is no program %1").arg(python));
    }
    return found;
  }

  void checkRecording() {
    request_.recording = fields_.recording.trimmed();
    if (request_.recording.endsWith(QLatin1String(".highwater"))) request_.recording.chop(10);
    const QString wrong = run::problemWithRecordingName(request_.recording);
    if (!wrong.isEmpty()) problem(ScriptField::kRecording, wrong);
  }

  const ScriptFields& fields_;
  const QString folder_;
  ScriptRequest request_;
};

}  // namespace

ScriptRequest checkScript(const ScriptFields& fields) {
  return ScriptCheck(fields).check();
}

QString terminalCommand(const ScriptRequest& request) {
  const session::ScriptOptions& options = request.options;
  // A wheel's command starts this program, which is not on the PATH itself.
  const QString own =
      qEnvironmentVariable("HIGHWATER_COMMAND", QCoreApplication::applicationFilePath());
  const QString name = QStringLiteral("highwater");
  const bool isOwn = QFileInfo(own).fileName() == name;
  const bool isFound = QFileInfo(QStandardPaths::findExecutable(name)) == QFileInfo(own);
  QStringList words{isOwn && !isFound ? own : name, QStringLiteral("run")};
  if (options.simulated) words << QStringLiteral("--device") << QStringLiteral("sim");
  if (options.probeLevel != QLatin1String("monitor")) {
    words << QStringLiteral("--level") << options.probeLevel;
  }
  if (!options.host.isEmpty()) {
    const QString& folder = options.workingFolder;
    words << QStringLiteral("--on") << options.host + (folder.isEmpty() ? folder : u':' + folder)
          << QStringLiteral("--");
    // The environment of this machine's command does not reach the other one.
    if (!options.environment.isEmpty()) words << QStringLiteral("env") << options.environment;
    return session::quoteShellWords(words + options.command);
  }
  words << QStringLiteral("--") << options.command;
  QString line = QStringLiteral("cd %1 && ").arg(session::quoteShellWord(options.workingFolder));
  for (const QString& each : options.environment) {
    line += each.section(u'=', 0, 0) + u'=' + session::quoteShellWord(each.section(u'=', 1)) + u' ';
  }
  // Shorter, and as a user would write it.
  const QString inside = options.workingFolder + u'/';
  QString& program = words[words.indexOf(QStringLiteral("--")) + 1];
  if (program.startsWith(inside)) {
    const QString relative = program.mid(inside.size());
    program = relative.contains(u'/') ? relative : QStringLiteral("./") + relative;
  }
  return line + session::quoteShellWords(words);
}

}  // namespace highwater::window
