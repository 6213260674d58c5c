#include "window/findings_dock.h"

#include <QDockWidget>
#include <QScrollArea>
#include <algorithm>
#include <utility>

#include "core/units.h"
#include "models/qt_text.h"
#include "views/panels/dock_title.h"
#include "views/panels/finding_example.h"
#include "views/panels/findings_panel.h"
#include "window/turn_limit.h"

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
  connect(&timer_, &QTimer::timeout, this, [this] {
    begin();
    takeTurn();
  });
  turnTimer_.setSingleShot(true);
  turnTimer_.setInterval(0);
  connect(&turnTimer_, &QTimer::timeout, this, &FindingsDock::takeTurn);
  connect(panel_, &views::FindingsPanel::findingPicked, this, &FindingsDock::show);
  connect(panel_, &views::FindingsPanel::acceptRequested, this, &FindingsDock::acceptRequested);
  connect(panel_, &views::FindingsPanel::withdrawRequested, this, &FindingsDock::withdrawRequested);
  connect(panel_, &views::FindingsPanel::tryRequested, this, &FindingsDock::tryRequested);
}

void FindingsDock::setTrying(bool possible) {
  panel_->setTrying(possible);
}

void FindingsDock::refresh() {
  if (store_->revision() == revision_ || timer_.isActive() || isChecking()) {
    return;
  }
  const qint64 passed = sinceCheck_.isValid() ? sinceCheck_.elapsed() : waitMs_;
  if (passed >= waitMs_) {
    begin();
    takeTurn();
  } else {
    timer_.start(static_cast<int>(waitMs_ - passed));
  }
}

void FindingsDock::refreshLater() {
  check_.reset();  // of the range before
  changes_.reset();
  turnTimer_.stop();
  isOutdated_ = true;
  timer_.start(kSelectionRestMs);
}

void FindingsDock::checkNow() {
  known_.clear();  // what the user accepts is no finding any more
  begin();
  finish();
}

void FindingsDock::startOver() {
  known_.clear();
  isOutdated_ = true;
  begin();
  takeTurn();
}

void FindingsDock::begin() {
  timer_.stop();
  range_ = axis_->selection();
  checkRevision_ = store_->revision();
  costNs_ = 0;
  saysChecking_ = false;
  changes_.reset();
  check_ = analysis::findProblemsInTurns(*store_, range_);
}

void FindingsDock::takeTurn() {
  if (!check_) return;
  QElapsedTimer turn;
  turn.start();
  while (!isDone() && !turn.hasExpired(kTurnMs)) advance();
  costNs_ += turn.nsecsElapsed();
  if (isDone()) {
    showChecked();
    return;
  }
  if (isOutdated_ && !std::exchange(saysChecking_, true)) {
    panel_->showChecking();
    title_->setSubtitle(range_ ? tr("checking the selection") : tr("checking"));
  }
  turnTimer_.start();
}

void FindingsDock::finish() {
  if (!check_) return;
  QElapsedTimer turn;
  turn.start();
  while (!isDone()) advance();
  costNs_ += turn.nsecsElapsed();
  showChecked();
}

bool FindingsDock::isDone() const {
  return check_->isDone() && (range_ || (changes_ && changes_->isDone()));
}

void FindingsDock::advance() {
  if (!check_->isDone()) {
    check_->advance();
  } else if (!changes_) {
    changes_ = analysis::runChangesInTurns(*store_, kMostChanges, &known_);
  } else {
    changes_->advance();
  }
}

void FindingsDock::showChecked() {
  turnTimer_.stop();
  const analysis::Findings findings = check_->finish();
  panel_->showChanges(changes_ ? changes_->finish() : std::vector<analysis::RunChange>());
  check_.reset();
  changes_.reset();
  isOutdated_ = false;
  const qint64 costMs = costNs_ / 1'000'000;
  waitMs_ = std::max(kLeastWaitMs, costMs * kWaitOfCost);
  sinceCheck_.start();
  revision_ = checkRevision_;
  // What arrived during the check may be the last of the run: nothing else asks for it again.
  if (store_->revision() != revision_) timer_.start(static_cast<int>(waitMs_));
  worstLane_ = findings.found.empty() ? std::nullopt : laneOf(findings.found.front());
  panel_->showEnd(store_->end(), store_->run() && !store_->ownScript());
  panel_->showFindings(findings, store_->hello().has_value(), store_->end().has_value());
  const std::size_t count = findings.found.size();
  const QString of = findings.ofRange ? tr(" in the selection") : QString();
  const auto& all = findings.gainOfAllMs;
  // Two of them may save less together than each by itself.
  const QString together = findings.priced() > 1 && all && all->estimate > 0
                               ? tr(", together about %1 a step").arg(text(formatMs(all->estimate)))
                               : QString();
  title_->setSubtitle(count == 0 ? of.trimmed() : QString::number(count) + together + of);
  if (!findings.ofRange) {
    emit memoryGrows(findings.driverMemoryGrows());
    emit waitsCostLittle(findings.waitsCostLittle);
  }
  emit checked();
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
