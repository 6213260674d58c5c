#include "window/window_actions.h"

#include <QActionGroup>
#include <QApplication>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>

#include "models/device_choices.h"
#include "views/icons.h"
#include "views/panels/command_palette.h"
#include "views/theme.h"

namespace highwater::window {

using views::Icon;

WindowActions::WindowActions(QMainWindow* window, views::Desktop desktop)
    : QObject(window),
      window_(window),
      themes_(new QActionGroup(this)),
      devices_(new QActionGroup(this)),
      levels_(new QActionGroup(this)) {
  run = make(tr("Run"), "runAction", QKeySequence(Qt::CTRL | Qt::Key_R), tr("Train the workload"));
  pause = make(tr("Pause"), "pauseAction", QKeySequence(Qt::CTRL | Qt::Key_P),
               tr("Pause after the current step"));
  stop = make(tr("Stop"), "stopAction", QKeySequence(Qt::CTRL | Qt::Key_T),
              tr("Stop after the current step"));
  emptyCache = make(tr("Empty cache"), "emptyCacheAction", QKeySequence(Qt::CTRL | Qt::Key_E),
                    tr("Free the driver's cached memory"));
  tryKnob = make(tr("Try a knob…"), "tryKnobAction", {},
                 tr("Measure what another value of a knob gains, in turns with what it is"));
  sweep = make(tr("Sweep"), "sweepAction", {}, tr("Measure safe settings, and recommend one"));
  open = make(tr("Open recording…"), "openAction", QKeySequence::Open, {});
  const views::DesktopKeys desktopKeys = views::desktopKeys(desktop);
  reload = make(tr("Reload recording"), "reloadAction", desktopKeys.reload.front(),
                tr("Read the file of this recording again"));
  reload->setShortcuts(desktopKeys.reload);
  compare = make(tr("Compare with recording…"), "compareAction", {},
                 tr("Say what tells this recording from another one"));
  saveAs = make(tr("Save recording as…"), "saveAsAction", QKeySequence::SaveAs, {});
  exportPicture = make(tr("Export picture…"), "exportPictureAction", {}, {});
  exportData = make(tr("Export data…"), "exportDataAction", {},
                    tr("Write a trace or tables for other programs"));
  startPage = make(tr("Start page"), "startPageAction", {}, {});
  startPage->setCheckable(true);
  closeWindow =
      make(tr("Close window"), "closeWindowAction", QKeySequence(Qt::CTRL | Qt::Key_W), {});
  // Also in modeless dialogs, which have no menu bar of their own. While a modal dialog is open, Qt
  // runs no shortcut of the window behind it; Esc closes the dialog.
  closeWindow->setShortcutContext(Qt::ApplicationShortcut);
  connect(closeWindow, &QAction::triggered, window_, [window] {
    QWidget* active = QApplication::activeWindow();
    (active ? active : window)->close();
  });
  quit = make(tr("Quit"), "quitAction", QKeySequence::Quit, {});
  quit->setMenuRole(QAction::QuitRole);
  timelineView = make(tr("Timeline"), "timelineViewAction", QKeySequence(Qt::CTRL | Qt::Key_1),
                      tr("Show the run over time"));
  tuningView = make(tr("Tuning"), "tuningViewAction", QKeySequence(Qt::CTRL | Qt::Key_2),
                    tr("Show what other batch sizes and lengths would take"));
  auto* shownView = new QActionGroup(this);
  for (QAction* each : {timelineView, tuningView}) {
    each->setCheckable(true);
    shownView->addAction(each);
  }
  timelineView->setChecked(true);
  follow = make(tr("Follow"), "followAction", {}, tr("Follow the newest data (Space)"));
  follow->setCheckable(true);
  follow->setChecked(true);
  fit = make(tr("Fit whole run"), "fitAction", {}, tr("Show the whole run (F)"));
  filterOps =
      make(tr("Filter ops"), "filterOpsAction", QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_F), {});
  search = make(tr("Search…"), "searchAction", QKeySequence(Qt::Key_Slash),
                tr("Search ops, modules, markers, call sites and the log"));
  search->setShortcuts({QKeySequence(Qt::Key_Slash), QKeySequence(QKeySequence::Find)});
  nextHit = make(tr("Next hit"), "nextHitAction", desktopKeys.nextHit.front(),
                 tr("Go to the next hit of the search"));
  nextHit->setShortcuts(desktopKeys.nextHit);
  previousHit = make(tr("Previous hit"), "previousHitAction", desktopKeys.previousHit.front(),
                     tr("Go to the previous hit of the search"));
  previousHit->setShortcuts(desktopKeys.previousHit);
  mark = make(tr("Mark"), "markAction", QKeySequence(Qt::Key_M),
              tr("Add a note at the cursor, or now"));
  commands = make(tr("Commands…"), "commandsAction", QKeySequence(Qt::CTRL | Qt::Key_K),
                  tr("Find and run any command"));
  resetLayout = make(tr("Reset layout"), "resetLayoutAction", {}, {});
  doctor = make(tr("Check this machine"), "doctorAction", {}, {});
  benchmark = make(tr("Compare CPU with MPS…"), "benchmarkAction", {},
                   tr("Measure speed and rounding of both devices"));
  keys = make(tr("Keys"), "keysAction", QKeySequence(Qt::Key_Question), {});
  about = make(tr("About Highwater"), "aboutAction", {}, {});
  about->setMenuRole(QAction::AboutRole);
  pinA = make(tr("Pin selection as A"), "pinAAction", {}, tr("Pin the selection as A ([)"));
  pinB = make(tr("Pin selection as B"), "pinBAction", {}, tr("Pin the selection as B (])"));
  swapPins = make(tr("Swap A and B"), "swapPinsAction", {}, {});
  clearPins = make(tr("Unpin A and B"), "clearPinsAction", {}, tr("Unpin A and B (Esc)"));
  memoryBudget = make(tr("Memory of the window…"), "memoryBudgetAction", {},
                      tr("How much memory the data of a run may take"));
  editorCommand = make(tr("Editor command…"), "editorCommandAction", {},
                       tr("What a click on a line of code starts"));
  recordOps = make(tr("Record every op for %1 steps").arg(kOpSteps), "recordOpsAction",
                   QKeySequence(Qt::CTRL | Qt::Key_L),
                   tr("Every op of the next %1 steps, with shapes and memory").arg(kOpSteps));
  makeMenus();
  if (desktop == views::Desktop::kMac) makeWindowMenu();
  makeHelpMenu();
  nameOtherwise();
  updateIcons();
}

