#pragma once

#include <array>
#include <optional>

#include "analysis/whole_steps.h"
#include "views/panes/step_bars.h"
#include "views/panes/time_pane.h"

namespace highwater::views {

/// A value axis from 0 to `top`, with a label every `tick`.
struct ValueScale {
  double top = 1;
  double tick = 1;
};
/// Makes a scale with round ticks that holds `max`; {1, 1} if `max` is not positive. `ticks` is the
/// number of labels wanted.
[[nodiscard]] ValueScale makeValueScale(double max, int ticks);

/// Base of panes with a value axis: paints a line across the plot and a label in the gutter for
/// each of its ticks.
class ValuePane : public TimePane {
  Q_OBJECT

 protected:
  using TimePane::TimePane;

  void paintGround(QPainter& painter) override;
  void paintMarks(QPainter& painter) override;
  /// The values of the ticks, from the bottom up; none while the pane is empty.
  [[nodiscard]] virtual std::vector<double> ticks() const = 0;
  [[nodiscard]] virtual QString tickText(double value) const = 0;
  /// Whether a tick at a height, in pixels, has room for its label.
  [[nodiscard]] virtual bool hasLabelAt(double) const { return true; }
};

/// Base of panes that show one number per step, on a value axis from 0.
class StepPane : public ValuePane {
  Q_OBJECT

 protected:
  /// `headroom`: the height of the plot, as a multiple of the scale's.
  StepPane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus, double headroom,
           QWidget* parent);

  void updateScales() override;
  [[nodiscard]] std::vector<double> ticks() const override;
  [[nodiscard]] bool isEmpty() const { return store_->steps().records.empty(); }
  /// The largest visible value that must fit; 0 if none is visible.
  [[nodiscard]] virtual double visibleMax() const = 0;
  /// The step under a point of this widget.
  [[nodiscard]] std::optional<std::size_t> stepUnder(const QPoint& position) const;

  ValueScale scale_;

 private:
  double headroom_;
};

/// The pane that shows the time of each step, and the part of it that was lost to fallbacks and
/// unplanned sync points.
class StepTimePane final : public StepPane {
  Q_OBJECT

 public:
  StepTimePane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
               QWidget* parent = nullptr);

  /// The median time of the whole steps of a pinned range, in ms; std::nullopt without a range, or
  /// where no step lies in it.
  [[nodiscard]] std::optional<double> pinnedMedian(Pin pin) const;
  /// Whether unplanned sync points are drawn as time in which the device works, and not as lost.
  void setWaitsCostLittle(bool little);

 protected:
  void paintMarks(QPainter& painter) override;
  [[nodiscard]] double visibleMax() const override;
  [[nodiscard]] QString tickText(double value) const override;
  [[nodiscard]] QString title() const override { return tr("Step time"); }
  [[nodiscard]] std::vector<Readout> readouts() const override;
  [[nodiscard]] QString rightReadout() const override;
  [[nodiscard]] QString emptyText() const override {
    return isEmpty() ? tr("Each step as a bar, with its lost time") : QString();
  }
  [[nodiscard]] QString tipAt(const QPoint& position) const override;
  void clicked(const QPoint& position) override;

 private:
  /// The last median of each pin, and what it is of.
  struct Median {
    analysis::StepRows rows;
    std::int64_t beginNs = 0, endNs = 0;  ///< of another run they differ
    double ms = 0;
  };
  mutable std::array<Median, 2> medians_;
  StepBars* bars_;  ///< owned by the plot
};

/// The pane that shows tokens per second, step by step.
class ThroughputPane final : public StepPane {
  Q_OBJECT

 public:
  ThroughputPane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
                 QWidget* parent = nullptr);

 protected:
  [[nodiscard]] double visibleMax() const override;
  [[nodiscard]] QString tickText(double value) const override;
  [[nodiscard]] QString title() const override { return tr("Throughput"); }
  [[nodiscard]] std::vector<Readout> readouts() const override;
  [[nodiscard]] QString emptyText() const override {
    return isEmpty() ? tr("Tokens per second, step by step") : QString();
  }
  [[nodiscard]] QString tipAt(const QPoint& position) const override;
};

/// The value axis of the losses in view: from `bottom` to `top`, which need not include 0, with a
/// label of `decimals` digits at each multiple of `tick`.
struct LossScale {
  double bottom = 0, top = 1, tick = 1;
  int decimals = 0;
};
/// Makes a scale that holds losses from `min` to `max`, with two to five labels.
[[nodiscard]] LossScale makeLossScale(double min, double max);

/// The pane that shows the losses that were read.
class LossPane final : public ValuePane {
  Q_OBJECT

 public:
  LossPane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
           QWidget* parent = nullptr);

 protected:
  void updateScales() override;
  [[nodiscard]] std::vector<double> ticks() const override;
  [[nodiscard]] QString tickText(double value) const override;
  [[nodiscard]] bool hasLabelAt(double y) const override;
  [[nodiscard]] QString title() const override { return tr("Loss"); }
  [[nodiscard]] std::vector<Readout> readouts() const override;
  [[nodiscard]] QString rightReadout() const override;
  [[nodiscard]] QString emptyText() const override;
  [[nodiscard]] QString tipAt(const QPoint& position) const override;

 private:
  /// The last step that began at or before `ns` and whose loss was read, if it is not too far back.
  [[nodiscard]] std::optional<std::size_t> lossAt(std::int64_t ns) const;

  LossScale lossScale_;
};

}  // namespace highwater::views
