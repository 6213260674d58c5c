#include "window/main_window.h"
#include "window/benchmark_dialog.h"

#include <QApplication>
#include <QCloseEvent>
#include <QDialog>
#include <QFileInfo>
#include <QGuiApplication>
#include <QMenu>
#include <QMenuBar>
#include <QScreen>
#include <QSettings>
#include <QStackedWidget>
#include <QStyleHints>
#include <QVBoxLayout>
#include <algorithm>
#include <limits>
#include <utility>

#include "core/knobs.h"
#include "core/scenarios.h"
#include "core/units.h"
#include "models/qt_text.h"
#include "run/recording_watch.h"
#include "session/command_text.h"
#include "views/icons.h"
#include "views/panels/banner.h"
#include "views/panels/command_palette.h"
#include "views/panels/controls_panel.h"
#include "views/panels/note_field.h"
#include "views/panels/restart_controls.h"
#include "views/panels/script_controls.h"
#include "views/panels/search_bar.h"
#include "views/panes/pane_stack.h"
#include "views/panes/time_keys.h"
#include "window/bottom_tables.h"
#include "window/data_export.h"
#include "window/dock_layout.h"
#include "window/findings_dock.h"
#include "window/focus_ring.h"
#include "window/help_dialogs.h"
#include "window/memory_budget.h"
#include "window/op_read_back.h"
#include "window/opening_page.h"
#include "window/retry_setting.h"
#include "window/run_dialogs.h"
#include "window/run_notices.h"
#include "window/run_search.h"
#include "window/run_status_bar.h"
#include "window/run_tool_bar.h"
#include "window/source_editor.h"
#include "window/start_page.h"
#include "window/sweep_control.h"
#include "window/tuning_page.h"
#include "window/window_actions.h"
#include "window/window_docks.h"

