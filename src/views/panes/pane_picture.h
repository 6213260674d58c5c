#pragma once

#include <QByteArray>
#include <QImage>
#include <QPoint>

#include "core/result.h"

namespace highwater::views {

class TimePane;

/// A pane as a picture of its size on screen, without the cursor.
[[nodiscard]] QImage paneImage(TimePane& pane);
/// The same as an SVG document.
[[nodiscard]] QByteArray paneSvg(TimePane& pane);
/// Writes a pane to a file whose name ends in .svg or in the kind of an image. Fails with kUsage
/// for another name, and with kFailed if the file cannot be written.
[[nodiscard]] Result<void> savePane(TimePane& pane, const QString& path);

/// Shows the menu of a pane's pictures at a point of the screen: copy, save as PNG, save as SVG.
void showPictureMenu(TimePane& pane, const QPoint& globalPosition);

}  // namespace highwater::views
