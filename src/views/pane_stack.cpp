#include "views/pane_stack.h"

#include <QVBoxLayout>
#include <algorithm>

#include "views/details_strip.h"
#include "views/memory_pane.h"
#include "views/overview_pane.h"
#include "views/ruler.h"
#include "views/step_panes.h"
#include "views/timeline_pane.h"

namespace highwater::views {
namespace {

/// Of the height that memory and ops share, ops may take so much; memory keeps kLeastMemory anyway.
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
      details_(new DetailsStrip(store, focus, this)) {
  auto* ruler = new Ruler(store, axis, focus, this);
  auto* overview = new OverviewPane(store, axis, focus, this);
  panes_ = {ruler, memory_, stepTime_, throughput_, timeline_, overview};
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(ruler);
  column->addWidget(memory_, 1);
  column->addWidget(stepTime_);
  column->addWidget(throughput_);
  column->addWidget(timeline_);
  column->addWidget(details_);
  column->addWidget(overview);
  setMinimumWidth(560);
  // Explicit, and that of the small layout: the rows of ops take what is there, and neither they
  // nor the larger layout may keep the window from shrinking.
  setSmall(true);
  setMinimumHeight(fixedHeight() + timeline_->heightWithoutOps() + kLeastMemory);
  setSmall(false);
}

void PaneStack::refresh() {
  for (TimePane* pane : panes_) {
    pane->refresh();
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
  const int shared = height() - fixedHeight() - timeline_->heightWithoutOps();
  const double forOps = std::min(shared * kOpsShare, static_cast<double>(shared - kLeastMemory));
  const int rows = static_cast<int>(forOps / LaneRows::opRowHeight(timeline_->measures().small));
  timeline_->setMostOpRows(std::max(rows, 0));
  layout()->activate();  // at once: a frame or a picture before the event loop would show a gap
}

void PaneStack::offerOps(QAction* action) {
  timeline_->offerOps(action);
}

void PaneStack::renderNow() {
  for (TimePane* pane : panes_) {
    pane->renderNow();
  }
}

}  // namespace highwater::views