namespace highwater::window {

namespace {

constexpr int kTableMs = 250;
const QLatin1String kThemeKey("window/theme");
const QLatin1String kEditorKey("window/editor");
const QLatin1String kStateKey("window/state");
/// Whether the stored layout is that of a small window.
const QLatin1String kStateSmallKey("window/stateSmall");

constexpr int kMostNoteLetters = 500;  ///< the lane and the tables show one line

/// When the first step, phase, wait or fallback of a run began, in ns; 0 without any.
std::int64_t firstEventNs(const analysis::LiveStore& store) {
  std::int64_t firstNs = std::numeric_limits<std::int64_t>::max();
  for (const analysis::SpanIndex* lane :
       {&store.steps().lane, &store.phaseLane(), &store.namedLane(), &store.syncLane(),
        &store.fallbackLane()}) {
    if (!lane->empty()) firstNs = std::min(firstNs, (*lane)[0].beginNs);
  }
  return firstNs == std::numeric_limits<std::int64_t>::max() ? 0 : firstNs;
}

/// Asks for all knobs that are known.
SetKnobs requestOf(const Knobs& knobs) {
  SetKnobs change;
  for (const Knob& knob : allKnobs()) {
    const bool isSwitch = knob.kind == events::MarkerKind::KeepEffectiveBatch;
    const bool isKnown = isSwitch ? knobs.accumulation > 0 : knob.value(knobs) > 0;
    if (isKnown) knob.request(change, knob.value(knobs));
  }
  return change;
}

}  // namespace

MainWindow::MainWindow(session::LaunchOptions defaults, QWidget* parent, Settings settings)
    : QMainWindow(parent),
      run_(std::move(defaults)),
      focus_(&run_.store(), &axis_),
      tuning_(&run_.store()),
      settings_(settings) {
  // Before the first widget: a style sheet keeps the font that it finds when it polishes one.
  if (settings_ == Settings::kOn) {
    theme_ = themeFromKey(QSettings().value(kThemeKey).toString());
    applyTheme(theme_);
  }
  setWindowTitle(tr("Highwater"));
  // Of the application: a Mac shows it in the Dock, and dialogs have it too.
  QApplication::setWindowIcon(views::applicationIcon());
  setObjectName(QStringLiteral("mainWindow"));
  setDockNestingEnabled(true);
  setDockOptions(dockOptions() | AllowNestedDocks);
  actions_ = new WindowActions(this);
  toolBar_ = new RunToolBar(actions_, this);
  addToolBar(toolBar_);
  status_ = new RunStatusBar(this);
  setStatusBar(status_);
  auto* centre = new QWidget(this);
  auto* column = new QVBoxLayout(centre);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  banner_ = new views::Banner(centre);
  centre_ = new QStackedWidget(centre);
  panes_ = new views::PaneStack(&run_.store(), &axis_, &focus_, centre_);
  centre_->addWidget(panes_);
  startPage_ = new StartPage(
      run_.options(),
      settings_ == Settings::kOn ? StartPage::Machine::kOn : StartPage::Machine::kOff, centre_);
  centre_->addWidget(startPage_);
  openingPage_ = new OpeningPage(centre_);
  centre_->addWidget(openingPage_);
  column->addWidget(banner_);
  column->addWidget(centre_, 1);
  setCentralWidget(centre);
  docks_ = new WindowDocks(this, &run_.store(), &axis_, &focus_, &tuning_);
  actions_->viewMenu->addActions({panes_->systemAction(), panes_->lossAction()});
  actions_->viewMenu->addSeparator();
  docks_->addTo(actions_->viewMenu);
  layout_ = new DockLayout(this, docks_);
  connect(layout_, &DockLayout::sizeChanged, this, &MainWindow::layOutAllButDocks);
  notices_ = new RunNotices(banner_, &docks_->log(), &run_, this);
  watch_ = new run::RecordingWatch(&run_, this);
  connect(watch_, &run::RecordingWatch::replaced, this, &MainWindow::showReplaced);
  connect(notices_, &RunNotices::reloadRequested, this, &MainWindow::reload);
  search_ = new RunSearch(&run_.store(), &axis_, &focus_, docks_->tables(), centre);
  column->insertWidget(1, search_->bar());
  panes_->showSearch(&search_->model());
  program_ = QCoreApplication::applicationFilePath();
  dataExport_ = new DataExport(this);
  opReadBack_ = new OpReadBack(&run_, &axis_, this);
  connect(opReadBack_, &OpReadBack::failed, notices_, &RunNotices::showProblem);
  connect(search_, &RunSearch::closed, this, [this] {
    if (!startPageShown()) runPage()->setFocus();
  });

  palette_ = new views::CommandPalette(this);
  noteField_ = new views::NoteField(this);
  connect(noteField_, &views::NoteField::written, this, &MainWindow::keepNote);

  const auto& options = run_.options();
  toolBar_->choose(options);
  docks_->controls()->setKnobs(options);
  actions_->checkDevice(text(options.device));
  connectActions();
  connectComparison();
  connectTuning();
  connectStartPage();
  connectOpeningPage();
  connectDataExport();
  connectRun();
  setAcceptDrops(true);
  QCoreApplication::instance()->installEventFilter(this);
  new FocusRing(this);
  resize(settings_ == Settings::kOn ? firstSize(screen()->availableSize()) : kFullSize);
  restoreSettings();
  if (settings_ == Settings::kOn) {
    followSystemTheme();
  }
  updateState();
  showStartPage(true);
}

MainWindow::~MainWindow() {
  // Signals of the ending run must not reach a partly destroyed window.
  run_.disconnect();
  run_.abandon();
}

void MainWindow::connectActions() {
  const auto on = [this](QAction* action, auto slot) {
    connect(action, &QAction::triggered, this, slot);
  };
  on(actions_->run, [this] {
    if (runsPagesScript()) {
      startPage_->runScript();
    } else if (page_ == Page::kStartWithSample) {
      runWorkload();
    } else {
      startRun();
    }
  });
  on(actions_->pause, [this] { run_.pauseOrResume(); });
  on(actions_->stop, [this] {
    if (!run_.mayKill()) return run_.stop();
    QDialog* dialog = askToKillScript(this, session::programText(run_.script()->command),
                                      [this] { run_.killScript(); });
    connect(&run_, &run::Run::ended, dialog, &QDialog::reject);
  });
  on(actions_->emptyCache, [this] { run_.emptyCache(); });
  on(actions_->open, [this] { chooseRecording(); });
  on(actions_->reload, [this] { reload(); });
  on(actions_->saveAs, [this] { chooseCopy(); });
  on(actions_->compare, [this] { chooseOther(); });
  on(actions_->resetLayout, [this] { layout_->reset(); });
  on(actions_->doctor, [this] { showDoctorDialog(this, program_); });
  on(actions_->benchmark, [this] { BenchmarkDialog::showFor(&run_, this); });
  connect(actions_->recentMenu, &QMenu::aboutToShow, this, &MainWindow::listRecent);
  on(actions_->exportPicture, [this] { choosePicture(); });
  on(actions_->exportData, [this] { chooseDataExport(); });
  on(actions_->startPage, [this](bool checked) { showStartPage(checked); });
  on(actions_->quit, [this] { close(); });
  on(actions_->follow, [this](bool checked) { axis_.setFollows(checked); });
  on(actions_->fit, [this] { axis_.fit(); });
  on(actions_->mark, [this] { askForNote(); });
  on(actions_->commands, [this] { palette_->open(menuBar()); });
  on(actions_->search, [this] { search_->open(); });
  on(actions_->nextHit, [this] { search_->stepOrOpen(1); });
  on(actions_->previousHit, [this] { search_->stepOrOpen(-1); });
  on(actions_->filterOps, [this] { docks_->tables()->filterOps(); });
  on(actions_->keys, [this] { showKeysDialog(this); });
  on(actions_->about, [this] { showAboutDialog(this, run_.store()); });
  connect(actions_, &WindowActions::levelChosen, this, [this](events::ProbeLevel level, int steps) {
    setLevel({level, static_cast<std::uint32_t>(steps)});
  });
  connect(actions_, &WindowActions::opStepsAsked, this, &MainWindow::askOpSteps);
  connect(docks_, &WindowDocks::acceptRequested, this, &MainWindow::acceptFallback);
  connect(docks_->findings(), &FindingsDock::tryRequested, this, &MainWindow::tryFix);
  connect(&run_, &run::Run::tryChanged, this, &MainWindow::showTry);
  connect(docks_, &WindowDocks::withdrawRequested, this,
          [this](const QString& op) { keepAcceptance(op, false, {}); });
  connect(actions_, &WindowActions::themeChosen, this, &MainWindow::setTheme);
  connect(actions_, &WindowActions::deviceChosen, this, [this](const QString& device) {
    run_.options().device = device.toStdString();
    updateState();  // the list of the controls too
  });
  connect(&axis_, &views::TimeAxis::followsChanged, actions_->follow, &QAction::setChecked);
  connect(toolBar_, &RunToolBar::scenarioChosen, this, &MainWindow::selectSample);
  connect(toolBar_, &RunToolBar::presetChosen, this,
          [this](const QString& preset) { run_.options().preset = preset.toStdString(); });
  connect(docks_->controls(), &views::ControlsPanel::changeRequested, &run_, &run::Run::setKnobs);
  connect(docks_->scriptControls(), &views::ScriptControls::changeRequested, &run_,
          &run::Run::turn);
  connect(notices_, &RunNotices::runAgainRequested, this, &MainWindow::startRun);
  connect(notices_, &RunNotices::continueRequested, this, [this] {
    if (auto started = run_.continueRun(); !started) {
      notices_->showProblem(text(started.error().message));
    }
  });
  connect(docks_->controls()->restart(), &views::RestartControls::restartRequested, this,
          &MainWindow::useRestartSettings);
  connect(docks_->controls()->restart(), &views::RestartControls::changed, this,
          &MainWindow::useRestartSettings);
  connect(notices_, &RunNotices::closeNowRequested, this, &MainWindow::closeAtOnce);
  connect(banner_, &views::Banner::linesRequested, this, [this] { docks_->tables()->showLog(); });
}

void MainWindow::connectComparison() {
  using views::Pin;
  const auto on = [this](QAction* action, auto slot) {
    connect(action, &QAction::triggered, this, slot);
  };
  on(actions_->pinA, [this] { axis_.pinSelection(Pin::kA); });
  on(actions_->pinB, [this] { axis_.pinSelection(Pin::kB); });
  on(actions_->swapPins, [this] { axis_.swapPins(); });
  on(actions_->clearPins, [this] { axis_.clearPins(); });
  const auto enable = [this] {
    actions_->pinA->setEnabled(axis_.selection().has_value());
    actions_->pinB->setEnabled(axis_.selection().has_value());
    const bool pinned = axis_.pinned(Pin::kA) || axis_.pinned(Pin::kB);
    actions_->swapPins->setEnabled(pinned);
    actions_->clearPins->setEnabled(pinned);
  };
  connect(&axis_, &views::TimeAxis::selectionChanged, this, enable);
  connect(&axis_, &views::TimeAxis::pinsChanged, this, enable);
  enable();
  on(actions_->editorCommand, [this] { chooseEditor(); });
  on(actions_->memoryBudget, [this] { chooseMemoryBudget(); });
  connect(&focus_, &views::EventFocus::sourceRequested, this, &MainWindow::openSource);
}

void MainWindow::openSource(const QString& file, int line) {
  const EditorChoice choice{editorCommand_, qEnvironmentVariable("VISUAL"),
                            qEnvironmentVariable("EDITOR")};
  if (auto opened = openInEditor(choice, file, line); !opened) {
    notices_->showProblem(text(opened.error().message));
  } else {
    status_->showMessage(tr("Opened %1:%2 in the editor").arg(QFileInfo(file).fileName()).arg(line),
                         4000);
  }
}

void MainWindow::chooseEditor() {
  askForEditor(this, editorCommand_, [this](const QString& command) {
    editorCommand_ = command;
    if (settings_ == Settings::kOn) {
      QSettings().setValue(kEditorKey, command);
    }
  });
}

void MainWindow::chooseMemoryBudget() {
  askForMemoryBudget(this, run_.store().memoryBudget(), [this](std::size_t bytes) {
    run_.setMemoryBudget(bytes);
    if (settings_ == Settings::kOn) {
      QSettings stored;
      saveMemoryBudget(stored, bytes);
    }
  });
}

void MainWindow::followSystemTheme() {
#if QT_VERSION >= QT_VERSION_CHECK(6, 5, 0)
  // Before 6.5 Qt has no such signal, and our palette hides the platform's.
  connect(QGuiApplication::styleHints(), &QStyleHints::colorSchemeChanged, this, [this] {
    if (theme_ == ThemeChoice::kSystem) {
      applyTheme(theme_);
      actions_->updateIcons();
    }
  });
#endif
}

void MainWindow::connectRun() {
  tableTimer_.setSingleShot(true);
  tableTimer_.setInterval(kTableMs);
  secondTimer_.setInterval(1000);
  connect(&axis_.frames(), &views::FrameClock::preparing, this, [this] {
    if (dataChanged_) {
      refreshPanes();
    }
  });
  connect(&tableTimer_, &QTimer::timeout, this, [this] {
    tuning_.refresh();
    showTuningMarks();
    docks_->refresh();
    search_->refresh();
    status_->refresh(run_);
    showLevel();
    showRecordedTime();  // also of a recording that another process writes
  });
  connect(&secondTimer_, &QTimer::timeout, this, [this] {
    updateState();
    notices_->updateStall();
    notices_->tellRecoveries();
  });
  const auto worstIsKnown = [this] {
    if (wantsWorstPage_) showWorstPage();
  };
  connect(docks_->findings(), &FindingsDock::checked, this, worstIsKnown);
  connect(docks_->findings(), &FindingsDock::waitsCostLittle, panes_,
          &views::PaneStack::setWaitsCostLittle);
  connect(docks_->tables(), &BottomTables::counted, this, worstIsKnown);
  connect(&run_, &run::Run::dataChanged, this, [this] {
    dataChanged_ = true;
    axis_.frames().request();
    if (!tableTimer_.isActive()) {
      tableTimer_.start();
    }
  });
  connect(&run_, &run::Run::runReplaced, this, &MainWindow::replaceRun);
  connect(&run_, &run::Run::stateChanged, this, &MainWindow::updateState);
  connect(&run_, &run::Run::ended, this, [this] {
    updateState();
    axis_.endFollowing(firstEventNs(run_.store()));
    sweep_->putBackSetting();
    useSettingThatFits();
    docks_->refresh();
    if (docks_->tables()->currentIsEmpty()) {
      showWorstPage();
    }
    tableTimer_.start();
  });
  connect(&run_, &run::Run::writtenToEnd, this, [this] {
    banner_->hide();
    if (const auto& end = run_.store().end()) {
      notices_->showEnd(*end);
    }
  });
  connect(&run_, &run::Run::linePrinted, this, [this](const QString& line) {
    docks_->log().append(line, models::LogModel::Kind::kPrinted);
  });
  connect(&run_, &run::Run::openLineChanged, &docks_->log(), &models::LogModel::setOpenLine);
  connect(&run_, &run::Run::commandAnswered, this, &MainWindow::showAnswer);
}

void MainWindow::showAnswer(const CommandAnswer& answer) {
  if (std::holds_alternative<SetKnobs>(answer.command)) {
    docks_->controls()->showAnswer(answer.accepted, text(answer.reason));
  }
  if (const auto* change = std::get_if<SetScriptKnob>(&answer.command)) {
    docks_->scriptControls()->showAnswer(change->name, answer.accepted, text(answer.reason));
  }
  if (!answer.accepted) {
    const QString refusal = session::refusalText(answer);
    docks_->log().append(refusal, models::LogModel::Kind::kProblem);
    status_->showMessage(refusal, 6000);
  }
}

void MainWindow::restoreSettings() {
  if (settings_ == Settings::kOff) return layout_->layOut();
  const QSettings stored;
  editorCommand_ = stored.value(kEditorKey).toString();
  run_.setMemoryBudget(storedMemoryBudget(stored));
  restoreGeometry(stored.value(QStringLiteral("window/geometry")).toByteArray());
  actions_->checkTheme(theme_);
  actions_->updateIcons();
  layout_->restore({stored.value(kStateKey).toByteArray(),
                    stored.value(kStateSmallKey, WindowSize::of(*this).small).toBool()});
}

void MainWindow::setTheme(ThemeChoice choice) {
  theme_ = choice;
  applyTheme(choice);
  actions_->checkTheme(choice);
  actions_->updateIcons();
  if (settings_ == Settings::kOn) {
    QSettings().setValue(kThemeKey, themeKey(choice));
  }
}

void MainWindow::chooseScenario(const QString& name) {
  run_.options().scenario = name.toStdString();
  const auto scenario = findScenario(run_.options().scenario);
  if (!scenario) return;
  Knobs knobs;
  knobs.batchSize = (*scenario)->batchSize;
  knobs.sequenceLength = (*scenario)->sequenceLength;
  knobs.lossEvery = (*scenario)->lossEvery;
  docks_->controls()->setKnobs(knobs);
  run_.setKnobs(requestOf(knobs));
}

Result<void> MainWindow::runScript(const session::ScriptOptions& script,
                                   const QString& recordingName) {
  banner_->hide();
  auto started = run_.runScript(script, recordingName);
  if (!started) {
    notices_->showProblem(text(started.error().message));
  }
  return started;
}

/// After a run that ran out of memory the next one starts with what fitted.
void MainWindow::useSettingThatFits() {
  const auto setting = settingAfterOutOfMemory(run_.store());
  if (!setting) {
    return;
  }
  const Knobs failed = run_.store().knobs();
  docks_->controls()->request(*setting);
  docks_->controls()->sayProblem(tr("Out of memory at %1: the next run starts with %2")
                                     .arg(settingText(failed, {}), settingText(*setting, failed)));
}

void MainWindow::startRun() {
  banner_->hide();
  if (run_.live()) {
    return;
  }
  if (run_.script()) {
    (void)runScript(*run_.script(), {}).ok();
    return;
  }
  runWorkload();
}

void MainWindow::runWorkload() {
  // The run starts with the values on screen. Before the first run the worker chooses the values
  // that the user did not change, since it knows the preset.
  docks_->controls()->commit();
  if (run_.store().run()) {
    Knobs knobs = docks_->controls()->knobs();
    // The device's own fraction is no wish, and the next device may have none.
    if (knobs.memoryFraction == run_.store().run()->knobs.memoryFraction) knobs.memoryFraction = 0;
    run_.setKnobs(requestOf(knobs));
  }
  if (auto started = run_.runWorkload(); !started) {
    notices_->showProblem(text(started.error().message));
  }
}

Result<void> MainWindow::openRecording(const std::filesystem::path& path) {
  auto opened = run_.open(path);
  if (opened) {
    showOpened();
    docks_->tables()->finish();
    docks_->findings()->finish();
  }
  return opened;
}

/// Raises the table of what the worst finding is about, once that is known and the tables have
/// their rows.
void MainWindow::showWorstPage() {
  wantsWorstPage_ = docks_->findings()->isChecking() || docks_->tables()->isCounting();
  if (!wantsWorstPage_) docks_->tables()->showFilledPage(docks_->findings()->worstLane());
}

void MainWindow::showOpened() {
  const std::filesystem::path path = run_.recordingPath();
  banner_->hide();
  startPage_->noteOpened(text(path.string()));
  refreshPanes();
  tuning_.refresh();
  docks_->refresh();
  showWorstPage();
  // What is followed keeps its length, so a run that has only begun is not fitted.
  const bool young = run_.condition().beingWritten &&
                     axis_.extent().endNs - axis_.extent().beginNs < views::TimeAxis::kDefaultNs;
  if (!young) axis_.fit(firstEventNs(run_.store()));
  if (const auto& end = run_.store().end()) {
    notices_->showEnd(*end);
  }
  if (const auto& condition = run_.condition(); !condition.damage.empty()) {
    const QString damage = text(run::damageText(path, condition));
    const auto steps = run_.store().steps().records.size();
    notices_->showProblem(condition.cutOff
                              ? tr("%1. Shown is what comes before: %2 of the run, %3")
                                    .arg(damage, text(formatRunTime(run_.store().completeUpToNs())),
                                         steps == 1 ? tr("1 step") : tr("%1 steps").arg(steps))
                              : damage);
  } else if (condition.beingWritten) {
    notices_->showBeingWritten(
        tr("%1 is still being written by another process: what is new appears here")
            .arg(text(path.filename().string())));
    axis_.setFollows(true);
  }
}

void MainWindow::replaceRun() {
  openingPage_->cancel();
  noteField_->hide();  // it asks for a note on the run before
  docks_->scriptControls()->startOver();
  docks_->showControlsOf(run_.script().has_value());
  docks_->scriptControls()->refresh();
  showStartPage(false);
  focus_.forgetRun();
  axis_.reset();
  docks_->log().clear();
  runShown_ = false;
  // Of a recording, showOpened() does: it takes long in a long run.
  if (!run_.showsFile()) tuning_.refresh();
  refreshPanes();
  wantsWorstPage_ = false;  // of the run before
  docks_->startOver();
  search_->startOver();
  updateState();
}

void MainWindow::refreshPanes() {
  dataChanged_ = false;
  const analysis::LiveStore& store = run_.store();
  if (!runShown_ && store.run()) {
    runShown_ = true;
    docks_->showControlsOf(store.ownScript());
    if (!store.ownScript()) {
      showWorkload(*store.run());
    }
  }
  if (store.ownScript()) {
    docks_->scriptControls()->refresh();
  } else if (store.run()) {
    docks_->controls()->showEffective(store.knobs());
  }
  const bool held = run_.live() && store.paused() && !run_.sweeps();
  axis_.setHeld(held);
  const auto& steps = store.steps().records;
  axis_.setExtent({0, store.completeUpToNs()}, steps.empty() ? 0 : steps.back().duration_ns());
  // What the user does while the training is paused must come into view.
  if (held && !store.markers().empty()) {
    axis_.bringIn(store.markers().back().time_ns());
  }
  panes_->refresh();
  if (tuningShown()) tuningPage_->refresh();
}

void MainWindow::showWorkload(const RunDescription& run) {
  docks_->controls()->showRun(run);
  // The next run starts with the values on screen.
  // A recording of a newer version may have a scenario that this one does not know.
  run_.options().scenario = findScenario(run.scenario) ? run.scenario : std::string();
  run_.options().preset = run.preset;
  toolBar_->choose(run_.options());
  updateState();
}

void MainWindow::askOpSteps() {
  askForSteps(this, WindowActions::kOpSteps, [this](int steps) {
    setLevel({events::ProbeLevel::Ops, static_cast<std::uint32_t>(steps)});
  });
}

/// A run that is starting takes no commands: the level of its first steps is set when it trains.
void MainWindow::setLevel(const SetProbeLevel& level) {
  const bool starts = run_.live() && run_.state() == session::Session::State::kStarting;
  if (starts) {
    levelAtStart_ = level;
    docks_->log().append(tr("Every op of the first %1 steps will be recorded").arg(level.steps),
                         models::LogModel::Kind::kMarker);
  } else {
    run_.setProbeLevel(level);
  }
  showLevel();
}

void MainWindow::acceptFallback(const QString& op) {
  askForReason(this, op, [this, op](const QString& reason) { keepAcceptance(op, true, reason); });
}

void MainWindow::keepAcceptance(const QString& op, bool accepted, const QString& reason) {
  if (auto kept = run_.acceptFallback(op.toStdString(), accepted, reason.toStdString()); !kept) {
    notices_->showProblem(tr("The acceptance could not be written to the recording: %1")
                              .arg(text(kept.error().message)));
    watch_->look();
    return;
  }
  docks_->log().append(accepted ? tr("Accepted on the CPU: %1, %2").arg(op, reason)
                                : tr("No longer accepted on the CPU: %1").arg(op),
                       models::LogModel::Kind::kMarker);
  docks_->refresh();
  docks_->findings()->checkNow();
}

/// Asks for a note at the cursor; without one, now or, for a run that has ended, at the picked
/// event or in the middle of what is shown.
void MainWindow::askForNote() {
  if (watch_->look()) {
    showReplaced();
    return;
  }
  const analysis::LiveStore& store = run_.store();
  const views::TimeRange visible = axis_.visible();
  std::int64_t at = visible.beginNs + axis_.visibleNs() / 2;
  if (axis_.cursor()) {
    at = *axis_.cursor();
  } else if (run_.live()) {
    at = store.completeUpToNs();
  } else if (const auto& picked = focus_.picked(); picked && exists(store, *picked)) {
    at = timeRangeOf(store, *picked).beginNs;
  }
  at = std::clamp<std::int64_t>(at, 0, store.completeUpToNs());
  const QPoint place = tuningShown() ? tuningPage_->placeOf(at) : panes_->placeOf(at);
  noteField_->ask(at, place, kMostNoteLetters);
}

void MainWindow::keepNote(std::int64_t timeNs, const QString& note) {
  if (auto kept = run_.addNote(timeNs, note.toStdString()); !kept) {
    notices_->showProblem(
        tr("The note could not be written to the recording: %1").arg(text(kept.error().message)));
    watch_->look();
    return;
  }
  focus_.pick(
      {views::Lane::kMarkers, static_cast<std::uint32_t>(run_.store().markers().size() - 1)});
  refreshPanes();
  docks_->refresh();
  search_->refresh();
}

void MainWindow::renderNow() {
  refreshPanes();
  docks_->refresh();
  updateState();
  tuning_.refresh();
  if (tuningShown()) {
    tuningPage_->renderNow();
  } else {
    panes_->renderNow();
  }
}

/// While the search is open, N and Shift+N step through its hits, and Esc closes it.
bool MainWindow::handleSearchKey(const QKeyEvent& event) {
  const auto modifiers = event.modifiers() & ~(Qt::ShiftModifier | Qt::KeypadModifier);
  if (!search_->isOpen() || modifiers != Qt::NoModifier) {
    return false;
  }
  if (event.key() == Qt::Key_N) {
    search_->step(event.modifiers().testFlag(Qt::ShiftModifier) ? -1 : 1);
    return true;
  }
  if (event.key() == Qt::Key_Escape) {
    search_->close();
    return true;
  }
  return false;
}

void MainWindow::keyPressEvent(QKeyEvent* event) {
  if (!startPageShown() && handleSearchKey(*event)) {
    return;
  }
  if (startPageShown() || !views::handleTimeKey(*event, axis_, focus_)) {
    QMainWindow::keyPressEvent(event);
  }
}

void MainWindow::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) {
    actions_->updateIcons();
  }
  QMainWindow::changeEvent(event);
}

