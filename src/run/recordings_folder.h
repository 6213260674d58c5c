#pragma once

#include <QString>
#include <cstdint>
#include <filesystem>

#include "core/result.h"

namespace highwater::run {

/// The folder of the user's recordings: <application data>/recordings. It need not exist yet.
[[nodiscard]] QString recordingsFolder();
/// The file of a recording in that folder, by its name without the suffix.
[[nodiscard]] QString recordingFile(const QString& name);
/// The first name of the form <stem>-01, <stem>-02 … for which there is no file in the folder.
[[nodiscard]] QString freeRecordingName(const QString& stem);
/// Whether the name of a recording's file gets the time added.
enum class Naming : std::uint8_t { kWithTime, kAsGiven };
/// Returns a path for a new recording: <application data>/recordings/<name>-<time>.highwater, with
/// a number where that exists. Creates the folder; kNoPermission if that fails.
[[nodiscard]] Result<std::filesystem::path> newRecordingPath(const QString& name, Naming naming);
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
