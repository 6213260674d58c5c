#pragma once

#include <vector>

#include "views/panes/paint.h"
#include "views/panes/plot_layers.h"

namespace highwater::views {

/// Base of the plottables of steps: marks values above the value axis with a small triangle each.
class StepPlottable : public StorePlottable {
 public:
  using StorePlottable::StorePlottable;

  /// The positions of the marks of the last redraw, in pixels.
  [[nodiscard]] const std::vector<double>& beyondTop() const { return beyondTop_; }

 protected:
  /// Whether the axis ends below a value; if so, it gets a mark at `x`.
  bool noteBeyondTop(double value, double x);
  /// Draws the marks that were noted and forgets them.
  void drawBeyondTop(QPainter& painter);

 private:
  std::vector<double> noted_, beyondTop_;
};

/// A plottable with one bar per step: its duration, with the lost time at the bottom. Where steps
/// are narrower than a bar, each pixel column shows its largest.
class StepBars final : public StepPlottable {
 public:
  using StepPlottable::StepPlottable;

  /// Whether unplanned sync points are drawn as waits, and not as lost time.
  bool waitsCostLittle = false;

 protected:
  void draw(QCPPainter* painter) override;

 private:
  struct Bar {
    double left = 0, right = 0;
    double ms = 0, fallbackMs = 0, syncMs = 0;
  };
  /// What a part of a bar is painted on: fallbacks are hatched, to tell them apart without colour.
  enum class Ground { kPlain, kHatched };
  class BarImage;
  /// Calls fill(box, color, ground) for the parts of a bar, in the order of painting.
  template <typename Fill>
  void eachPart(const Bar& bar, const Theme& theme, Fill&& fill);
};

/// What a pixel column of a stepped line shows: from `low` to `high`, with the way from the column
/// before it. Values are those of the axis.
struct LineColumn {
  int column = 0;
  double low = 0, high = 0;

  bool operator==(const LineColumn&) const = default;
};

/// Reduces a line that is constant during each step to pixel columns, in order. Each holds every
/// value of the steps in it, and reaches to the value that the column before it ended with, so that
/// the line stays connected. No column where no step runs for `pausePixels` and more, nor for steps
/// without a value.
[[nodiscard]] std::vector<LineColumn> lineColumns(const analysis::StepColumns& steps,
                                                  const analysis::SeriesPyramid& values,
                                                  const TimeScale& scale, double pausePixels);

/// A plottable that draws tokens per second as a line, which is constant during each step.
class RateLine final : public StepPlottable {
 public:
  using StepPlottable::StepPlottable;

 protected:
  void draw(QCPPainter* painter) override;

 private:
  void drawEach(QCPPainter* painter, std::size_t first, std::size_t last, const QColor& color);
};

/// A plottable that draws the losses that were read, connected by lines. A loss belongs to the end
/// of its step.
class LossLine final : public StorePlottable {
 public:
  using StorePlottable::StorePlottable;

 protected:
  void draw(QCPPainter* painter) override;
};

}  // namespace highwater::views
