#include "window/source_editor.h"

#include <QFileInfo>
#include <QInputDialog>
#include <QProcess>
#include <QSet>

namespace highwater::window {
namespace {

const QString kFile = QStringLiteral("{file}"), kLine = QStringLiteral("{line}");

/// "set one with View > Editor command…".
std::string advice() {
  return "set one in View > Editor command, such as: code -g {file}:{line}";
}

bool runsInTerminal(const QString& program) {
  static const QSet<QString> kTerminal = {
      QStringLiteral("vi"),    QStringLiteral("vim"),  QStringLiteral("nvim"),
      QStringLiteral("nano"),  QStringLiteral("pico"), QStringLiteral("micro"),
      QStringLiteral("hx"),    QStringLiteral("joe"),  QStringLiteral("ed"),
      QStringLiteral("helix"), QStringLiteral("ne"),   QStringLiteral("mcedit")};
  return kTerminal.contains(program);
}

/// How a program that is named without a place takes it.
QStringList placeFor(const QString& program) {
  static const QSet<QString> kGoto = {QStringLiteral("code"), QStringLiteral("code-insiders"),
                                      QStringLiteral("codium"), QStringLiteral("cursor")};
  static const QSet<QString> kColon = {QStringLiteral("subl"), QStringLiteral("zed"),
                                       QStringLiteral("atom")};
  static const QSet<QString> kPlus = {QStringLiteral("emacs"), QStringLiteral("emacsclient"),
                                      QStringLiteral("gvim"),  QStringLiteral("mvim"),
                                      QStringLiteral("gedit"), QStringLiteral("bbedit")};
  if (kGoto.contains(program)) {
    return {QStringLiteral("-g"), kFile + QLatin1Char(':') + kLine};
  }
  if (kColon.contains(program)) {
    return {kFile + QLatin1Char(':') + kLine};
  }
  if (kPlus.contains(program)) {
    return {QLatin1Char('+') + kLine, kFile};
  }
  if (program == QLatin1String("mate") || program == QLatin1String("kate")) {
    return {program == QLatin1String("mate") ? QStringLiteral("-l") : QStringLiteral("--line"),
            kLine, kFile};
  }
  return {kFile};
}

/// Replaces the places in one pass, so that a file's own name may contain "{line}".
QString filled(const QString& argument, const QString& file, int line) {
  QString text;
  for (qsizetype i = 0; i < argument.size();) {
    const QStringView rest = QStringView(argument).mid(i);
    if (rest.startsWith(kFile)) {
      text += file;
      i += kFile.size();
    } else if (rest.startsWith(kLine)) {
      text += QString::number(line);
      i += kLine.size();
    } else {
      text += argument[i++];
    }
  }
  return text;
}

}  // namespace

Result<QStringList> editorCommand(const EditorChoice& choice, const QString& file, int line) {
  const QString own = choice.command.trimmed();
  const QString wanted = !own.isEmpty()                       ? own
                         : !choice.visual.trimmed().isEmpty() ? choice.visual.trimmed()
                                                              : choice.editor.trimmed();
  QStringList command = QProcess::splitCommand(wanted);
  if (command.isEmpty()) {
    return usageError("No editor is known: " + advice());
  }
  if (wanted.count(QLatin1Char('"')) % 2 != 0) {
    return usageError("The editor command has a quote without its partner: " +
                      wanted.toStdString());
  }
  const QString program = QFileInfo(command.first()).fileName();
  if (runsInTerminal(program)) {
    return usageError(program.toStdString() + " runs in a terminal, and Highwater opens none; " +
                      advice());
  }
  if (!wanted.contains(kFile)) {
    command += placeFor(program);
  }
  for (qsizetype i = 1; i < command.size(); ++i) {
    command[i] = filled(command[i], file, line);
  }
  return command;
}

Result<void> openInEditor(const EditorChoice& choice, const QString& file, int line) {
  auto command = editorCommand(choice, file, line);
  if (!command) {
    return command.error();
  }
  const QString program = command->takeFirst();
  if (!QProcess::startDetached(program, *command)) {
    return failure("The editor could not be started: " + program.toStdString() + "; " + advice());
  }
  return {};
}

void askForEditor(QWidget* parent, const QString& command,
                  std::function<void(const QString& command)> accepted) {
  auto* dialog = new QInputDialog(parent);
  dialog->setObjectName(QStringLiteral("editorDialog"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(QInputDialog::tr("Editor command"));
  dialog->setLabelText(
      QInputDialog::tr("A click on a line of code runs this command. {file} and {line} stand for "
                       "the place, as in\ncode -g {file}:{line}\nIf it is empty, $VISUAL and "
                       "$EDITOR count."));
  dialog->setTextValue(command);
  QObject::connect(
      dialog, &QInputDialog::textValueSelected, parent,
      [accepted = std::move(accepted)](const QString& text) { accepted(text.trimmed()); });
  dialog->open();
}

}  // namespace highwater::window
