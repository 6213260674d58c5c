#include "app/window_actions.h"

#include <QActionGroup>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>

#include "views/icons.h"
#include "views/theme.h"

namespace highwater::app {

using views::Icon;

WindowActions::WindowActions(QMainWindow* window)
    : QObject(window),
      window_(window),
      themes_(new QActionGroup(this)),
      devices_(new QActionGroup(this)) {
  run = make(tr("Run"), "runAction", QKeySequence(Qt::CTRL | Qt::Key_R), tr("Train the workload"));
  pause = make(tr("Pause"), "pauseAction", QKeySequence(Qt::CTRL | Qt::Key_P),
               tr("Pause after the running step"));
  stop = make(tr("Stop"), "stopAction", QKeySequence(Qt::CTRL | Qt::Key_T),
              tr("Stop after the running step"));
  emptyCache = make(tr("Empty cache"), "emptyCacheAction", QKeySequence(Qt::CTRL | Qt::Key_E),
                    tr("Give the driver's cached memory back"));
  open = make(tr("Open recording…"), "openAction", QKeySequence::Open, {});
  saveAs = make(tr("Save recording as…"), "saveAsAction", QKeySequence::SaveAs, {});
  exportPicture = make(tr("Export picture…"), "exportPictureAction", {}, {});
  quit = make(tr("Quit"), "quitAction", QKeySequence::Quit, {});
  quit->setMenuRole(QAction::QuitRole);
  follow = make(tr("Follow"), "followAction", {}, tr("Follow the newest (Space)"));
  follow->setCheckable(true);
  follow->setChecked(true);
  fit = make(tr("Fit whole run"), "fitAction", {}, tr("Show the whole run (F)"));
  keys = make(tr("Keys"), "keysAction", QKeySequence(Qt::Key_Question), {});
  about = make(tr("About Highwater"), "aboutAction", {}, {});
  about->setMenuRole(QAction::AboutRole);
  makeMenus();
  updateIcons();
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
  file->addActions({open, saveAs, exportPicture});
  file->addSeparator();
  file->addAction(quit);
  QMenu* runMenu = window_->menuBar()->addMenu(tr("&Run"));
  runMenu->addActions({run, pause, stop});
  runMenu->addSeparator();
  runMenu->addAction(emptyCache);
  QMenu* device = runMenu->addMenu(tr("Device"));
  const std::pair<QString, QString> devices[] = {
      {QStringLiteral("auto"), tr("auto: mps if available, else simulated, else cpu")},
      {QStringLiteral("mps"), tr("mps")},
      {QStringLiteral("sim"), tr("sim: simulated mps")},
      {QStringLiteral("cpu"), tr("cpu")}};
  for (const auto& [key, text] : devices) {
    QAction* action = devices_->addAction(device->addAction(text));
    action->setCheckable(true);
    action->setData(key);
  }
  connect(devices_, &QActionGroup::triggered, this,
          [this](QAction* action) { emit deviceChosen(action->data().toString()); });
  viewMenu = window_->menuBar()->addMenu(tr("&View"));
  viewMenu->addActions({follow, fit});
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
  viewMenu->addSeparator();
  QMenu* help = window_->menuBar()->addMenu(tr("&Help"));
  help->addActions({keys, about});
}

void WindowActions::updateIcons() {
  const QColor color = views::Theme::of(window_).text1;
  run->setIcon(icon(Icon::kRun, color));
  pause->setIcon(icon(Icon::kPause, color));
  stop->setIcon(icon(Icon::kStop, color));
  emptyCache->setIcon(icon(Icon::kEmptyCache, color));
  follow->setIcon(icon(Icon::kFollow, color));
  for (QAction* action : {run, pause, stop, emptyCache, follow}) {
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

}  // namespace highwater::app
