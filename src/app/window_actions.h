#pragma once

#include <QAction>
#include <QObject>

#include "app/theme_choice.h"

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
  QAction *follow, *fit;
  QAction *keys, *about;
  QMenu* viewMenu;

  /// Draws the icons in the colours of the theme as it is now.
  void updateIcons();
  void checkTheme(ThemeChoice choice);
  void checkDevice(const QString& device);
  void setDeviceChangeable(bool changeable);

 signals:
  void themeChosen(highwater::app::ThemeChoice choice);
  void deviceChosen(const QString& device);

 private:
  QAction* make(const QString& text, const char* name, const QKeySequence& key, const QString& tip);
  void makeMenus();

  QMainWindow* window_;
  QActionGroup* themes_;
  QActionGroup* devices_;
};

}  // namespace highwater::app
