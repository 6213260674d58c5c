#pragma once

#include <QObject>

#include "models/search_model.h"
#include "views/panes/event_focus.h"

namespace highwater::views {
class SearchBar;
}

namespace highwater::window {

class BottomTables;

/// The search of the window: connects the bar over the panes, the table of results, the picked
/// event and the time axis. Closed, it finds and marks nothing.
class RunSearch final : public QObject {
  Q_OBJECT

 public:
  /// Makes the bar, a child of `barParent`, and the page of the results in `tables`. The objects
  /// are not owned and must outlive this one.
  RunSearch(const analysis::LiveStore* store, views::TimeAxis* axis, views::EventFocus* focus,
            BottomTables* tables, QWidget* barParent);

  [[nodiscard]] views::SearchBar* bar() const { return bar_; }
  [[nodiscard]] const models::SearchModel& model() const { return model_; }
  [[nodiscard]] bool isOpen() const;
  /// Shows the bar and the results, and puts the keyboard focus into the field.
  void open();
  /// Hides the bar and the results. Unless the user has moved the view since the last hit, it is
  /// what it was when the search was opened.
  void close();
  /// Finds what the store got since the last call.
  void refresh();
  /// Searches the store, which holds another run now, from the start.
  void startOver();
  /// Goes to the next hit (1) or the previous one (-1), and picks its event.
  void step(int direction);
  /// The same from anywhere, also while the field has text that was not searched for yet. Opens
  /// the search if it is closed.
  void stepOrOpen(int direction);

 signals:
  /// The search was closed.
  void closed();

 private:
  void go(const models::SearchModel::Hit& hit);
  void pickRow(int row);
  void followFocus();
  void restoreView();
  [[nodiscard]] std::int64_t startNs() const;

  const analysis::LiveStore* store_;
  views::TimeAxis* axis_;
  views::EventFocus* focus_;
  BottomTables* tables_;
  models::SearchModel model_;
  views::SearchBar* bar_;
  /// The view when the search was opened, and whether it followed the newest data.
  struct View {
    views::TimeRange range;
    bool follows = false;
  };
  std::optional<View> before_;
  std::optional<views::TimeRange> shownByHit_;  ///< the view as the last hit left it
};

}  // namespace highwater::window
