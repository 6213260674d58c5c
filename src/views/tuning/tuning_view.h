#pragma once

#include <QWidget>

#include "views/tuning/plot_header.h"
#include "views/tuning/setting_points.h"

class QLabel;
class QSplitter;
class QStackedLayout;
class QToolButton;

namespace highwater::views {

class PeakPlot;
class PlotHeader;
class ThroughputPlot;
class TuningMap;

/// The map (for inputs without a length, the peaks) and the throughput of the settings beside each
/// other, or above each other in a narrow
/// view; where there is no room for both, one of them with a switch. Without a memory model it says
/// what to do.
class TuningView final : public QWidget {
  Q_OBJECT

 public:
  /// `state` is not owned and must outlive this widget.
  explicit TuningView(const models::TuningState* state, QWidget* parent = nullptr);

  /// Gives settings a look of their own.
  void setMarks(const SettingMarks& marks);
  [[nodiscard]] TuningMap* map() const { return map_; }
  [[nodiscard]] PeakPlot* peaks() const { return peaks_; }
  [[nodiscard]] ThroughputPlot* throughput() const { return throughput_; }
  /// Computes and draws everything at once, for pictures.
  void renderNow();

 signals:
  /// The user chose a setting, without applying it.
  void settingChosen(highwater::tuning::Setting setting);
  /// The user asks to train with a setting.
  void applyRequested(highwater::tuning::Setting setting);

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  /// How both plots share the room.
  enum class Layout { kBeside, kAbove, kOne };

  void layOut();
  void showState();
  void showLegends();
  [[nodiscard]] bool hasLengths() const;
  [[nodiscard]] std::vector<LegendEntry> mapEntries() const;
  QWidget* makeSide(PlotHeader* header, QWidget* plot);
  QToolButton* makeTab(const QString& text, const char* name);

  const models::TuningState* state_;
  QStackedLayout* pages_;
  QLabel *emptyTitle_, *emptyText_;
  QWidget* tabs_;
  QToolButton *mapTab_, *throughputTab_;
  QSplitter* splitter_;
  PlotHeader *mapHeader_, *throughputHeader_;
  TuningMap* map_;
  PeakPlot* peaks_;
  ThroughputPlot* throughput_;
  QWidget *mapSide_, *throughputSide_;
  QLabel* note_;
  Layout layout_ = Layout::kBeside;
};

}  // namespace highwater::views
