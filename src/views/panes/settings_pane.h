#pragma once

#include "analysis/span_index.h"
#include "tuning/tensor_budget.h"
#include "views/panes/time_pane.h"

namespace highwater::views {

/// A pane with two rows: a span for each setting that the run was trained at, and the markers.
class SettingsPane final : public TimePane {
  Q_OBJECT

 public:
  SettingsPane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
               QWidget* parent = nullptr);
  void refresh() override;
  void setMeasures(const PaneMeasures& measures) override;

  /// A stretch of steps at one setting.
  struct Stretch {
    tuning::Setting setting;
    std::int64_t beginNs = 0, endNs = 0;
    std::uint32_t firstStep = 0, lastStep = 0;
  };
  /// In order of time. The last one grows while the run goes on.
  [[nodiscard]] const std::vector<Stretch>& stretches() const { return stretches_; }

 protected:
  void paintMarks(QPainter& painter) override;
  [[nodiscard]] QString tipAt(const QPoint& position) const override;
  void clicked(const QPoint& position) override;

 private:
  /// Adds the steps that have come since the last call.
  void follow();
  void paintStretches(QPainter& painter) const;
  [[nodiscard]] QRectF boxOf(std::int64_t beginNs, std::int64_t endNs) const;
  [[nodiscard]] double rowHeight() const;
  [[nodiscard]] std::optional<EventRef> markerAt(const QPoint& position) const;

  std::vector<Stretch> stretches_;
  analysis::SpanIndex ended_;          ///< all stretches but the last
  std::size_t rows_ = 0;               ///< steps that stretches_ contains
  std::optional<std::int64_t> epoch_;  ///< of the run: another one begins anew
};

}  // namespace highwater::views
