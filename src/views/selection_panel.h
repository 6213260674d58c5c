#pragma once

#include <QWidget>
#include <vector>

#include "analysis/run_summary.h"

namespace highwater::views {

/// The numbers of the selected range, or of the whole run: step time and its spread, throughput,
/// peak, what was lost, and the share of each phase.
class SelectionPanel final : public QWidget {
  Q_OBJECT

 public:
  explicit SelectionPanel(QWidget* parent = nullptr);

  /// `selected`: of a range of `lengthNs`, not of the whole run.
  void showSummary(const analysis::RunSummary& summary, std::int64_t lengthNs, bool selected);

  [[nodiscard]] QSize sizeHint() const override { return {328, 440}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {200, 348}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  /// Heights that shrink where the panel is low: rather tight than cut.
  struct Measures {
    double row, phaseRow, gap;
  };
  [[nodiscard]] Measures measures() const;
  struct Row {
    QString name, value, note;  ///< the note is what qualifies the value: "exact"
  };
  [[nodiscard]] std::vector<Row> rows() const;
  double paintHead(QPainter& painter, double y) const;
  double paintKeyNumbers(QPainter& painter, double y) const;
  void paintHistogram(QPainter& painter, const QRectF& rect) const;
  double paintRows(QPainter& painter, double y) const;
  void paintPhases(QPainter& painter, double y) const;

  analysis::RunSummary summary_;
  std::int64_t lengthNs_ = 0;
  bool selected_ = false;
};

}  // namespace highwater::views
