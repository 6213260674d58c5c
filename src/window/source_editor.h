#pragma once

#include <QString>
#include <QStringList>
#include <functional>

#include "core/result.h"

class QWidget;

namespace highwater::window {

/// Where the commands of editors come from.
struct EditorChoice {
  QString command;         ///< the user's own, empty if none is set: "code -g {file}:{line}"
  QString visual, editor;  ///< $VISUAL and $EDITOR
};

/// Returns the program and the arguments that show a line of a file. The user's command counts
/// first, then $VISUAL, then $EDITOR. `{file}` and `{line}` stand for the place; a command without
/// `{file}` gets it as the editor that it names expects it. Errors: kUsage if there is no command,
/// if its quotes do not match, or if the editor needs a terminal, which Highwater does not open.
[[nodiscard]] Result<QStringList> editorCommand(const EditorChoice& choice, const QString& file,
                                                int line);

/// Starts such a command, without a shell, as a process that outlives Highwater. Errors: those of
/// editorCommand(); kFailed if the program cannot be started.
[[nodiscard]] Result<void> openInEditor(const EditorChoice& choice, const QString& file, int line);

/// Asks for the command of the editor, with `command` as the one that is set. Does not block:
/// `accepted` is called later with the new one, which may be empty, or not at all if the user
/// cancels.
void askForEditor(QWidget* parent, const QString& command,
                  std::function<void(const QString& command)> accepted);

}  // namespace highwater::window
