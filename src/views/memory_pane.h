#pragma once

#include "views/memory_bands.h"
#include "views/memory_scale.h"
#include "views/time_pane.h"

namespace highwater::views {

/// The memory chart: bands live, cached and hidden, the limits, the peak of each step.
class MemoryPane final : public TimePane {
  Q_OBJECT

 public:
  MemoryPane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
             QWidget* parent = nullptr);

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
    double current = 0, driver = 0, recommended = 0,
           footprint = 0;  ///< footprint NaN where unknown
  };
  [[nodiscard]] std::optional<Reading> readingAt(std::int64_t ns) const;
  [[nodiscard]] std::vector<MemoryLimitLine> limits() const;
  [[nodiscard]] double shelfHeight() const;
  [[nodiscard]] double yAt(double bytes) const;
  void paintShelf(QPainter& painter) const;
  void paintLimitLine(QPainter& painter, const MemoryLimitLine& limit, double y, double left) const;
  void paintPeaks(QPainter& painter) const;
  void paintKnobs(QPainter& painter) const;

  MemoryBands* bands_;
  MemoryScale scale_;
};

}  // namespace highwater::views
