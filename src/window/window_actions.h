#pragma once

#include <QAction>
#include <QObject>

#include "core/events_generated.h"
#include "views/desktop_keys.h"
#include "window/theme_choice.h"

class QActionGroup;
class QMainWindow;
class QMenu;

namespace highwater::window {

/// The actions and menus of the window. The main window connects them.
class WindowActions final : public QObject {
  Q_OBJECT

 public:
  explicit WindowActions(QMainWindow* window, views::Desktop desktop = views::kOwnDesktop);

  QAction *run, *pause, *stop, *emptyCache, *sweep, *tryKnob;
  QAction *open, *reload, *compare, *saveAs, *exportPicture, *exportData;
  QAction *startPage, *closeWindow, *quit;
  QAction *timelineView, *tuningView;  ///< of which one is checked
  QAction *follow, *fit, *filterOps;
  QAction *search, *nextHit, *previousHit, *commands, *mark;
  QAction *keys, *doctor, *about;
  QAction* benchmark;                           ///< compares the CPU with MPS
  QAction *pinA, *pinB, *swapPins, *clearPins;  ///< for comparing two ranges
  QAction* memoryBudget;                        ///< asks for the window's memory budget
  QAction* editorCommand;                       ///< asks for the editor of lines of code
  QAction* resetLayout;
  QMenu* recentMenu;  ///< recent recordings; the main window fills it when it is opened
  /// The action that records every op for the next kOpSteps steps and then returns to the level
  /// before.
  QAction* recordOps;
  QMenu* viewMenu;
  QMenu* levelMenu;  ///< the level of the probe, now or for the next run

  /// The number of steps for which `recordOps` records every op.
  static constexpr int kOpSteps = 20;

  /// Draws the icons in the colours of the current theme.
  void updateIcons();
  /// Marks the theme in the menu as chosen. Emits no signal.
  void checkTheme(ThemeChoice choice);
  /// Marks the device in the menu as chosen. Emits no signal.
  void checkDevice(const QString& device);
  /// Enables or disables the choice of the device.
  void setDeviceChangeable(bool changeable);
  /// Marks the probe's level in the menu. `changeable` enables the levels. `hasSteps`: steps
  /// are to come, so that the actions that record for a number of steps are enabled.
  void showLevel(events::ProbeLevel level, bool changeable, bool hasSteps);

 signals:
  /// The user chose how much the probe records. It holds for `steps` steps, or until the next
  /// change if `steps` is 0.
  void levelChosen(highwater::events::ProbeLevel level, int steps);
  /// The user wants to record every op for some steps. The receiver must ask for how many.
  void opStepsAsked();
  /// The user chose a theme.
  void themeChosen(highwater::window::ThemeChoice choice);
  /// The user chose a device for the next run.
  void deviceChosen(const QString& device);

 private:
  QAction* make(const QString& text, const char* name, const QKeySequence& key, const QString& tip);
  void nameOtherwise();
  void makeMenus();
  void makeDeviceMenu(QMenu* runMenu);
  void makeWindowMenu();
  void makeHelpMenu();
  void makeLevelMenu(QMenu* runMenu);

  QMainWindow* window_;
  QActionGroup* themes_;
  QActionGroup* devices_;
  QActionGroup* levels_;
  QList<QAction*> forSteps_;
  QAction* nextRun_ = nullptr;
};

}  // namespace highwater::window
