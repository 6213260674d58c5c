#include "window/tuning_page.h"

#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>

#include "models/tuning_state.h"
#include "views/panes/memory_pane.h"
#include "views/panes/ruler.h"
#include "views/panes/settings_pane.h"
#include "views/tuning/tuning_map.h"
#include "views/tuning/tuning_view.h"

namespace highwater::window {
namespace {

/// The share of the height that the panes on the time axis have.
constexpr double kPanesShare = 0.38;
/// Map and throughput keep this height: below it first the settings give way, then the memory.
constexpr int kLeastView = 280;

}  // namespace

TuningPage::TuningPage(const analysis::LiveStore* store, views::TimeAxis* axis,
                       views::EventFocus* focus, const models::TuningState* state, QWidget* parent)
    : QWidget(parent),
      splitter_(new QSplitter(Qt::Vertical, this)),
      over_(new QWidget(splitter_)),
      ruler_(new views::Ruler(store, axis, focus, over_)),
      memory_(new views::MemoryPane(store, axis, focus, over_)),
      settings_(new views::SettingsPane(store, axis, focus, over_)),
      panes_{ruler_, memory_, settings_},
      view_(new views::TuningView(state, splitter_)) {
  setObjectName(QStringLiteral("tuningPage"));
  auto* stack = new QVBoxLayout(over_);
  stack->setContentsMargins(0, 0, 0, 0);
  stack->setSpacing(0);
  for (views::TimePane* pane : panes_) stack->addWidget(pane);
  stack->setStretchFactor(memory_, 1);
  splitter_->setObjectName(QStringLiteral("tuningPageSplitter"));
  splitter_->setChildrenCollapsible(false);
  splitter_->setHandleWidth(1);
  splitter_->addWidget(over_);
  splitter_->addWidget(view_);
  splitter_->setStretchFactor(1, 1);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(splitter_);
  setFocusProxy(view_->map());
  connect(splitter_, &QSplitter::splitterMoved, this, [this] { sharedByUser_ = true; });
}

void TuningPage::refresh() {
  for (views::TimePane* pane : panes_) pane->refresh();
}

void TuningPage::setSmall(bool small) {
  const views::PaneMeasures measures = views::measuresFor(small);
  for (views::TimePane* pane : panes_) pane->setMeasures(measures);
  shareHeight();
}

void TuningPage::showSearch(const models::SearchModel* search) {
  ruler_->showSearch(search);
}

QPoint TuningPage::placeOf(std::int64_t ns) const {
  const views::TimePane* pane = over_->isVisible() ? ruler_ : nullptr;
  if (!pane) return view_->mapToGlobal(QPoint(view_->width() / 2, 0));
  const QRect plot = pane->plotRect();
  const double x = std::clamp(pane->scale().pixelAt(ns), static_cast<double>(plot.left()),
                              static_cast<double>(plot.right()));
  return pane->mapToGlobal(QPoint(static_cast<int>(x), pane->height()));
}

void TuningPage::shareHeight() {
  const int rest = height() - kLeastView - ruler_->minimumHeight() - memory_->minimumHeight();
  settings_->setVisible(rest >= settings_->minimumHeight());
  over_->setVisible(rest >= 0);
  if (sharedByUser_) return;
  const int panes = static_cast<int>(height() * kPanesShare);
  splitter_->setSizes({panes, height() - panes});
}

void TuningPage::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  shareHeight();
}

void TuningPage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  refresh();
}

void TuningPage::renderNow() {
  refresh();
  for (views::TimePane* pane : panes_) {
    if (pane->isVisibleTo(this)) pane->renderNow();
  }
  view_->renderNow();
}

}  // namespace highwater::window
