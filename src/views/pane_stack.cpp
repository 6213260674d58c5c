#include "views/pane_stack.h"

#include <QVBoxLayout>

#include "views/details_strip.h"
#include "views/memory_pane.h"
#include "views/overview_pane.h"
#include "views/ruler.h"
#include "views/step_panes.h"
#include "views/timeline_pane.h"

namespace highwater::views {

PaneStack::PaneStack(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
                     QWidget* parent)
    : QWidget(parent),
      stepTime_(new StepTimePane(store, axis, focus, this)),
      throughput_(new ThroughputPane(store, axis, focus, this)),
      details_(new DetailsStrip(store, focus, this)) {
  auto* ruler = new Ruler(store, axis, focus, this);
  auto* memory = new MemoryPane(store, axis, focus, this);
  auto* timeline = new TimelinePane(store, axis, focus, this);
  auto* overview = new OverviewPane(store, axis, focus, this);
  panes_ = {ruler, memory, stepTime_, throughput_, timeline, overview};
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(ruler);
  column->addWidget(memory, 1);
  column->addWidget(stepTime_);
  column->addWidget(throughput_);
  column->addWidget(timeline);
  column->addWidget(details_);
  column->addWidget(overview);
  setMinimumWidth(560);
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
}

void PaneStack::renderNow() {
  for (TimePane* pane : panes_) {
    pane->renderNow();
  }
}

}  // namespace highwater::views
