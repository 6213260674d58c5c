#pragma once

#include "views/panes/time_pane.h"

namespace highwater::views {

/// One reading of the process or its machine, as a row of the system pane.
struct SystemRow {
  enum class Kind {
    kFootprint,
    kAvailable,
    kCompressor,
    kSwap,
    kSwapRate,
    kGpu,
    kGpuMemory,
    kPressure,
    kThermal  ///< thermal state and Low Power Mode
  };
  Kind kind = Kind::kFootprint;
  double top = 0;     ///< of the row, in pixels of the pane
  double height = 0;  ///< in pixels
};

/// The pane of the process and its machine: a row for each reading that is known, on a scale of its
/// own from 0. Compressor, swap rate, thermal state and Low Power Mode have a row only if they say
/// something: memory was compressed or swapped, the machine was hot or saved energy. Which readings
/// are left out, and why, is in the tooltip of its title.
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
  /// nullptr for what is no number: the pressure and the thermal state.
  [[nodiscard]] const analysis::SeriesPyramid* series(Kind kind) const;
  [[nodiscard]] bool shows(Kind kind) const;
  /// Why there is no row.
  [[nodiscard]] QString whyLeftOut(Kind kind) const;
  /// The times of the samples of a kind.
  [[nodiscard]] const std::vector<std::int64_t>& timesOf(Kind kind) const;
  /// The value at a time; empty before the first sample.
  [[nodiscard]] QString valueText(Kind kind, std::int64_t ns) const;
  void layOut();
  void paintRow(QPainter& painter, const SystemRow& row) const;
  void paintPressure(QPainter& painter, const SystemRow& row) const;
  void paintThermal(QPainter& painter, const SystemRow& row) const;
  /// Calls f(x, first, last) for the pixel columns with samples [first, last) of a kind. A column
  /// without one repeats the last sample before it, unless that is long ago.
  template <typename F>
  void eachColumn(Kind kind, F&& f) const;

  std::vector<SystemRow> rows_;
};

}  // namespace highwater::views
