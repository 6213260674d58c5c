#pragma once

#include <QSize>
#include <filesystem>

#include "core/result.h"

namespace highwater::app {

struct PictureOptions {
  QSize size{1600, 1000};  ///< at least 800 × 600
  bool dark = true;
};

/// Draws the window with a recording and saves it as a picture, the kind by the name's ending.
/// Needs a QApplication, and no screen: QT_QPA_PLATFORM=offscreen will do. Nothing is left where it
/// fails.
[[nodiscard]] Result<void> exportWindowPicture(const std::filesystem::path& recording,
                                               const std::filesystem::path& image,
                                               const PictureOptions& options);

}  // namespace highwater::app
