#include "window/findings_dock.h"

#include <QDockWidget>
#include <QScrollArea>
#include <algorithm>

#include "analysis/findings/run_changes.h"
#include "views/panels/dock_title.h"
#include "views/panels/finding_example.h"
#include "views/panels/findings_panel.h"

namespace highwater::window {
namespace {

constexpr qint64 kLeastWaitMs = 1000;
constexpr qint64 kWaitOfCost = 20;
constexpr int kSelectionRestMs = 150;
constexpr std::size_t kMostChanges = 3;

std::optional<views::Lane> laneOf(const analysis::Finding& finding) {
  if (!finding.longest) return std::nullopt;
  return finding.kind == analysis::FindingKind::Fallback ? views::Lane::kFallbacks
                                                         : views::Lane::kSyncPoints;
}

}  // namespace

FindingsDock::FindingsDock(QDockWidget* dock, views::DockTitle* title,
                           const analysis::LiveStore* store, views::TimeAxis* axis,
                           views::EventFocus* focus)
    : QObject(dock),
      store_(store),
      axis_(axis),
      focus_(focus),
      title_(title),
      panel_(new views::FindingsPanel) {
  auto* area = new QScrollArea(dock);
  area->setAccessibleName(tr("Findings"));
  area->setWidget(panel_);
  area->setWidgetResizable(true);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  dock->setWidget(area);
  timer_.setSingleShot(true);
  connect(&timer_, &QTimer::timeout, this, &FindingsDock::checkNow);
  connect(panel_, &views::FindingsPanel::findingPicked, this, &FindingsDock::show);
  connect(panel_, &views::FindingsPanel::acceptRequested, this, &FindingsDock::acceptRequested);
  connect(panel_, &views::FindingsPanel::withdrawRequested, this, &FindingsDock::withdrawRequested);
}

void FindingsDock::refresh() {
  if (store_->revision() == revision_ || timer_.isActive()) {
    return;
  }
  const qint64 passed = sinceCheck_.isValid() ? sinceCheck_.elapsed() : waitMs_;
  if (passed >= waitMs_) {
    checkNow();
  } else {
    timer_.start(static_cast<int>(waitMs_ - passed));
  }
}

void FindingsDock::refreshLater() {
  timer_.start(kSelectionRestMs);
}

void FindingsDock::checkNow() {
  timer_.stop();
  QElapsedTimer cost;
  cost.start();
  const analysis::Findings findings = analysis::findProblems(*store_, axis_->selection());
  // Of the whole run: two ranges of one's own are for Compare.
  const bool ofRun = !axis_->selection().has_value();
  panel_->showChanges(ofRun ? analysis::runChanges(*store_, kMostChanges)
                            : std::vector<analysis::RunChange>());
  waitMs_ = std::max(kLeastWaitMs, cost.elapsed() * kWaitOfCost);
  sinceCheck_.start();
  revision_ = store_->revision();
  worstLane_ = findings.found.empty() ? std::nullopt : laneOf(findings.found.front());
  panel_->showEnd(store_->end(), store_->run() && !store_->ownScript());
  panel_->showFindings(findings, store_->hello().has_value(), store_->end().has_value());
  const std::size_t count = findings.found.size();
  const QString of = findings.ofRange ? tr(" in the selection") : QString();
  title_->setSubtitle(count == 0         ? of.trimmed()
                      : count == 1       ? QStringLiteral("1") + of
                      : findings.ofRange ? QString::number(count) + of
                                         : tr("%1, the worst first").arg(count));
}

void FindingsDock::show(const analysis::Finding& finding) {
  const auto example = views::exampleOf(*store_, finding);
  if (!example) {
    return;
  }
  axis_->zoomTo(example->range);
  example->event ? focus_->pick(*example->event) : focus_->clear();
}

}  // namespace highwater::window