/// What people type in the command palette for these actions beside their titles.
void WindowActions::nameOtherwise() {
  const auto add = [](QAction* action, const QString& words) {
    action->setProperty(views::kSynonyms, words);
  };
  const QString settings = tr("preferences settings options configure");
  add(run, tr("start train begin launch continue resume"));
  add(pause, tr("resume continue hold unpause"));
  add(stop, tr("end quit abort cancel interrupt"));
  add(emptyCache, tr("free clear release memory"));
  add(sweep, tr("tune measure recommend batch size search best"));
  add(tryKnob, tr("experiment measure setting gain precision accumulation interval"));
  add(open, tr("load file trace import"));
  add(reload, tr("refresh reread update"));
  add(compare, tr("difference before after regression"));
  add(saveAs, tr("copy store keep export"));
  add(exportPicture, tr("screenshot image png save"));
  add(exportData, tr("trace perfetto chrome json tables csv sqlite sql pandas spreadsheet save"));
  add(startPage, tr("home welcome new demo samples scenarios"));
  add(closeWindow, tr("exit"));
  add(quit, tr("exit close"));
  add(tuningView, tr("batch size map predict"));
  add(follow, tr("newest live scroll tail"));
  add(fit, tr("zoom all everything overview reset"));
  add(search, tr("find"));
  add(mark, tr("note annotate comment bookmark"));
  add(resetLayout, tr("docks panels default restore"));
  add(doctor, tr("doctor diagnose system hardware"));
  add(benchmark, tr("speed test"));
  add(keys, tr("shortcuts keyboard bindings help"));
  add(about, tr("version license"));
  add(memoryBudget, settings + tr(" limit ram"));
  add(editorCommand, settings + tr(" source code"));
  for (QAction* each : themes_->actions())
    add(each, settings + tr(" appearance colours colors mode"));
  for (QAction* each : devices_->actions()) add(each, settings + tr(" gpu mps cpu backend"));
  for (QAction* each : levels_->actions()) add(each, settings + tr(" probe record trace"));
}

