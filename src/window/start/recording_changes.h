#pragma once

#include <QString>
#include <functional>

#include "core/result.h"

class QWidget;

namespace highwater::window {

/// Gives a recording another name in its folder, and the files that belong to it. Returns the new
/// path. Errors: kUsage for a name that it cannot have, kExists if it is being written, kFailed.
[[nodiscard]] Result<QString> renameRecording(const QString& path, const QString& name);

/// Deletes a recording and the files that belong to it. Errors: kExists if it is being written,
/// kFailed.
[[nodiscard]] Result<void> deleteRecording(const QString& path);

/// Asks for another name of a recording. Does not block: `renamed` is called later with the new
/// path, or not at all if the user cancels.
void askToRename(QWidget* parent, const QString& path,
                 std::function<void(const QString& newPath)> renamed);

/// Asks whether a recording is to be deleted. Does not block: `deleted` is called once it is, or
/// not at all.
void askToDelete(QWidget* parent, const QString& path, std::function<void()> deleted);

}  // namespace highwater::window
