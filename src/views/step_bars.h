#pragma once

#include "views/paint.h"
#include "views/plot_layers.h"

namespace highwater::views {

/// A bar a step: its duration, and at its foot what of it was lost to fallbacks and unplanned
/// syncs. Steps narrower than a bar come as the largest of each pixel column.
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

/// A step line: one value a step, held over its length.
class RateLine final : public StorePlottable {
 public:
  using StorePlottable::StorePlottable;

 protected:
  void draw(QCPPainter* painter) override;
};

}  // namespace highwater::views
