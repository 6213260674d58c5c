#pragma once

#include "views/tuning/setting_plot.h"

namespace highwater::views {

/// Tokens a second of the settings that were tried against their peak of driver memory, with
/// quartiles, the front of the length that is compared, and the limits.
class ThroughputPlot final : public SettingPlot {
  Q_OBJECT

 public:
  explicit ThroughputPlot(const models::TuningState* state, QWidget* parent = nullptr);

  [[nodiscard]] std::optional<tuning::Setting> settingAt(const QPoint& position) const override;
  [[nodiscard]] std::optional<QPointF> placeOf(tuning::Setting setting) const override;

  /// The sequence length whose settings are compared; 0 without any.
  [[nodiscard]] std::uint32_t length() const { return length_; }
  /// The settings of the front, by memory: none is as fast with less memory.
  [[nodiscard]] const std::vector<tuning::Setting>& front() const { return front_; }

 protected:
  void refreshData(Change change) override;
  void restyle() override;
  [[nodiscard]] std::optional<tuning::Setting> neighbour(tuning::Setting from, int key,
                                                         bool far) const override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  /// The settings with a throughput and a peak.
  [[nodiscard]] std::vector<models::TriedSetting> measured() const;
  [[nodiscard]] QPointF coordinatesOf(const models::TriedSetting& tried) const;
  void chooseLength(const std::vector<models::TriedSetting>& measured);
  void fitAxes(const std::vector<models::TriedSetting>& measured);
  void fitTicks();
  void paintLimits(QPainter& painter);
  void paintCaptions(QPainter& painter);
  void paintLabels(QPainter& painter);

  QCPGraph *frontLine_, *center_;
  QCPErrorBars* errors_;
  std::uint32_t length_ = 0;
  std::vector<tuning::Setting> front_;
  double unit_ = 1;                    ///< bytes of a unit of the memory axis
  double safe_ = 0, recommended_ = 0;  ///< in units; 0 where unknown
  bool limitsInScale_ = false;
};

}  // namespace highwater::views
