#include "window/start/script_fields.h"

#include <QDir>
#include <QFileInfo>
#include <QStandardPaths>

#include "run/recordings_folder.h"
#include "session/shell_words.h"

namespace highwater::window {

bool isProgram(const QString& path) {
  const QFileInfo info(path);
  return info.isFile() && info.isExecutable();
}

bool isPythonFile(const QString& path) {
  const QString suffix = QFileInfo(path).suffix().toLower();
  return suffix == QLatin1String("py") || suffix == QLatin1String("pyw");
}

QString asNote(const Error& error) {
  QString text = QString::fromStdString(error.message);
  if (!text.isEmpty()) text[0] = text[0].toUpper();
  return text;
}

bool runsElsewhere(const ScriptFields& fields) {
  return !fields.host.trimmed().isEmpty();
}

QString workingFolderOf(const ScriptFields& fields) {
  // Started from a desktop, a program is in the root folder.
  const QString current =
      QDir::currentPath() == QLatin1String("/") ? QDir::homePath() : QDir::currentPath();
  const QString named = fields.workingFolder.trimmed();
  if (!named.isEmpty()) return run::meantPath(named, current);
  const QString script = fields.script.trimmed();
  const QString path = run::meantPath(script, current);
  const bool absolute = script.startsWith(u'/') || script.startsWith(QLatin1String("~/"));
  return absolute && QFileInfo(path).isFile() ? QFileInfo(path).path() : current;
}

QString scriptFileOf(const ScriptFields& fields) {
  if (runsElsewhere(fields)) return {};
  const QString script = fields.script.trimmed();
  if (script.isEmpty()) return {};
  const QString folder = workingFolderOf(fields);
  const QString whole = run::meantPath(script, folder);
  if (QFileInfo(whole).isFile()) return whole;
  const auto words = session::splitShellWords(script);
  const QString first = words ? run::meantPath(words->value(0), folder) : QString();
  return QFileInfo(first).isFile() ? first : QString();
}

QString pythonOf(const ScriptFields& fields) {
  if (runsElsewhere(fields)) return {};
  const QString python = fields.python.trimmed();
  if (python.isEmpty()) return {};
  const QString path = python.contains(u'/') ? run::meantPath(python, workingFolderOf(fields))
                                             : QStandardPaths::findExecutable(python);
  return isProgram(path) ? path : QString();
}

QString recordingStemOf(const ScriptFields& fields) {
  const QString file = scriptFileOf(fields);
  if (!file.isEmpty()) return QFileInfo(file).completeBaseName();
  const auto words = session::splitShellWords(fields.script);
  if (!words) return QStringLiteral("script");
  // Of a launcher's words the script, if it is among them: torchrun --nproc_per_node 1 train.py.
  for (const QString& each : *words) {
    if (isPythonFile(each)) return QFileInfo(each).completeBaseName();
  }
  const auto module = words->indexOf(QStringLiteral("-m"));
  const QString name = module >= 0 ? words->value(module + 1) : words->value(0);
  const QString stem = QFileInfo(name).fileName();
  return stem.isEmpty() || stem.startsWith(u'.') ? QStringLiteral("script") : stem;
}

}  // namespace highwater::window