QAction* WindowActions::make(const QString& text, const char* name, const QKeySequence& key,
                             const QString& tip) {
  auto* action = new QAction(text, this);
  action->setObjectName(QLatin1String(name));
  action->setShortcut(key);
  if (!tip.isEmpty()) {
    action->setToolTip(
        key.isEmpty() ? tip
                      : tip + QStringLiteral(" (%1)").arg(key.toString(QKeySequence::NativeText)));
  }
  window_->addAction(action);
  return action;
}

void WindowActions::makeMenus() {
  QMenu* file = window_->menuBar()->addMenu(tr("&File"));
  file->addAction(open);
  recentMenu = file->addMenu(tr("Open recent"));
  recentMenu->setObjectName(QStringLiteral("recentMenu"));
  file->addActions({reload, compare, saveAs, exportPicture, exportData});
  file->addSeparator();
  file->addAction(startPage);
  file->addSeparator();
  file->addActions({closeWindow, quit});
  QMenu* runMenu = window_->menuBar()->addMenu(tr("&Run"));
  runMenu->addActions({run, pause, stop});
  runMenu->addSeparator();
  runMenu->addActions({sweep, tryKnob, emptyCache, mark});
  makeLevelMenu(runMenu);
  makeDeviceMenu(runMenu);
  viewMenu = window_->menuBar()->addMenu(tr("&View"));
  viewMenu->addActions({commands, search, nextHit, previousHit});
  viewMenu->addSeparator();
  viewMenu->addActions({timelineView, tuningView});
  viewMenu->addSeparator();
  viewMenu->addActions({follow, fit, filterOps});
  viewMenu->addMenu(tr("Compare"))->addActions({pinA, pinB, swapPins, clearPins});
  viewMenu->addActions({editorCommand, memoryBudget});
  QMenu* theme = viewMenu->addMenu(tr("Theme"));
  const std::pair<ThemeChoice, QString> themes[] = {{ThemeChoice::kSystem, tr("System")},
                                                    {ThemeChoice::kLight, tr("Light")},
                                                    {ThemeChoice::kDark, tr("Dark")}};
  for (const auto& [choice, text] : themes) {
    QAction* action = themes_->addAction(theme->addAction(text));
    action->setCheckable(true);
    action->setObjectName(themeKey(choice) + QStringLiteral("ThemeAction"));
    action->setData(static_cast<int>(choice));
  }
  connect(themes_, &QActionGroup::triggered, this, [this](QAction* action) {
    emit themeChosen(static_cast<ThemeChoice>(action->data().toInt()));
  });
  viewMenu->addAction(resetLayout);
  viewMenu->addSeparator();
}

void WindowActions::makeDeviceMenu(QMenu* runMenu) {
  QMenu* device = runMenu->addMenu(tr("Device"));
  device->setObjectName(QStringLiteral("deviceMenu"));
  for (const auto& [key, meaning] : models::deviceChoices()) {
    QAction* action =
        devices_->addAction(device->addAction(QStringLiteral("%1: %2").arg(key, meaning)));
    action->setCheckable(true);
    action->setData(key);
  }
  connect(devices_, &QActionGroup::triggered, this,
          [this](QAction* action) { emit deviceChosen(action->data().toString()); });
}

/// What a Mac's Window menu has. AppKit adds nothing to a menu of Qt's.
void WindowActions::makeWindowMenu() {
  QMenu* menu = window_->menuBar()->addMenu(tr("&Window"));
  menu->setObjectName(QStringLiteral("windowMenu"));
  const auto add = [&](const QString& text, const char* name, const QKeySequence& key, auto slot) {
    QAction* action = make(text, name, key, {});
    menu->addAction(action);
    connect(action, &QAction::triggered, window_, slot);
  };
  add(tr("Minimize"), "minimizeAction", QKeySequence(Qt::CTRL | Qt::Key_M),
      [window = window_] { window->showMinimized(); });
  add(tr("Zoom"), "zoomWindowAction", {},
      [window = window_] { window->setWindowState(window->windowState() ^ Qt::WindowMaximized); });
  menu->addSeparator();
  add(tr("Bring All to Front"), "bringToFrontAction", {}, [] {
    QWidget* active = QApplication::activeWindow();
    for (QWidget* each : QApplication::topLevelWidgets()) {
      if (each->isVisible() &&
          (each->windowType() == Qt::Window || each->windowType() == Qt::Dialog))
        each->raise();
    }
    if (active) active->raise();  // it stays the foremost
  });
}

