#pragma once

#include <QTimer>

#include "views/tuning/headroom_grid.h"
#include "views/tuning/setting_plot.h"

namespace highwater::views {

/// The map of batch size × sequence length, coloured by where the predicted peak of driver memory
/// lies, with the largest safe batch of each length and the settings that were tried.
class TuningMap final : public SettingPlot {
  Q_OBJECT

 public:
  explicit TuningMap(const models::TuningState* state, QWidget* parent = nullptr);

  [[nodiscard]] std::optional<tuning::Setting> settingAt(const QPoint& position) const override;
  [[nodiscard]] std::optional<QPointF> placeOf(tuning::Setting setting) const override;

  [[nodiscard]] const HeadroomGrid& grid() const { return grid_; }
  /// The rectangle of a cell in pixels.
  [[nodiscard]] QRectF cellRect(int column, int row) const;
  /// The colour of a cell: its band, and within the safe one how full the memory is. Hatches are
  /// drawn over it.
  [[nodiscard]] QColor colorOf(int column, int row) const;
  /// Whether all cells show the newest model.
  [[nodiscard]] bool complete() const { return grid_.complete(); }
  /// Computes what is left at once, for pictures.
  void finish();
  /// The colour of a band in the legend. kSafe has a middle shade.
  [[nodiscard]] static QColor bandColor(HeadroomBand band, const Theme& theme);
  /// The hatch of a band; Qt::NoBrush for none.
  [[nodiscard]] static QBrush bandHatch(HeadroomBand band, const Theme& theme);

 protected:
  void refreshData(Change change) override;
  void restyle() override;
  [[nodiscard]] std::optional<tuning::Setting> neighbour(tuning::Setting from, int key,
                                                         bool far) const override;
  void hovered(const std::optional<tuning::Setting>& setting) override;
  void showEvent(QShowEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  /// The level of a cell in the colour map's scale.
  [[nodiscard]] int levelOf(int column, int row) const;
  void fitGrid();
  void fitTicks();
  void computeSome();
  void showGrid();
  void showPointsAndChoice();
  void paintHatches(QPainter& painter) const;
  void paintCaptions(QPainter& painter);
  void paintTags(QPainter& painter);

  HeadroomGrid grid_;
  QCPColorMap* map_;
  QCPCurve *safe_, *safeGround_, *recommended_, *low_, *high_;
  QTimer slice_;
  std::optional<tuning::Setting> hovered_;
};

}  // namespace highwater::views
