#pragma once

#include <QString>

namespace highwater::run {

/// The folder of the user's recordings: <application data>/recordings. It need not exist yet.
[[nodiscard]] QString recordingsFolder();
/// The file of a recording in that folder, by its name without the suffix.
[[nodiscard]] QString recordingFile(const QString& name);
/// The first name of the form <stem>-01, <stem>-02 … for which there is no file in the folder.
[[nodiscard]] QString freeRecordingName(const QString& stem);
/// Why a recording in `folder` cannot have this name, in words for the user; empty if it can. A
/// name of an existing file is refused, so that no recording is overwritten.
[[nodiscard]] QString problemWithRecordingName(const QString& name,
                                               const QString& folder = recordingsFolder());

/// A path for display: the home folder as ~.
[[nodiscard]] QString shownPath(const QString& path);
/// The path that the user means by a text: ~ is the home folder, and a relative path is one in
/// `folder`.
[[nodiscard]] QString meantPath(const QString& text, const QString& folder);

}  // namespace highwater::run
