#pragma once

#include <QSize>
#include <filesystem>

#include "core/recording_condition.h"
#include "core/result.h"

namespace highwater::window {

/// The size and the theme of a picture of the window.
struct PictureOptions {
  QSize size{1600, 1000};  ///< 800 × 600 to 8192 × 8192 pixels
  bool dark = true;
};

/// Draws the window with a recording into a picture file, whose format follows from its suffix.
/// Needs a QApplication but no screen: QT_QPA_PLATFORM=offscreen is enough. Returns the state of
/// the recording's file. Errors: kUsage for an unknown format or a size out of range, those of
/// MainWindow::openRecording(), kExists for a file that is not a picture, kNoPermission and kFailed
/// if the file cannot be written; then an old file stays as it was.
[[nodiscard]] Result<RecordingCondition> exportWindowPicture(const std::filesystem::path& recording,
                                                             const std::filesystem::path& image,
                                                             const PictureOptions& options);

}  // namespace highwater::window