void WindowActions::makeHelpMenu() {
  QMenu* help = window_->menuBar()->addMenu(tr("&Help"));
  help->addActions({keys, doctor, benchmark, about});
}

void WindowActions::makeLevelMenu(QMenu* runMenu) {
  levelMenu = runMenu->addMenu(tr("Level"));
  levelMenu->setObjectName(QStringLiteral("levelMenu"));
  levelMenu->setToolTipsVisible(true);
  const auto add = [this](const QString& text, const char* name, auto chosen) {
    QAction* action = levelMenu->addAction(text);
    action->setObjectName(QLatin1String(name));
    connect(action, &QAction::triggered, this, chosen);
    return action;
  };
  connect(recordOps, &QAction::triggered, this,
          [this] { emit levelChosen(events::ProbeLevel::Ops, kOpSteps); });
  levelMenu->addAction(recordOps);
  forSteps_ = {recordOps,
               add(tr("Record every op for 100 steps"), "recordOps100Action",
                   [this] { emit levelChosen(events::ProbeLevel::Ops, 100); }),
               add(tr("Record every op for other steps…"), "recordOpsAskAction",
                   [this] { emit opStepsAsked(); })};
  levelMenu->addSeparator();
  nextRun_ = levelMenu->addAction(tr("For the next run:"));
  nextRun_->setEnabled(false);
  struct Level {
    events::ProbeLevel level;
    const char* name;
    QString text, tip;
  };
  const Level levels[] = {
      {events::ProbeLevel::Ops, "levelOpsAction", tr("ops: every op, until changed"),
       tr("Adds every op with its time, shapes, module and memory; costs the most")},
      {events::ProbeLevel::Monitor, "levelMonitorAction", tr("monitor"),
       tr("Steps, phases, memory, sync points and fallbacks")},
      {events::ProbeLevel::Off, "levelOffAction", tr("off"), tr("Steps and memory samples only")}};
  for (const Level& each : levels) {
    QAction* action =
        add(each.text, each.name, [this, level = each.level] { emit levelChosen(level, 0); });
    action->setCheckable(true);
    action->setToolTip(each.tip);
    action->setData(static_cast<int>(each.level));
    levels_->addAction(action);
  }
}

void WindowActions::showLevel(events::ProbeLevel level, bool changeable, bool hasSteps) {
  for (QAction* action : levels_->actions()) {
    action->setChecked(action->data().toInt() == static_cast<int>(level));
    action->setEnabled(changeable);
  }
  for (QAction* action : forSteps_) {
    action->setEnabled(hasSteps);
  }
  nextRun_->setVisible(changeable && !hasSteps);
}

void WindowActions::updateIcons() {
  const QColor color = views::Theme::of(window_).text1;
  run->setIcon(icon(Icon::kRun, color));
  pause->setIcon(icon(Icon::kPause, color));
  stop->setIcon(icon(Icon::kStop, color));
  emptyCache->setIcon(icon(Icon::kEmptyCache, color));
  follow->setIcon(icon(Icon::kFollow, color));
  mark->setIcon(icon(Icon::kMark, color));
  timelineView->setIcon(icon(Icon::kTimeline, color));
  tuningView->setIcon(icon(Icon::kMap, color));
  for (QAction* action : {run, pause, stop, emptyCache, follow, mark, timelineView, tuningView}) {
    action->setIconVisibleInMenu(false);
  }
}

void WindowActions::checkTheme(ThemeChoice choice) {
  for (QAction* action : themes_->actions()) {
    action->setChecked(action->data().toInt() == static_cast<int>(choice));
  }
}

void WindowActions::checkDevice(const QString& device) {
  for (QAction* action : devices_->actions()) {
    action->setChecked(action->data().toString() == device);
  }
}

void WindowActions::setDeviceChangeable(bool changeable) {
  devices_->setEnabled(changeable);
}

}  // namespace highwater::window
