#include "views/panes/pane_stack.h"

#include <QVBoxLayout>
#include <algorithm>

#include "views/panels/details_strip.h"
#include "views/panes/memory_pane.h"
#include "views/panes/overview_pane.h"
#include "views/panes/ruler.h"
#include "views/panes/step_panes.h"
#include "views/panes/timeline_pane.h"

namespace highwater::views {
namespace {

/// The largest share of the common height of memory and ops that ops take. Memory keeps at least
/// kLeastMemory.
constexpr double kOpsShare = 0.45;
constexpr int kLeastMemory = 160;

}  // namespace

PaneStack::PaneStack(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
                     QWidget* parent)
    : QWidget(parent),
      stepTime_(new StepTimePane(store, axis, focus, this)),
      throughput_(new ThroughputPane(store, axis, focus, this)),
      memory_(new MemoryPane(store, axis, focus, this)),
      timeline_(new TimelinePane(store, axis, focus, this)),
      details_(new DetailsStrip(store, focus, this)),
      ruler_(new Ruler(store, axis, focus, this)),
      overview_(new OverviewPane(store, axis, focus, this)) {
  panes_ = {ruler_, memory_, stepTime_, throughput_, timeline_, overview_};
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(ruler_);
  column->addWidget(memory_, 1);
  column->addWidget(stepTime_);
  column->addWidget(throughput_);
  column->addWidget(timeline_);
  column->addWidget(details_);
  column->addWidget(overview_);
  setMinimumWidth(560);
  // The minimum of the small layout without ops: neither rows of ops nor the larger layout may keep
  // the window from shrinking.
  setSmall(true);
  setMinimumHeight(fixedHeight() + timeline_->heightWithoutOps() + kLeastMemory);
  setSmall(false);
}

void PaneStack::refresh() {
  for (TimePane* pane : panes_) {
    pane->refresh();
  }
  if (timeline_->heightWithoutOps() != sharedFor_) {
    shareHeight();  // it has got a row
  }
  details_->refresh();
}

void PaneStack::setSmall(bool small) {
  PaneMeasures measures;
  measures.small = small;
  measures.gutter = small ? 100 : 112;
  for (TimePane* pane : panes_) {
    pane->setMeasures(measures);
  }
  stepTime_->setFixedHeight(measures.header + (small ? 44 : 70));
  throughput_->setFixedHeight(measures.header + 56);
  throughput_->setVisible(!small);
  shareHeight();
}

void PaneStack::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  shareHeight();
}

int PaneStack::fixedHeight() const {
  int fixed = 0;
  for (int i = 0; i < layout()->count(); ++i) {
    const QWidget* pane = layout()->itemAt(i)->widget();
    if (pane != memory_ && pane != timeline_ && !pane->isHidden()) {
      fixed += pane->minimumHeight();
    }
  }
  return fixed;
}

void PaneStack::shareHeight() {
  sharedFor_ = timeline_->heightWithoutOps();
  const int shared = height() - fixedHeight() - timeline_->heightWithoutOps();
  const double forOps = std::min(shared * kOpsShare, static_cast<double>(shared - kLeastMemory));
  const int rows =
      static_cast<int>(forOps / laneKind(Lane::kOps).height(timeline_->measures().small));
  timeline_->setMostOpRows(std::max(rows, 0));
  layout()->activate();  // now: a frame drawn before the event loop runs would show a gap
}

void PaneStack::offerOps(QAction* action, const QString& again) {
  timeline_->offerOps(action, again);
}

void PaneStack::showSearch(const models::SearchModel* search) {
  ruler_->showSearch(search);
  overview_->showSearch(search);
}

void PaneStack::renderNow() {
  for (TimePane* pane : panes_) {
    pane->renderNow();
  }
}

}  // namespace highwater::views