void MainWindow::showInFront() {
  show();
  raise();
  activateWindow();
}

void MainWindow::closeAtOnce() {
  asksBeforeClosing_ = false;
  close();
}

/// Stops the run at the end of its step, so that its recording ends as stopped, and closes then.
/// The session kills a worker that does not obey in time; whoever closes once more need not wait.
void MainWindow::closeAfterRun() {
  asksBeforeClosing_ = false;
  connect(&run_, &run::Run::ended, this, &MainWindow::closeAtOnce,
          static_cast<Qt::ConnectionType>(Qt::QueuedConnection | Qt::UniqueConnection));
  notices_->showClosing();
  run_.stop();
  updateState();
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (asksBeforeClosing_ && run_.scriptRuns() && run_.live()) {
    event->ignore();
    const QString program = session::programText(run_.script()->command);
    QDialog* dialog = askToLeaveScript(this, program, [this](ScriptFate fate) {
      if (fate == ScriptFate::kStop) {
        connect(&run_, &run::Run::ended, this, &MainWindow::closeAtOnce,
                static_cast<Qt::ConnectionType>(Qt::QueuedConnection | Qt::UniqueConnection));
        run_.stop();
      } else {
        closeAtOnce();
      }
    });
    // It may end while the question stands there: then there is nothing to ask.
    connect(&run_, &run::Run::ended, dialog, &QDialog::reject);
    return;
  }
  if (asksBeforeClosing_ && run_.live() && !run_.script()) {
    event->ignore();
    closeAfterRun();
    return;
  }
  openingPage_->cancel();  // it hides the docks, whose layout is saved
  if (settings_ == Settings::kOn) {
    QSettings stored;
    stored.setValue(QStringLiteral("window/geometry"), saveGeometry());
    if (const auto layout = layout_->toStore()) {
      stored.setValue(kStateKey, layout->state);
      stored.setValue(kStateSmallKey, layout->small);
    }
  }
  run_.abandon();
  wasClosed_ = true;
  QMainWindow::closeEvent(event);
}

}  // namespace highwater::window
