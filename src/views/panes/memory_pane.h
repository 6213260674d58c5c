#pragma once

#include "views/panes/memory_bands.h"
#include "views/panes/memory_scale.h"
#include "views/panes/time_pane.h"

namespace highwater::views {

/// The memory chart of the window. It shows live memory (in tensors), cached memory (held by the
/// driver, not in tensors) and hidden memory (the rest of the process's footprint) as bands, with
/// the limits and the peak of each step.
class MemoryPane final : public TimePane {
  Q_OBJECT

 public:
  MemoryPane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
             QWidget* parent = nullptr);

  /// The value axis, as of the last redraw.
  [[nodiscard]] const MemoryScale& memoryScale() const { return scale_; }

 protected:
  void paintGround(QPainter& painter) override;
  void paintMarks(QPainter& painter) override;
  void updateScales() override;
  [[nodiscard]] QString title() const override { return tr("Memory"); }
  [[nodiscard]] std::vector<Readout> readouts() const override;
  [[nodiscard]] QString rightReadout() const override;
  [[nodiscard]] QString emptyText() const override;
  [[nodiscard]] QString tipAt(const QPoint& position) const override;

 private:
  struct Reading {
    double current = 0, driver = 0, recommended = 0;
    double footprint = 0;  ///< NaN if unknown
  };
  [[nodiscard]] std::optional<Reading> readingAt(std::int64_t ns) const;
  [[nodiscard]] std::vector<MemoryLimitLine> limits() const;
  [[nodiscard]] double shelfHeight() const;
  [[nodiscard]] double yAt(double bytes) const;
  void paintShelf(QPainter& painter) const;
  void paintLimitLine(QPainter& painter, const MemoryLimitLine& limit, double y, double left) const;
  void paintPeaks(QPainter& painter) const;
  /// Where changes of knobs are marked, below the shelf.
  [[nodiscard]] QRectF knobRow() const;
  /// Those right of `from` only, in pixels: left of it stands the name of a limit.
  void paintKnobs(QPainter& painter, double from) const;

  /// The forecast as of half a second ago at most, as a text; empty for none.
  [[nodiscard]] QString forecast() const;

  MemoryBands* bands_;
  mutable QString forecast_;
  mutable std::int64_t forecastNs_ = -1;  ///< the end of the run when it was made
  MemoryScale scale_;
};

}  // namespace highwater::views
