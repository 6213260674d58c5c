#pragma once

#include <QBrush>
#include <QColor>
#include <QPainter>
#include <QPointF>
#include <QRectF>
#include <QString>
#include <QStringList>

#include "views/theme.h"

/// Shapes and textures of the kinds: each kind has a colour and a shape or texture of its own, so
/// that it can be told apart in greyscale.
namespace highwater::views {

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

/// Draws a glyph with its centre at `centre`, about 8 pixels large. `ground` is what it stands on.
void drawGlyph(QPainter& painter, Glyph glyph, QPointF centre, const QColor& color,
               const QColor& ground);

/// The glyph and colour of a marker.
[[nodiscard]] Glyph markerGlyph(events::MarkerKind kind);
[[nodiscard]] QColor markerColor(events::MarkerKind kind, const Theme& theme);

/// Lines at 45°, `spacing` pixels apart, on `ground` (which may be transparent).
[[nodiscard]] QBrush hatchBrush(const QColor& line, const QColor& ground, int spacing = 6,
                                bool dense = false);
/// A dot every `spacing` pixels.
[[nodiscard]] QBrush dotBrush(const QColor& dot, int spacing = 4);

/// A swatch of a legend: what the readouts of a pane's header begin with.
enum class Swatch { kNone, kSolid, kHatchSky, kDots, kHatchVermillion, kLine };
void drawSwatch(QPainter& painter, Swatch swatch, const QRectF& rect, const QColor& color,
                const Theme& theme);

/// The first of `forms` (longest first) that fits into `width` in the painter's font; empty if
/// none.
[[nodiscard]] QString fitText(const QPainter& painter, const QStringList& forms, double width);

}  // namespace highwater::views
