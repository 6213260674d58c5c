// The window and its view Tuning: the switch, and the settings that are chosen there.
#include <QStackedWidget>
#include <cmath>

#include "core/run_limits.h"
#include "models/qt_text.h"
#include "run/sweep_run.h"
#include "run/tried_knob.h"
#include "run/try_run.h"
#include "session/script_process.h"
#include "views/panels/controls_panel.h"
#include "views/panes/pane_stack.h"
#include "views/tuning/tuning_panel.h"
#include "views/tuning/tuning_view.h"
#include "window/dock_layout.h"
#include "window/findings_dock.h"
#include "window/main_window.h"
#include "window/run_dialogs.h"
#include "window/run_notices.h"
#include "window/run_search.h"
#include "window/run_status_bar.h"
#include "window/sweep_control.h"
#include "window/try_knob_dialog.h"
#include "window/tuning_page.h"
#include "window/window_actions.h"
#include "window/window_docks.h"

namespace highwater::window {

void MainWindow::connectTuning() {
  connect(actions_->timelineView, &QAction::triggered, this, [this] { showTuning(false); });
  connect(actions_->tryKnob, &QAction::triggered, this, &MainWindow::tryKnob);
  connect(actions_->tuningView, &QAction::triggered, this, [this] { showTuning(true); });
  sweep_ = new SweepControl(&run_, actions_, docks_, &tuning_, this);
  connect(sweep_, &SweepControl::runRequested, this, &MainWindow::startRunToSweep);
  connect(sweep_, &SweepControl::scriptSweepRequested, this, [this] {
    QDialog* dialog = askToSweepScript(this, session::programText(run_.script()->command),
                                       run_.live(), [this] { sweep_->sweepScript(); });
    // What it says of a run that goes on would not be true after its end.
    connect(&run_, &run::Run::ended, dialog, &QDialog::reject);
  });
  connect(sweep_, &SweepControl::problem, notices_, &RunNotices::showProblem);
  connect(sweep_, &SweepControl::sweepingChanged, this, [this] {
    // What a sweep does is seen there: in the timeline the run would only seem to change by itself.
    if (run_.sweeps()) showTuning(true);
    docks_->showWhoSetsKnobs(run_.sweeps());
    updateState();
  });
  connect(docks_->tuningPanel(), &views::TuningPanel::applyRequested, this,
          &MainWindow::applySetting);
  connect(docks_, &WindowDocks::settingPicked, this, &MainWindow::chooseSetting);
  connect(&tuning_, &models::TuningState::sweepingChanged, this, &MainWindow::showTuningMarks);
}

void MainWindow::tryFix(const analysis::Finding& finding) {
  const bool reads = analysis::readsWhereTried(run_.store(), finding);
  QDialog* dialog = askToTryFix(this, text(finding.line), reads, [this, finding] {
    if (auto started = run_.startTry(finding); !started) {
      notices_->showProblem(tr("Not tried: %1").arg(text(started.error().message)));
    }
  });
  connect(&run_, &run::Run::ended, dialog, &QDialog::reject);
}

void MainWindow::tryKnob() {
  if (run_.tries()) return run_.stopTry();
  if (run::knobsToTry(run_.store()).empty()) {
    notices_->showProblem(
        tr("The script has no knob to try. It declares one by highwater.knob(\"name\", value), and "
           "uses the value that this returns in each step."));
    return;
  }
  QDialog* dialog =
      askToTryKnob(this, run_.store(), [this](const std::string& knob, const std::string& value) {
        if (auto started = run_.startTry(knob, value); !started) {
          notices_->showProblem(tr("Not tried: %1").arg(text(started.error().message)));
        }
      });
  connect(&run_, &run::Run::ended, dialog, &QDialog::reject);
}

void MainWindow::showTry() {
  const run::TryRun* tried = run_.tried();
  if (!tried) return;
  updateState();
  if (tried->isRunning()) {
    status_->showMessage(tr("Trying %1: %2 %")
                             .arg(text(tried->change().text()))
                             .arg(std::lround(100 * tried->progress())),
                         60'000);
  } else if (tried->result()) {
    status_->showMessage({}, 1);
    notices_->showNote(text("Tried " + tried->text()));
  } else {
    notices_->showProblem(text(tried->text()));
  }
}

/// A sweep finds out what fits: its run begins as `highwater sweep` does, not with a large batch
/// that was never tried.
void MainWindow::startRunToSweep() {
  if (run_.live()) return;
  if (run_.script()) return startRun();
  views::ControlsPanel& controls = *docks_->controls();
  controls.commit();
  Knobs knobs = controls.knobs();
  const std::uint32_t first = run::firstSweepBatch(1, kMostBatchSize);
  if (knobs.batchSize > first) {
    knobs.batchSize = first;
    controls.request(knobs);
    status_->showMessage(tr("The sweep begins at batch %1").arg(first), 6000);
  }
  startRun();
}

void MainWindow::chooseSetting(tuning::Setting setting) {
  // The sliders follow, and tell the state of tuning.
  run_.store().ownScript() ? tuning_.setChosen(setting)
                           : docks_->controls()->choose(setting.batch, setting.length);
}

QWidget* MainWindow::runPage() const {
  return tuningShown() ? static_cast<QWidget*>(tuningPage_) : panes_;
}

void MainWindow::makeTuningPage() {
  if (tuningPage_) return;
  tuningPage_ = new TuningPage(&run_.store(), &axis_, &focus_, &tuning_, centre_);
  tuningPage_->setSmall(layout_->size().small);
  tuningPage_->showSearch(&search_->model());
  centre_->addWidget(tuningPage_);
  connect(tuningPage_->view(), &views::TuningView::settingChosen, this, &MainWindow::chooseSetting);
  connect(tuningPage_->view(), &views::TuningView::applyRequested, this, &MainWindow::applySetting);
  showTuningMarks();
}

void MainWindow::showTuning(bool shown) {
  (shown ? actions_->tuningView : actions_->timelineView)->setChecked(true);
  if (shown == tuningShown()) return;
  if (shown) makeTuningPage();
  const bool replaces = centre_->currentWidget() == runPage();
  view_ = shown ? View::kTuning : View::kTimeline;
  docks_->showTuning(shown);
  if (!replaces) return;  // a page covers the run
  refreshPanes();
  centre_->setCurrentWidget(runPage());
  runPage()->setFocus();
}

void MainWindow::showTuningMarks() {
  if (!tuningPage_) return;
  const auto state = run_.state();
  const bool training =
      state == session::Session::State::kRunning || state == session::Session::State::kPaused;
  views::SettingMarks marks;
  if (training && tuning_.current().batch > 0) marks.measuring = tuning_.current();
  if (tuning_.sweeps()) marks.measuring = tuning_.measuring();
  if (tuning_.sweep()) marks.recommended = tuning_.sweep()->best;
  tuningPage_->view()->setMarks(marks);
}

void MainWindow::applySetting(tuning::Setting setting) {
  if (run_.sweeps()) {  // its steps would be credited to another setting
    status_->showMessage(tr("A sweep is running: stop it before applying a setting"), 6000);
    return;
  }
  tuning_.setChosen(setting);
  if (run_.store().ownScript()) {
    const auto applied = run_.applySetting(setting);
    status_->showMessage(applied ? text(*applied) : text(applied.error().message), 6000);
    return;
  }
  Knobs knobs = docks_->controls()->knobs();
  knobs.batchSize = setting.batch;
  knobs.sequenceLength = setting.length;
  docks_->controls()->request(knobs);
}

}  // namespace highwater::window
