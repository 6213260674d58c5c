#pragma once

#include <QBrush>
#include <QColor>
#include <QPainter>
#include <QPointF>
#include <QRectF>
#include <QString>
#include <QStringList>

#include "views/panes/time_axis.h"
#include "views/theme.h"

/// Shapes and textures of the kinds: each kind has a colour and a shape or texture of its own, so
/// that it can be told apart in greyscale.
namespace highwater::views {

/// The shapes that mark events, each with a meaning of its own.
enum class Glyph {
  kDiamond,         ///< fallback
  kTriangle,        ///< unplanned sync, points down
  kHollowTriangle,  ///< planned sync
  kPeak,            ///< peak of a step: a small triangle that points down
  kPentagon,        ///< a knob was changed
  kRing,            ///< cache emptied
  kOctagon,         ///< out of memory
  kSquare,          ///< note
  kPause,           ///< paused or resumed
};

/// Draws a glyph of about 8 pixels around `centre`. `ground` is the colour behind it.
void drawGlyph(QPainter& painter, Glyph glyph, QPointF centre, const QColor& color,
               const QColor& ground);

/// Draws the letter of a pinned range in a box: A outlined, B filled.
void drawPin(QPainter& painter, Pin pin, const QRectF& box, const Theme& theme);

/// The glyph of a kind of marker.
[[nodiscard]] Glyph markerGlyph(events::MarkerKind kind);
/// The colour of a kind of marker.
[[nodiscard]] QColor markerColor(events::MarkerKind kind, const Theme& theme);

/// Makes a brush of lines at 45°, `spacing` pixels apart, on `ground` (which may be transparent).
/// `dense` draws thicker lines.
[[nodiscard]] QBrush hatchBrush(const QColor& line, const QColor& ground, int spacing = 6,
                                bool dense = false);
/// Makes a brush of dots that are `spacing` pixels apart, on a transparent ground.
[[nodiscard]] QBrush dotBrush(const QColor& dot, int spacing = 4);

/// The look of the swatch at the beginning of a readout in a pane's header, as in a legend.
enum class Swatch { kNone, kSolid, kHatchSky, kDots, kHatchVermillion, kLine };
/// Fills `rect` with a swatch. `color` is for those whose name has no colour.
void drawSwatch(QPainter& painter, Swatch swatch, const QRectF& rect, const QColor& color,
                const Theme& theme);

/// Returns the first of `forms` (longest first) that fits into `width` pixels in the painter's
/// font; empty if none does.
[[nodiscard]] QString fitText(const QPainter& painter, const QStringList& forms, double width);

}  // namespace highwater::views
