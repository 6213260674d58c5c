#include "window/run_search.h"

#include <utility>

#include "views/panels/search_bar.h"
#include "views/panes/search_marks.h"
#include "window/bottom_tables.h"

namespace highwater::window {

using models::SearchModel;

RunSearch::RunSearch(const analysis::LiveStore* store, views::TimeAxis* axis,
                     views::EventFocus* focus, BottomTables* tables, QWidget* barParent)
    : QObject(barParent),
      store_(store),
      axis_(axis),
      focus_(focus),
      tables_(tables),
      model_(store, &tables->log()),
      bar_(new views::SearchBar(&model_, barParent)) {
  bar_->hide();
  tables_->addSearch(&model_);
  connect(bar_, &views::SearchBar::stepRequested, this, &RunSearch::step);
  connect(bar_, &views::SearchBar::closeRequested, this, &RunSearch::close);
  connect(tables_, &BottomTables::matchPicked, this, &RunSearch::pickRow);
  connect(focus_, &views::EventFocus::changed, this, &RunSearch::followFocus);
}

bool RunSearch::isOpen() const {
  return !bar_->isHidden();
}

void RunSearch::open() {
  if (!isOpen()) {
    bar_->show();
    model_.setText(bar_->text().trimmed());
    tables_->showSearch(true);
    before_ = View{axis_->visible(), axis_->follows()};
    shownByHit_.reset();
  }
  bar_->startTyping();
}

void RunSearch::close() {
  if (!isOpen()) return;
  bar_->hide();
  model_.setText({});
  tables_->showSearch(false);
  restoreView();
  emit closed();
}

void RunSearch::restoreView() {
  const auto before = std::exchange(before_, std::nullopt);
  const auto byHit = std::exchange(shownByHit_, std::nullopt);
  const views::TimeRange now = axis_->visible();
  if (!before || !byHit || now.beginNs != byHit->beginNs || now.endNs != byHit->endNs) return;
  axis_->setVisible(before->range);
  axis_->setFollows(before->follows);
}

void RunSearch::refresh() {
  model_.refresh();
}

void RunSearch::startOver() {
  before_.reset();
  model_.startOver();
}

/// Where the search goes on from if no hit is current.
std::int64_t RunSearch::startNs() const {
  if (const auto& picked = focus_->picked(); picked && exists(*store_, *picked)) {
    return timeRangeOf(*store_, *picked).beginNs;
  }
  return axis_->cursor().value_or(axis_->visible().beginNs);
}

void RunSearch::step(int direction) {
  if (const auto hit = model_.step(direction, startNs())) go(*hit);
}

void RunSearch::stepOrOpen(int direction) {
  if (!isOpen()) {
    open();
    return;
  }
  bar_->searchNow();
  step(direction);
}

void RunSearch::go(const SearchModel::Hit& hit) {
  const views::TimeRange was = axis_->visible();
  const bool moved =
      shownByHit_ && (shownByHit_->beginNs != was.beginNs || shownByHit_->endNs != was.endNs);
  if (moved) before_.reset();         // by the user, who wants to stay there
  focus_->goTo(views::eventOf(hit));  // does nothing if the store has dropped the event since
  shownByHit_ = axis_->visible();
}

void RunSearch::pickRow(int row) {
  if (const auto hit = model_.firstOf(row)) {
    model_.setCurrent(*hit);
    go(*hit);
  } else if (const int line = model_.logRowOf(row); line >= 0) {
    tables_->showLogLine(line);
  }
}

/// An event that the user picks becomes the current hit if it is one.
void RunSearch::followFocus() {
  const auto& picked = focus_->picked();
  if (!isOpen() || !picked || !exists(*store_, *picked)) return;
  SearchModel::Hit hit;
  switch (picked->lane) {
    case views::Lane::kOps:
      hit.event = analysis::FoundEvent::kOp;
      break;
    case views::Lane::kSyncPoints:
      hit.event = analysis::FoundEvent::kSyncPoint;
      break;
    case views::Lane::kFallbacks:
      hit.event = analysis::FoundEvent::kFallback;
      break;
    case views::Lane::kMarkers:
      hit.event = analysis::FoundEvent::kMarker;
      break;
    default:
      return model_.setCurrent(std::nullopt);
  }
  hit.timeNs = timeRangeOf(*store_, *picked).beginNs;
  hit.index = picked->index;
  model_.setCurrent(hit);
}

}  // namespace highwater::window
