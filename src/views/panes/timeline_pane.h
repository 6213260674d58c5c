#pragma once

#include <QPointer>
#include <utility>

#include "views/panes/time_pane.h"
#include "views/panes/timeline_lanes.h"

class QAction;
class QToolButton;

namespace highwater::views {

/// The pane with a row for each lane: steps, phases, evaluations and named phases, recorded ops (a
/// few depths of each thread), the device, sync points, fallbacks and markers.
class TimelinePane final : public TimePane {
  Q_OBJECT

 public:
  TimelinePane(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
               QWidget* parent = nullptr);
  void refresh() override;
  void setMeasures(const PaneMeasures& measures) override;
  /// Sets the most rows that recorded ops may take.
  void setMostOpRows(int most);
  /// Offers the action that starts recording ops in the pane's header; `again` is its text where
  /// some were recorded already, which the header then leads to. nullptr removes the action.
  void offerOps(QAction* action, const QString& again);
  /// The pane's height without rows of ops, in pixels.
  [[nodiscard]] int heightWithoutOps() const;

  /// Returns the event under a point of this widget, or else the nearest one within a few pixels;
  /// std::nullopt if there is none.
  [[nodiscard]] std::optional<EventRef> eventAt(const QPoint& position) const;
  /// The rows shown, in pixels of this widget.
  [[nodiscard]] const LaneRows& rows() const { return rows_; }
  [[nodiscard]] QString gutterTipAt(const QPoint& position) const override;

 protected:
  void paintMarks(QPainter& painter) override;
  [[nodiscard]] QString title() const override { return tr("Timeline"); }
  [[nodiscard]] std::vector<Readout> readouts() const override;
  [[nodiscard]] QString emptyText() const override;
  [[nodiscard]] QString tipAt(const QPoint& position) const override;
  void clicked(const QPoint& position) override;

 private:
  [[nodiscard]] LaneRows currentRows() const;
  void layOut();
  /// Whether most phases in view are too short to be drawn one by one.
  [[nodiscard]] bool mergesPhases() const;
  /// The first and the last step of the newest stretch in which every op was recorded; empty
  /// without one, and while it goes on.
  [[nodiscard]] std::optional<std::pair<std::uint32_t, std::uint32_t>> recordedSteps() const;
  void showRecordedOps();
  /// What the header says about ops; empty if there is nothing to say.
  [[nodiscard]] QString opsText() const;
  void updateOffer();
  /// nullptr where there is no row.
  [[nodiscard]] const LaneRow* rowAt(int y) const;

  LaneRows rows_;
  int mostOpRows_ = 4;
  TimelineLanes* lanes_;
  QToolButton *showOps_, *offer_;
  QPointer<QAction> offered_;
  QString again_;      ///< the text of the offer where ops were recorded
  QString offerText_;  ///< opsText() when the offer was last placed
};

}  // namespace highwater::views
