#pragma once

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "models/tuning_state.h"
#include "views/panes/plot_layers.h"
#include "views/tuning/setting_points.h"

namespace highwater::views {

/// Base of the plots of settings: points that are told by look, a tooltip with the prediction, and
/// the choice of a setting. A click chooses, a double click or Enter asks to apply. Redraws itself
/// when the state changes.
class SettingPlot : public QCustomPlot {
  Q_OBJECT

 public:
  /// `state` is not owned and must outlive this widget.
  explicit SettingPlot(const models::TuningState* state, QWidget* parent = nullptr);

  /// Gives settings a look of their own.
  void setMarks(const SettingMarks& marks);
  [[nodiscard]] const SettingMarks& marks() const { return marks_; }

  /// The setting under a point of this widget, if any.
  [[nodiscard]] virtual std::optional<tuning::Setting> settingAt(const QPoint& position) const = 0;
  /// The pixel of a setting; std::nullopt where it is not shown.
  [[nodiscard]] virtual std::optional<QPointF> placeOf(tuning::Setting setting) const = 0;
  /// The area of the data in pixels.
  [[nodiscard]] QRect plotRect() const { return axisRect()->rect(); }
  /// Where the labels among the data were painted last, in pixels.
  [[nodiscard]] const std::vector<std::pair<QRectF, QString>>& labels() const { return labels_; }
  /// The tooltip for a point of this widget; empty for none.
  [[nodiscard]] QString tipAt(const QPoint& position) const;

 signals:
  /// The user chose a setting, without applying it.
  void settingChosen(highwater::tuning::Setting setting);
  /// The user asks to train with a setting.
  void applyRequested(highwater::tuning::Setting setting);

 protected:
  /// What has changed since the data were last shown; each includes what the later ones need.
  enum class Change { kModel, kReserve, kChosen, kLook };
  /// Brings the data in line with the state.
  virtual void refreshData(Change change) = 0;
  /// Gives everything the colours of the theme.
  virtual void restyle();
  /// The setting that an arrow key leads to from the chosen one, if any.
  [[nodiscard]] virtual std::optional<tuning::Setting> neighbour(tuning::Setting from, int key,
                                                                 bool far) const = 0;
  /// What the pointer is over has changed.
  virtual void hovered(const std::optional<tuning::Setting>&) {}

  /// Shows points of one look.
  void showPoints(PointLook look, const QVector<double>& keys, const QVector<double>& values);
  /// The setting whose point is drawn at most some pixels from `position`.
  [[nodiscard]] std::optional<tuning::Setting> pointAt(const QPoint& position) const;
  /// Makes a curve on the layer of the data, below the points.
  QCPCurve* makeCurve(int width, const QList<qreal>& dashes = {});
  void paintLabel(QPainter& painter, const QRectF& rect, const QString& text);
  void forgetLabels() { labels_.clear(); }
  /// What the axes show, above the values and at the right end below the keys: of the forms the
  /// first that fits.
  void paintYCaption(QPainter& painter, const QString& caption) const;
  void paintXCaption(QPainter& painter, const QStringList& forms) const;
  /// Gives an axis the powers of two, and as many ticks as there is room for.
  static void useOctaves(QCPAxis* axis);
  static void fitOctaves(QCPAxis* axis, int most);
  /// The first and the last batch of a plot: powers of two around what was tried and what is safe
  /// for a length, so that it does not jump with each new step.
  [[nodiscard]] std::pair<double, double> shownBatches(std::uint32_t length) const;
  /// The unit in which up to so many bytes are shown, in bytes, and its name.
  [[nodiscard]] static double memoryUnit(double bytes);
  [[nodiscard]] static QString memoryUnitName(double unit);
  /// The rectangles of the points, for labels that must not cover them.
  void avoidPoints(LabelPlacer& placer) const;
  [[nodiscard]] const Theme& theme() const { return Theme::of(this); }
  void scheduleReplot() { replot(rpQueuedReplot); }

  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override { event->ignore(); }
  void keyPressEvent(QKeyEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void changeEvent(QEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  bool event(QEvent* event) override;

  const models::TuningState* state_;
  static constexpr std::array kLooks = {
      PointLook::kNotCompared, PointLook::kMeasured,    PointLook::kNext,  PointLook::kOutOfMemory,
      PointLook::kMeasuring,   PointLook::kRecommended, PointLook::kChosen};

 private:
  [[nodiscard]] tuning::Setting start() const;
  void describe();

  SettingMarks marks_;
  std::array<QCPGraph*, kLooks.size()> points_{};
  std::vector<QCPCurve*> curves_;
  std::vector<std::pair<QRectF, QString>> labels_;
  std::optional<tuning::Setting> pressed_;
};

}  // namespace highwater::views
