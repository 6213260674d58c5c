#pragma once

#include "views/step_bars.h"
#include "views/time_pane.h"

namespace highwater::views {

/// A small value axis that begins at 0: where it ends and where its labels stand.
struct ValueScale {
  double top = 1;
  double tick = 1;
};
[[nodiscard]] ValueScale makeValueScale(double max, int ticks);

/// Step time, and what of it was lost to fallbacks and unplanned syncs.
class StepTimePane final : public TimePane {
  Q_OBJECT

 public:
  StepTimePane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
               QWidget* parent = nullptr);

 protected:
  void paintGround(QPainter& painter) override;
  void paintMarks(QPainter& painter) override;
  void updateScales() override;
  [[nodiscard]] QString title() const override { return tr("Step time"); }
  [[nodiscard]] std::vector<Readout> readouts() const override;
  [[nodiscard]] QString rightReadout() const override;
  [[nodiscard]] QString emptyText() const override;
  [[nodiscard]] QString tipAt(const QPoint& position) const override;
  void clicked(const QPoint& position) override;

 private:
  ValueScale scale_;
};

/// Tokens per second, step by step.
class ThroughputPane final : public TimePane {
  Q_OBJECT

 public:
  ThroughputPane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
                 QWidget* parent = nullptr);

 protected:
  void paintGround(QPainter& painter) override;
  void paintMarks(QPainter& painter) override;
  void updateScales() override;
  [[nodiscard]] QString title() const override { return tr("Throughput"); }
  [[nodiscard]] std::vector<Readout> readouts() const override;
  [[nodiscard]] QString emptyText() const override {
    return store_->steps().records.empty() ? tr("Tokens a second, step by step") : QString();
  }

 private:
  ValueScale scale_;
};

}  // namespace highwater::views
