#pragma once

#include <QByteArray>
#include <QSize>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "core/recording_condition.h"
#include "core/result.h"

namespace highwater::window {

class MainWindow;

/// The part of a run that a picture shows: the whole run where nothing is set.
struct PictureRange {
  std::optional<std::int64_t> fromNs, untilNs;  ///< since the start of the run
  /// The first and the last step; used alone.
  std::optional<std::pair<std::uint32_t, std::uint32_t>> steps;
};

/// The size, the theme and the range of a picture of the window.
struct PictureOptions {
  QSize size{1600, 1000};  ///< 800 × 600 to 8192 × 8192 pixels
  bool dark = true;
  bool greyscale = false;
  bool tuning = false;      ///< the view Tuning instead of the timeline
  bool overwrites = false;  ///< replaces an older picture of that name
  PictureRange range = {};
};

/// Shows a part of the window's run: the whole of it, a range of time, or steps with a little room.
/// Fails with kUsage for a range outside of the run; the message names the option of `export`.
[[nodiscard]] Result<void> showRange(MainWindow& window, const PictureRange& asked);

/// Draws the window with a recording into a picture file, whose format follows from its suffix.
/// Needs a QApplication but no screen: QT_QPA_PLATFORM=offscreen is enough. Returns the state of
/// the recording's file. Errors: kUsage for an unknown format, for a size out of range and for a
/// range outside of the run, those of MainWindow::openRecording(), kExists for a picture that must
/// not be overwritten and for a file that is not a picture, kNoPermission and kFailed if the file
/// cannot be written; then an old file stays as it was.
[[nodiscard]] Result<RecordingCondition> exportWindowPicture(const std::filesystem::path& recording,
                                                             const std::filesystem::path& image,
                                                             const PictureOptions& options);

/// A view of a run as PNG files in both themes.
struct ViewPicture {
  bool tuning = false;     ///< the view Tuning; else the timeline
  QSize size;              ///< as on the screen, in device-independent pixels
  QByteArray light, dark;  ///< PNG files
};

/// Draws those views of a recording that have something to show: the timeline where there are steps
/// or memory samples, then Tuning where there is a memory model or a sweep. A picture has the panes
/// and the status bar of a window of that size, but no docks. Needs the same as
/// exportWindowPicture(). Errors: those of MainWindow::openRecording(), and kFailed if a picture
/// cannot be encoded.
[[nodiscard]] Result<std::vector<ViewPicture>> drawViews(const std::filesystem::path& recording,
                                                         QSize size);

}  // namespace highwater::window
