#pragma once

#include <QWidget>
#include <cstdint>
#include <vector>

#include "views/panes/time_pane.h"

class QSplitter;

namespace highwater::models {
class SearchModel;
class TuningState;
}  // namespace highwater::models

namespace highwater::views {
class Ruler;
class TuningView;
}  // namespace highwater::views

namespace highwater::window {

/// The centre of the window in the view Tuning: memory with settings and markers over time, above
/// the map and the throughput of the settings.
class TuningPage final : public QWidget {
  Q_OBJECT

 public:
  /// Nothing is owned; everything must outlive this widget.
  TuningPage(const analysis::LiveStore* store, views::TimeAxis* axis, views::EventFocus* focus,
             const models::TuningState* state, QWidget* parent = nullptr);

  /// Redraws the panes soon. Call it when the store has changed.
  void refresh();
  /// Chooses the layout of the panes for a small window.
  void setSmall(bool small);
  /// As PaneStack::showSearch() and PaneStack::placeOf().
  void showSearch(const models::SearchModel* search);
  [[nodiscard]] QPoint placeOf(std::int64_t ns) const;
  [[nodiscard]] views::TuningView* view() const { return view_; }
  /// Draws everything at once, for pictures.
  void renderNow();

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;

 private:
  void shareHeight();

  QSplitter* splitter_;
  QWidget* over_;  ///< the panes on the time axis
  views::Ruler* ruler_;
  views::TimePane *memory_, *settings_;
  std::vector<views::TimePane*> panes_;
  views::TuningView* view_;
  bool sharedByUser_ = false;
};

}  // namespace highwater::window
