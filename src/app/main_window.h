#pragma once

#include <QMainWindow>
#include <QTimer>
#include <filesystem>

#include "app/run_control.h"
#include "app/theme_choice.h"
#include "core/result.h"
#include "session/session.h"
#include "views/event_focus.h"
#include "views/time_axis.h"

namespace highwater::views {
class Banner;
class PaneStack;
}  // namespace highwater::views

namespace highwater::app {

class RunStatusBar;
class RunToolBar;
class WindowActions;
class WindowDocks;

/// The window: it composes the panes, the docks, the bars and the run, and connects them.
class MainWindow final : public QMainWindow {
  Q_OBJECT

 public:
  /// kOff: settings are neither read nor written (pictures, tests).
  enum class Settings { kOff, kOn };

  explicit MainWindow(session::LaunchOptions defaults, QWidget* parent = nullptr,
                      Settings settings = Settings::kOn);
  ~MainWindow() override;

  /// Shows a recording. Errors as of session::loadRecording(); the window stays as it was.
  [[nodiscard]] Result<void> openRecording(const std::filesystem::path& path);

  /// Starts a run with what the controls show; nothing where one goes on.
  void startRun();
  /// Its sizes become those of the next run; an empty name is no scenario.
  void chooseScenario(const QString& name);

  [[nodiscard]] views::TimeAxis& timeAxis() { return axis_; }
  [[nodiscard]] RunControl& runControl() { return run_; }
  void setTheme(ThemeChoice choice);
  /// What a first window takes of a screen with so much room: 1600 × 1000, or what fits.
  [[nodiscard]] static QSize firstSize(const QSize& available);
  /// Draws everything that was put off, now.
  void renderNow();

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void closeEvent(QCloseEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void connectActions();
  void connectRun();
  void restoreSettings();
  void updateState();
  void updateTitle();
  void followSystemTheme();
  void refreshPanes();
  void replaceRun();
  void showLevel();
  void askOpSteps();
  void acceptFallback(const QString& op);
  void keepAcceptance(const QString& op, bool accepted, const QString& reason);
  void showStall(const QString& message);
  void updateStall();
  void hideStall();
  void actOnBanner();
  void showEnd(const RunEnd& end);
  void showProblem(const QString& message);
  void layOut(bool small);
  void chooseRecording();
  void chooseCopy();
  void choosePicture();

  RunControl run_;
  views::TimeAxis axis_;
  views::EventFocus focus_;
  WindowActions* actions_;
  RunToolBar* toolBar_;
  RunStatusBar* status_;
  WindowDocks* docks_;
  views::PaneStack* panes_;
  views::Banner* banner_;
  QTimer paneTimer_;   ///< panes follow the data at most 30 times a second
  QTimer tableTimer_;  ///< numbers that people read change four times a second
  QTimer secondTimer_;
  Settings settings_;
  QString stallShown_;  ///< what the banner says while the training stands still, else empty
  ThemeChoice theme_ = ThemeChoice::kSystem;
  bool small_ = false;
  bool docksPlaced_ = false;
  bool runShown_ = false;  ///< the controls have taken over the run's description
};

}  // namespace highwater::app
