#pragma once

#include "views/panes/time_pane.h"

namespace highwater::views {

/// One reading of the process or its machine, as a row of the system pane.
struct SystemRow {
  enum class Kind { kFootprint, kAvailable, kSwap, kGpu, kPressure };
  Kind kind = Kind::kFootprint;
  double top = 0;     ///< of the row, in pixels of the pane
  double height = 0;  ///< in pixels
};

/// The pane of the process and its machine: a row for each reading that is known, on a scale of its
/// own from 0. Which readings are left out, and why, is in the tooltip of its title.
class SystemPane final : public TimePane {
  Q_OBJECT

 public:
  SystemPane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
             QWidget* parent = nullptr);
  void refresh() override;
  void setMeasures(const PaneMeasures& measures) override;

  /// The rows shown, from top to bottom.
  [[nodiscard]] const std::vector<SystemRow>& rows() const { return rows_; }
  /// The readings that are left out, each with the reason, a line each.
  [[nodiscard]] QString leftOut() const;
  [[nodiscard]] QString gutterTipAt(const QPoint& position) const override;

 protected:
  void paintMarks(QPainter& painter) override;
  [[nodiscard]] QString title() const override { return tr("System"); }
  [[nodiscard]] std::vector<Readout> readouts() const override;
  [[nodiscard]] QString emptyText() const override;
  [[nodiscard]] QString tipAt(const QPoint& position) const override;

 private:
  using Kind = SystemRow::Kind;
  /// nullptr for the pressure, which is no number.
  [[nodiscard]] const analysis::SeriesPyramid* series(Kind kind) const;
  [[nodiscard]] bool knows(Kind kind) const;
  [[nodiscard]] QString valueText(Kind kind, std::size_t sample) const;
  [[nodiscard]] std::optional<std::size_t> sampleAt(std::int64_t ns) const;
  void layOut();
  void paintRow(QPainter& painter, const SystemRow& row) const;
  void paintPressure(QPainter& painter, const SystemRow& row) const;
  /// Calls f(x, first, last) for the pixel columns with samples [first, last). A column without one
  /// repeats the last sample before it, unless that is long ago.
  template <typename F>
  void eachColumn(F&& f) const;

  std::vector<SystemRow> rows_;
};

}  // namespace highwater::views
