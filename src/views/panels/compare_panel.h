#pragma once

#include <QWidget>
#include <array>
#include <optional>
#include <vector>

#include "analysis/comparison.h"

namespace highwater::views {

/// A widget that shows two pinned ranges side by side: step time with histograms, a table of
/// numbers with their change and its noise, and the host time by phase.
class ComparePanel final : public QWidget {
  Q_OBJECT

 public:
  explicit ComparePanel(QWidget* parent = nullptr);

  /// Shows a comparison of ranges that are `lengthANs` and `lengthBNs` long. std::nullopt: one of
  /// the ranges has no whole step.
  void showComparison(const std::optional<analysis::Comparison>& comparison, std::int64_t lengthANs,
                      std::int64_t lengthBNs);

  /// One row of a table, as it is drawn.
  struct Row {
    QString name, brief;  ///< brief: where the name does not fit
    QString a, b, change, noise;
    bool beyond = false;  ///< the change is beyond the noise, or exact
    QColor color = {};    ///< of a phase, or of the time outside of phases
  };
  /// The rows of numbers, and those of the phases.
  [[nodiscard]] std::vector<Row> numbers() const;
  [[nodiscard]] std::vector<Row> phases() const;
  /// What the comparison says in a sentence: see analysis::comparisonText().
  [[nodiscard]] QString verdict() const;

  [[nodiscard]] QSize sizeHint() const override { return {328, 500}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {200, 470}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  double paintHead(QPainter& painter, double y) const;
  double paintKeyNumbers(QPainter& painter, double y) const;
  void paintHistogram(QPainter& painter, const QRectF& rect) const;
  using Columns = std::array<double, 4>;  ///< the widths of A, B, change and noise
  double paintTable(QPainter& painter, double y, const std::vector<Row>& rows,
                    const Columns& columns) const;
  double paintPhaseBars(QPainter& painter, double y) const;

  std::optional<analysis::Comparison> comparison_;
  std::int64_t lengthANs_ = 0, lengthBNs_ = 0;
};

}  // namespace highwater::views
