#pragma once

#include <vector>

#include "qcustomplot.h"

#include "tuning/benchmark.h"

namespace highwater::views {

/// The times of a benchmark's cases on the CPU and on MPS, as bars with their quartiles. Each case
/// is drawn in multiples of its time on the CPU, because cases differ by orders of magnitude; the
/// labels have the times.
class BenchmarkPlot final : public QCustomPlot {
  Q_OBJECT

 public:
  explicit BenchmarkPlot(QWidget* parent = nullptr);

  /// Shows the cases that are measured; the bars of the last call go.
  void setBenchmark(const tuning::Benchmark& benchmark);

  /// The bars in the order of the legend: the CPU, MPS.
  [[nodiscard]] const std::vector<QCPBars*>& bars() const { return bars_; }
  /// The error bars of the CPU and of MPS.
  [[nodiscard]] const std::vector<QCPErrorBars*>& errorBars() const { return errors_; }

  [[nodiscard]] QSize sizeHint() const override { return {480, 240}; }

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void restyle();
  void addLabel(QCPBars* bars, double key, double value, double above, double ms);
  void describe(const tuning::Benchmark& benchmark);

  std::vector<QCPBars*> bars_;
  std::vector<QCPErrorBars*> errors_;
  std::vector<QCPItemText*> labels_;
};

}  // namespace highwater::views
