#pragma once

#include <vector>

#include "views/tuning/setting_plot.h"

namespace highwater::views {

/// For inputs without a length, in place of the map: the predicted peak of driver memory against
/// the batch size, with its bounds, the limits, and what was measured.
class PeakPlot final : public SettingPlot {
  Q_OBJECT

 public:
  explicit PeakPlot(const models::TuningState* state, QWidget* parent = nullptr);

  [[nodiscard]] std::optional<tuning::Setting> settingAt(const QPoint& position) const override;
  [[nodiscard]] std::optional<QPointF> placeOf(tuning::Setting setting) const override;

  /// What is drawn, by batch.
  struct Predicted {
    std::uint32_t batch = 0;
    tuning::Prediction peak;
  };
  [[nodiscard]] const std::vector<Predicted>& predictions() const { return predictions_; }
  /// The colour between the bounds.
  [[nodiscard]] static QColor boundsColor(const Theme& theme);

 protected:
  void refreshData(Change change) override;
  void restyle() override;
  [[nodiscard]] std::optional<tuning::Setting> neighbour(tuning::Setting from, int key,
                                                         bool far) const override;
  void showEvent(QShowEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void predict();
  void fitAxes();
  void fitTicks();
  void showCurves();
  void showPointsAndChoice();
  void paintLimits(QPainter& painter);
  void paintCaptions(QPainter& painter);
  void paintLabels(QPainter& painter);
  /// The peak at which a setting is drawn, in bytes: the measured one, else the predicted one.
  [[nodiscard]] double peakOf(tuning::Setting setting) const;

  std::vector<Predicted> predictions_;
  QCPGraph *lower_, *upper_;
  QCPCurve *likely_, *safe_;
  std::optional<std::uint32_t> largestSafe_;
  bool isStale_ = true;     ///< nothing is predicted for a plot that nobody sees
  double unit_ = 1;         ///< bytes of a unit of the axis
  double recommended_ = 0;  ///< bytes; 0: unknown
  bool limitIsInScale_ = false;
};

}  // namespace highwater::views
