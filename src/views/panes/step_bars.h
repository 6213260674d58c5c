#pragma once

#include "views/panes/paint.h"
#include "views/panes/plot_layers.h"

namespace highwater::views {

/// A plottable with one bar per step: its duration, with the lost time at the bottom. Where steps
/// are narrower than a bar, each pixel column shows its largest.
class StepBars final : public StorePlottable {
 public:
  using StorePlottable::StorePlottable;

 protected:
  void draw(QCPPainter* painter) override;

 private:
  struct Bar {
    double left = 0, right = 0;
    double ms = 0, fallbackMs = 0, syncMs = 0;
  };
  void drawBar(QPainter& painter, const Bar& bar, const Theme& theme) const;
};

/// A plottable that draws tokens per second as a line, which is constant during each step.
class RateLine final : public StorePlottable {
 public:
  using StorePlottable::StorePlottable;

 protected:
  void draw(QCPPainter* painter) override;
};

}  // namespace highwater::views
