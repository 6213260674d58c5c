#include "window/sweep_control.h"

#include <QAction>
#include <utility>

#include "models/qt_text.h"
#include "models/tuning_state.h"
#include "run/run.h"
#include "views/panels/controls_panel.h"
#include "views/tuning/tuning_panel.h"
#include "window/window_actions.h"
#include "window/window_docks.h"

namespace highwater::window {

using session::Session;

namespace {

tuning::Setting settingOf(const Knobs& knobs) {
  return {knobs.batchSize, knobs.sequenceLength};
}

}  // namespace

SweepControl::SweepControl(run::Run* run, WindowActions* actions, WindowDocks* docks,
                           models::TuningState* tuning, QObject* parent)
    : QObject(parent), run_(run), actions_(actions), docks_(docks), tuning_(tuning) {
  connect(actions_->sweep, &QAction::triggered, this, &SweepControl::startOrStop);
  const auto* panel = docks_->tuningPanel();
  connect(panel, &views::TuningPanel::sweepRequested, this, &SweepControl::startOrStop);
  connect(panel, &views::TuningPanel::stopSweepRequested, run_, &run::Run::stopSweep);
  connect(run_, &run::Run::sweepChanged, this, &SweepControl::showProgress);
  // The window fits the model to the new run itself.
  connect(run_, &run::Run::runReplaced, this, [this] {
    users_.reset();
    showSweep();
  });
  connect(run_, &run::Run::stateChanged, this, [this] {
    if (wanted_ && run_->state() == Session::State::kRunning) start();
  });
  connect(run_, &run::Run::ended, this, [this] {
    wanted_ = stopsScript_ = false;
    // A sweep that ended while its run was stopping has left the setting to the run's end.
    if (!run_->sweeps()) putBackSetting();
  });
  update();
}

void SweepControl::startOrStop() {
  if (run_->sweeps()) {
    run_->stopSweep();
  } else if (run_->script()) {
    emit scriptSweepRequested();
  } else if (run_->live()) {
    start();
  } else {
    views::ControlsPanel* controls = docks_->controls();
    const tuning::Setting users = settingOf(controls->knobs());
    emit runRequested();
    users_ = users;
    wanted_ = run_->live();
    beganElsewhere_ = users != settingOf(controls->knobs());
    if (!wanted_) putBackSetting();
  }
}

void SweepControl::sweepScript() {
  if (run_->sweeps() || !run_->script()) return;
  if (run_->live()) return start();
  stopsScript_ = true;
  emit runRequested();
  wanted_ = stopsScript_ = run_->live();
}

void SweepControl::start() {
  if (!std::exchange(wanted_, false)) {
    if (!run_->script()) users_ = settingOf(run_->store().knobs());
    beganElsewhere_ = false;
  }
  run::SweepRunOptions options;
  options.sweep.reserve = tuning_->reserve();
  options.sweep.longestSettingS = run::kLongestSettingS;
  if (auto started = run_->startSweep(std::move(options)); !started) {
    emit problem(tr("No sweep: %1").arg(text(started.error().message)));
    stopsScript_ = false;
    putBackSetting();
  }
}

void SweepControl::putBackSetting() {
  const Session::State state = run_->state();
  const bool trains = state == Session::State::kRunning || state == Session::State::kPaused;
  // A sweep may learn later than the window that its run has ended.
  const bool sweeps = run_->sweeps();
  if (!users_ || (run_->live() && (sweeps || !trains))) return;
  const tuning::Setting users = *std::exchange(users_, std::nullopt);
  const run::SweepRun* sweep = run_->sweep();
  const bool recommends = sweep && !sweeps && sweep->result().best && sweep->stopReason().empty();
  // The sweep has set a run that goes on to what it had.
  if (recommends || (trains && !beganElsewhere_)) return;
  docks_->controls()->choose(users.batch, users.length);
}

void SweepControl::showProgress() {
  tuning_->refresh();
  showSweep();
}

void SweepControl::showSweep() {
  const bool sweeps = run_->sweeps();
  std::optional<tuning::Setting> measuring;
  if (sweeps && run_->sweep()->current()) measuring = run_->sweep()->current()->setting;
  tuning_->setSweeping(sweeps, measuring);
  update();
  if (sweeps == swept_) return;
  swept_ = sweeps;
  emit sweepingChanged();
  putBackSetting();
  if (sweeps || !run_->sweep()) return;
  if (run_->sweep()->settings().empty() && !run_->sweep()->stopReason().empty()) {
    emit problem(tr("No sweep: %1").arg(text(run_->sweep()->stopReason())));
  }
  if (std::exchange(stopsScript_, false) && run_->live()) run_->stop();
}

void SweepControl::update() {
  const Session::State state = run_->state();
  const bool trains = state == Session::State::kRunning || state == Session::State::kPaused;
  const bool canBegin = trains || (!run_->live() && actions_->run->isEnabled());
  actions_->sweep->setText(run_->sweeps() ? tr("Stop sweep and keep results") : tr("Sweep"));
  // How a script was started is not in its recording: a sweep would train something else.
  const bool unknown = run_->store().ownScript() && !run_->script();
  const bool can = run_->sweeps() || (canBegin && !unknown);
  actions_->sweep->setEnabled(can);
  docks_->tuningPanel()->setSweepable(
      can, unknown ? tr("How this script was started is not in its recording; sweep it in a run of "
                        "this window, or by highwater sweep -- COMMAND")
                   : tr("Not while a run starts or stops"));
}

}  // namespace highwater::window
