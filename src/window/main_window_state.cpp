// The window and the state of the run: what can be done, and what title and bars say.
#include "core/names.h"
#include "core/units.h"
#include "models/qt_text.h"
#include "run/recording_watch.h"
#include "run/restart.h"
#include "views/panels/controls_panel.h"
#include "views/panels/restart_controls.h"
#include "views/panels/script_controls.h"
#include "views/panes/pane_stack.h"
#include "window/device_badge.h"
#include "window/findings_dock.h"
#include "window/main_window.h"
#include "window/run_dialogs.h"
#include "window/run_notices.h"
#include "window/run_status_bar.h"
#include "window/run_tool_bar.h"
#include "window/start_page.h"
#include "window/sweep_control.h"
#include "window/window_actions.h"
#include "window/window_docks.h"

namespace highwater::window {

using session::Session;

namespace {

QString levelText(events::ProbeLevel level) {
  return text(probeLevelKey(level));
}

/// "monitor", or "monitor and ops" if it changed during the run.
QString recordedLevels(const analysis::LiveStore& store) {
  const events::ProbeLevel first = store.run()->probeLevel;
  QStringList levels{
      levelText(first == events::ProbeLevel::None ? events::ProbeLevel::Monitor : first)};
  for (const events::Marker& marker : store.markers()) {
    if (marker.kind() != events::MarkerKind::ProbeLevel) {
      continue;
    }
    const int value = static_cast<int>(marker.value_after());
    const QString level = levelText(static_cast<events::ProbeLevel>(value));
    if (!levels.contains(level)) {
      levels << level;
    }
  }
  const QString last = levels.takeLast();
  return levels.isEmpty()
             ? last
             : MainWindow::tr("%1 and %2").arg(levels.join(QStringLiteral(", ")), last);
}

}  // namespace

void MainWindow::updateState() {
  const Session::State state = run_.state();
  const bool live = run_.live();
  const bool training = state == Session::State::kRunning || state == Session::State::kPaused;
  const analysis::LiveStore& store = run_.store();
  if (state != Session::State::kStarting) {
    if (const auto level = std::exchange(levelAtStart_, std::nullopt); level && training) {
      run_.setProbeLevel(*level);
    }
  }
  // How a script was started is not in its recording.
  actions_->run->setEnabled(!live && (run_.script() || !store.ownScript() ||
                                      (page_ == Page::kStartWithSample || runsPagesScript())));
  // A sweep pauses the run itself, and sets its knobs.
  const bool isTheUsers = !run_.sweeps() && !run_.tries();
  docks_->findings()->setTrying(run_.script() && state == Session::State::kRunning && isTheUsers);
  const bool knobMayBeTried = state == Session::State::kRunning && !run_.sweeps();
  actions_->tryKnob->setEnabled(run_.tries() || knobMayBeTried);
  actions_->tryKnob->setText(run_.tries() ? tr("End the try") : tr("Try a knob…"));
  actions_->pause->setEnabled(training && isTheUsers);
  actions_->pause->setText(state == Session::State::kPaused && isTheUsers ? tr("Resume")
                                                                          : tr("Pause"));
  actions_->stop->setEnabled(live && (state != Session::State::kStopping || run_.script()));
  actions_->stop->setText(run_.mayKill() ? tr("Kill…") : tr("Stop"));
  actions_->emptyCache->setEnabled(training && isTheUsers);
  actions_->open->setEnabled(!live);
  actions_->recentMenu->setEnabled(!live);
  actions_->startPage->setEnabled(!live && (!startPageShown() || run_.store().hello()));
  actions_->saveAs->setEnabled(!live && !run_.recordingPath().empty());
  actions_->reload->setEnabled(!live && !run_.recordingPath().empty());
  actions_->compare->setEnabled(!live && !run_.recordingPath().empty() &&
                                !run_.condition().beingWritten);
  actions_->exportPicture->setEnabled(store.hello().has_value() && !startPageShown());
  showDataExport();
  actions_->mark->setEnabled(store.run() && !startPageShown() && !run_.recordingPath().empty());
  actions_->setDeviceChangeable(!live);
  showWhatRuns();
  docks_->controls()->setChangeable((!live || training) && isTheUsers);
  docks_->controls()->setLive(live);
  const bool goesOn = live || run_.condition().beingWritten;
  docks_->setLive(goesOn);
  tuning_.setLive(goesOn);
  showRestartSettings();
  docks_->scriptControls()->setChangeable(training && isTheUsers, live);
  toolBar_->badge()->showDevice(store.hello() ? std::optional(store.hello()->device) : std::nullopt,
                                text(run_.options().device));
  showRecordedTime();
  if (sweep_) sweep_->update();
  live ? (secondTimer_.isActive() ? void() : secondTimer_.start()) : secondTimer_.stop();
  showLevel();
  updateTitle();
  status_->setReplaced(watch_->isReplaced());
  status_->refresh(run_);
}

void MainWindow::showRestartSettings() {
  views::RestartControls* controls = docks_->controls()->restart();
  const Session::State state = run_.state();
  const bool training = state == Session::State::kRunning || state == Session::State::kPaused;
  controls->setLive(run_.live() && !run_.script());
  controls->setChangeable((!run_.live() || training) && !run_.sweeps());
  const auto& hello = run_.store().hello();
  controls->setInUse(run_.live() && hello ? run::restartSettingsOf(*hello)
                                          : run::restartSettingsOf(run_.options()));
}

void MainWindow::useRestartSettings(const RestartSettings& settings) {
  const auto use = [this, settings] {
    if (!run_.live()) {
      run::putRestartSettings(run_.options(), run::restartSettingsOf(run_.options()), settings);
      updateState();
    } else if (auto restarted = run_.restart(settings); !restarted) {
      notices_->showProblem(tr("Not restarted: %1").arg(text(restarted.error().message)));
    }
    actions_->checkDevice(text(run_.options().device));
  };
  const auto& hello = run_.store().hello();
  const RestartSettings inUse = run_.live() && hello ? run::restartSettingsOf(*hello)
                                                     : run::restartSettingsOf(run_.options());
  if (settings.highWatermark > 0 || inUse.highWatermark == 0) {
    use();
    return;
  }
  askToLiftLimit(this,
                 [this, use](bool lift) { lift ? use() : docks_->controls()->restart()->undo(); });
}

void MainWindow::showRecordedTime() {
  const auto kind = run_.recording()               ? RecordingIndicator::Kind::kRecording
                    : run_.recordingPath().empty() ? RecordingIndicator::Kind::kNone
                                                   : RecordingIndicator::Kind::kFile;
  toolBar_->showRecording(kind, text(formatRunTime(run_.store().completeUpToNs(), 0)));
}

void MainWindow::showLevel() {
  const Session::State state = run_.state();
  const bool training = state == Session::State::kRunning || state == Session::State::kPaused;
  const bool changeable = training || !run_.live();
  events::ProbeLevel level = run_.store().probeLevel();
  if (!run_.live()) {
    level = run_.script() ? probeLevelFromKey(run_.script()->probeLevel.toStdString())
                          : run_.options().probeLevel.value_or(events::ProbeLevel::Monitor);
    level = level == events::ProbeLevel::None ? events::ProbeLevel::Monitor : level;
  }
  const bool starts = run_.live() && state == Session::State::kStarting;
  actions_->showLevel(level, changeable, training || (starts && !levelAtStart_));
  toolBar_->setLevelShown(training || starts || actions_->run->isEnabled());
  const bool ended = !run_.live() && run_.store().run();
  toolBar_->showLevel(ended ? recordedLevels(run_.store()) : levelText(level),
                      ended ? levelText(level) : QString());
  panes_->offerOps(training && level == events::ProbeLevel::Monitor ? actions_->recordOps : nullptr,
                   tr("Record %1 more").arg(WindowActions::kOpSteps));
}

void MainWindow::updateTitle() {
  QStringList parts;
  if (!run_.recordingPath().empty()) {
    parts << text(run_.recordingPath().filename().string());
  }
  if (run_.store().simulated()) {
    parts << tr("simulated device");
  }
  setWindowTitle((parts << tr("Highwater")).join(QStringLiteral(" – ")));
}

}  // namespace highwater::window
