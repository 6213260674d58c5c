#include "views/panes/pane_stack.h"

#include <QAction>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "views/panels/details_strip.h"
#include "views/panes/memory_pane.h"
#include "views/panes/overview_pane.h"
#include "views/panes/ruler.h"
#include "views/panes/step_panes.h"
#include "views/panes/system_pane.h"
#include "views/panes/timeline_pane.h"

namespace highwater::views {
namespace {

/// The largest share of the common height of memory and ops that ops take. Memory keeps at least
/// kLeastMemory.
constexpr double kOpsShare = 0.45;
constexpr int kLeastMemory = 120;
/// Optional panes leave memory and ops at least this height, unless the user asks for them.
constexpr int kRoomyMemory = 300;

}  // namespace

PaneStack::PaneStack(const analysis::LiveStore* store, TimeAxis* axis, EventFocus* focus,
                     QWidget* parent)
    : QWidget(parent),
      stepTime_(new StepTimePane(store, axis, focus, this)),
      throughput_(new ThroughputPane(store, axis, focus, this)),
      memory_(new MemoryPane(store, axis, focus, this)),
      timeline_(new TimelinePane(store, axis, focus, this)),
      details_(new DetailsStrip(store, focus, this)),
      store_(store),
      ruler_(new Ruler(store, axis, focus, this)),
      overview_(new OverviewPane(store, axis, focus, this)) {
  system_.pane = new SystemPane(store, axis, focus, this);
  loss_.pane = new LossPane(store, axis, focus, this);
  panes_ = {ruler_,      memory_,    system_.pane, stepTime_,
            throughput_, loss_.pane, timeline_,    overview_};
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(ruler_);
  column->addWidget(memory_, 1);
  column->addWidget(system_.pane);
  column->addWidget(stepTime_);
  column->addWidget(throughput_);
  column->addWidget(loss_.pane);
  column->addWidget(timeline_);
  column->addWidget(details_);
  column->addWidget(overview_);
  makeOptional(system_, memory_, tr("System pane"), "systemPane",
               tr("Footprint, available memory, swap, pressure and GPU over time"));
  makeOptional(loss_, stepTime_, tr("Loss pane"), "lossPane", tr("The losses that were read"));
  setMinimumWidth(420);
  setSmall(false);
}

void PaneStack::makeOptional(Optional& optional, TimePane* above, const QString& text,
                             const char* name, const QString& tip) {
  optional.pane->hide();
  optional.action = new QAction(text, this);
  optional.action->setObjectName(QLatin1String(name) + QStringLiteral("Action"));
  optional.action->setCheckable(true);
  optional.action->setToolTip(tip);
  optional.toggle = new QToolButton(above);
  optional.toggle->setObjectName(QLatin1String(name) + QStringLiteral("Toggle"));
  optional.toggle->setProperty("kind", "link");
  optional.toggle->setFocusPolicy(Qt::NoFocus);
  optional.toggle->setAutoRaise(true);
  optional.toggle->setCursor(Qt::ArrowCursor);
  optional.toggle->setFixedSize(16, 16);
  connect(optional.toggle, &QToolButton::clicked, optional.action, &QAction::trigger);
  connect(optional.action, &QAction::triggered, this, [this, &optional](bool shown) {
    optional.wanted = shown;
    placeOptional();
    shareHeight();
    optional.pane->refresh();
  });
}

void PaneStack::giveWay() {
  const std::pair<QWidget*, bool> inOrder[] = {{throughput_, !timeline_->measures().small},
                                               {stepTime_, true},
                                               {details_, true},
                                               {overview_, true}};
  int needed = fixedHeight() + timeline_->heightWithoutOps() + kLeastMemory;
  for (const auto& [pane, wanted] : inOrder) {
    needed += pane->minimumHeight() * (int{wanted} - int{!pane->isHidden()});
  }
  // Shown and hidden once, so that nothing is laid out twice.
  for (const auto& [pane, wanted] : inOrder) {
    const bool shown = wanted && needed <= height();
    needed -= wanted && !shown ? pane->minimumHeight() : 0;
    pane->setVisible(shown);
  }
  // What the user asks for does not give way: then the window grows.
  int least = ruler_->minimumHeight() + timeline_->heightWithoutOps() + kLeastMemory;
  for (const Optional* each : {&system_, &loss_}) {
    least += each->wanted.value_or(false) ? each->pane->minimumHeight() : 0;
  }
  setMinimumHeight(least);
}

void PaneStack::placeOptional() {
  int room = height() - fixedHeight() - timeline_->heightWithoutOps() - kRoomyMemory;
  for (const Optional* each : {&system_, &loss_}) {
    room += each->pane->isHidden() ? 0 : each->pane->minimumHeight();
  }
  for (const Optional* each : {&loss_, &system_}) {
    const bool isLoss = each == &loss_;
    const bool hasData =
        isLoss ? store_->steps().lastLossRow.has_value() : !store_->system().timesNs.empty();
    const int needed = each->pane->minimumHeight();
    const bool fits = hasData && !timeline_->measures().small && needed <= room;
    const bool shown = each->wanted.value_or(fits);
    room -= shown ? needed : 0;
    each->pane->setVisible(shown);
    each->action->setChecked(shown);
    each->toggle->setArrowType(shown ? Qt::DownArrow : Qt::RightArrow);
    const QString name = each->action->text();
    each->toggle->setToolTip(shown ? tr("Hide: %1").arg(name) : tr("Show: %1").arg(name));
    each->toggle->setAccessibleName(each->toggle->toolTip());
    each->toggle->move(timeline_->measures().gutter - 22, 5);
  }
  giveWay();
}

void PaneStack::refresh() {
  for (TimePane* pane : panes_) {
    pane->refresh();
  }
  // A row has come, the first loss was read, or another reading has become known.
  const auto shares = std::tuple(timeline_->heightWithoutOps(), system_.pane->minimumHeight(),
                                 store_->steps().lastLossRow.has_value());
  if (shares != sharedFor_) {
    sharedFor_ = shares;
    placeOptional();
    shareHeight();
  }
  details_->refresh();
}

void PaneStack::setSmall(bool small) {
  const PaneMeasures measures = measuresFor(small);
  for (TimePane* pane : panes_) {
    pane->setMeasures(measures);
  }
  stepTime_->setFixedHeight(measures.header + (small ? 44 : 70));
  throughput_->setFixedHeight(measures.header + 56);
  loss_.pane->setFixedHeight(measures.header + 44);
  placeOptional();
  shareHeight();
}

void PaneStack::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  placeOptional();
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
  const int rows =
      static_cast<int>(forOps / laneKind(Lane::kOps).height(timeline_->measures().small));
  timeline_->setMostOpRows(std::max(rows, 0));
  layout()->activate();  // now: a frame drawn before the event loop runs would show a gap
}

void PaneStack::offerOps(QAction* action, const QString& again) {
  timeline_->offerOps(action, again);
}

void PaneStack::setWaitsCostLittle(bool little) {
  stepTime_->setWaitsCostLittle(little);
}

void PaneStack::showSearch(const models::SearchModel* search) {
  ruler_->showSearch(search);
  overview_->showSearch(search);
}

QPoint PaneStack::placeOf(std::int64_t ns) const {
  const QRect plot = ruler_->plotRect();
  const double x = std::clamp(ruler_->scale().pixelAt(ns), static_cast<double>(plot.left()),
                              static_cast<double>(plot.right()));
  return ruler_->mapToGlobal(QPoint(static_cast<int>(x), ruler_->height()));
}

void PaneStack::renderNow() {
  for (TimePane* pane : panes_) {
    pane->renderNow();
  }
}

}  // namespace highwater::views
