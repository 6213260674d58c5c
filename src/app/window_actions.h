#pragma once

#include <QAction>
#include <QObject>

#include "app/theme_choice.h"
#include "core/events_generated.h"

class QActionGroup;
class QMainWindow;
class QMenu;

namespace highwater::app {

/// The actions of the window and its menus. What they do is connected by the window.
class WindowActions final : public QObject {
  Q_OBJECT

 public:
  explicit WindowActions(QMainWindow* window);

  QAction *run, *pause, *stop, *emptyCache;
  QAction *open, *saveAs, *exportPicture, *quit;
  QAction *follow, *fit, *filterOps;
  QAction *keys, *about;
  /// Every op for the next kOpSteps steps, then the level as it was.
  QAction* recordOps;
  QMenu* viewMenu;
  QMenu* levelMenu;  ///< how closely the probe looks, now or in the next run

  static constexpr int kOpSteps = 20;

  /// Draws the icons in the colours of the theme as it is now.
  void updateIcons();
  void checkTheme(ThemeChoice choice);
  void checkDevice(const QString& device);
  void setDeviceChangeable(bool changeable);
  /// Checks the level that holds. `training`: levels for some steps can be asked for.
  void showLevel(events::ProbeLevel level, bool changeable, bool training);

 signals:
  /// `steps` 0: until told otherwise.
  void levelChosen(highwater::events::ProbeLevel level, int steps);
  /// For a number of steps that the user has yet to name.
  void opStepsAsked();
  void themeChosen(highwater::app::ThemeChoice choice);
  void deviceChosen(const QString& device);

 private:
  QAction* make(const QString& text, const char* name, const QKeySequence& key, const QString& tip);
  void makeMenus();
  void makeLevelMenu(QMenu* runMenu);

  QMainWindow* window_;
  QActionGroup* themes_;
  QActionGroup* devices_;
  QActionGroup* levels_;
  QList<QAction*> forSteps_;
  QAction* nextRun_ = nullptr;
};

}  // namespace highwater::app
