#pragma once

#include <QMainWindow>
#include <QStringList>
#include <QTimer>
#include <cstdint>
#include <filesystem>

#include "core/result.h"
#include "models/tuning_state.h"
#include "run/run.h"
#include "session/script_process.h"
#include "session/session.h"
#include "views/panes/event_focus.h"
#include "views/panes/time_axis.h"
#include "window/theme_choice.h"

class QStackedWidget;

namespace highwater::run {
class RecordingWatch;
}  // namespace highwater::run

namespace highwater::views {
class Banner;
class CommandPalette;
class NoteField;
class PaneStack;
}  // namespace highwater::views

namespace highwater::window {

class DataExport;
class DockLayout;
class OpeningPage;
class RunNotices;
class OpReadBack;
class RunSearch;
class RunStatusBar;
class RunToolBar;
class StartPage;
class SweepControl;
class TuningPage;
class WindowActions;
class WindowDocks;

/// The main window. Composes the run, the panes, the docks and the bars, and connects them.
class MainWindow final : public QMainWindow {
  Q_OBJECT

 public:
  /// Whether the window reads and writes the user's settings. kOff is for pictures and tests.
  enum class Settings { kOff, kOn };

  /// Makes the window. The next run starts with the options `defaults`, until the user changes
  /// them.
  explicit MainWindow(session::LaunchOptions defaults, QWidget* parent = nullptr,
                      Settings settings = Settings::kOn);
  ~MainWindow() override;

  /// Shows a recording. Errors: those of run::Run::open(); the window then stays unchanged.
  [[nodiscard]] Result<void> openRecording(const std::filesystem::path& path);

  /// Reads a recording behind the window, which stays as it is until then or, if it takes longer,
  /// shows an overview with the progress and a way to cancel. What goes wrong stands where the user
  /// looks.
  void openInBackground(const std::filesystem::path& path);

  /// Opens a file that the desktop hands over, as the Finder does for a double click. Several that
  /// come at once: the first is opened, the others are put into the list of recent recordings. A
  /// run that is going on stays, and the window says why the file is not opened.
  void openFromDesktop(const QString& path);
  /// Sets the program whose subcommands the window starts: this one, unless another is set.
  void setProgram(const QString& program) { program_ = program; }
  /// Shows the window above the others, with the keyboard's focus: a program that a terminal starts
  /// does not get it by itself on a Mac.
  void showInFront();

  /// Starts a run with the values of the controls. Does nothing while a run is live.
  void startRun();
  /// The same, for the built-in workload also where the last run was a script.
  void runWorkload();
  /// Starts the user's own program; its recording is run::recordingFile(recordingName), or called
  /// after it and the time if that is empty. Errors: those of run::Run::runScript().
  [[nodiscard]] Result<void> runScript(const session::ScriptOptions& script,
                                       const QString& recordingName);
  /// Closes the window without asking what becomes of the user's program, and without waiting until
  /// a run has stopped.
  void closeAtOnce();
  /// Shows the start page in place of the run, without the docks, or the run again. There is no
  /// page while a run is live.
  void showStartPage(bool shown);
  /// Shows the view Tuning in the centre of the window, or the timeline.
  void showTuning(bool shown);
  /// Chooses a scenario and its knobs for the next run. An empty name means no scenario.
  void chooseScenario(const QString& name);

  [[nodiscard]] views::TimeAxis& timeAxis() { return axis_; }
  [[nodiscard]] models::TuningState& tuning() { return tuning_; }
  [[nodiscard]] run::Run& currentRun() { return run_; }
  /// Applies a theme to the application and, with Settings::kOn, saves the choice.
  void setTheme(ThemeChoice choice);
  /// Returns the size of a first window on a screen with `available` room: 1600 × 1000 pixels, or
  /// less if it must fit.
  [[nodiscard]] static QSize firstSize(const QSize& available);
  /// Does all pending redraws now.
  void renderNow();

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void closeEvent(QCloseEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dragLeaveEvent(QDragLeaveEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  /// What the centre shows; the opening page may cover it for a while. A sample of the start page
  /// is selected until its script is edited.
  enum class Page : std::uint8_t { kRun, kStart, kStartWithSample };
  /// What the centre shows of a run.
  enum class View : std::uint8_t { kTimeline, kTuning };

  void connectActions();
  void connectStartPage();
  void connectTuning();
  void startRunToSweep();
  void tryFix(const analysis::Finding& finding);
  void tryKnob();
  void showTry();
  /// Makes the page of the view Tuning, when it is first shown.
  void makeTuningPage();
  [[nodiscard]] bool startPageShown() const { return page_ != Page::kRun; }
  [[nodiscard]] bool tuningShown() const { return view_ == View::kTuning; }
  /// What the centre shows of a run: the panes, or the page of the view Tuning.
  [[nodiscard]] QWidget* runPage() const;
  /// Puts the run with its docks in place of a page that has covered it.
  void uncoverRun();
  /// Sets the sliders to a setting, as the user does before applying it.
  void chooseSetting(tuning::Setting setting);
  /// Asks the controls to train with a setting.
  void applySetting(tuning::Setting setting);
  void showTuningMarks();
  void runSample(const QString& scenario);
  /// Takes a sample for the next run, as the user selects it on the start page or in the tool bar.
  void selectSample(const QString& scenario);
  /// Whether Run starts the script that the start page names.
  [[nodiscard]] bool runsPagesScript() const;
  /// Shows in tool bar and start page what Run would start.
  void showWhatRuns();
  /// Says a problem in the banner, also above the start page.
  void explain(const Error& error);
  void connectOpeningPage();
  /// Puts the opening page in place of the panes and docks, or takes it away.
  void coverWithOpening(bool covered);
  /// Brings everything in line with the recording that run_ now shows.
  void showOpened();
  void showWorstPage();
  void connectRun();
  void restoreSettings();
  /// Shows a run of the built-in workload in controls and tool bar.
  void showWorkload(const RunDescription& run);
  void updateState();
  /// Restarts the worker of the live run, or sets how the next one starts. Asks first where that
  /// lifts the memory limit.
  void useRestartSettings(const RestartSettings& settings);
  void showRestartSettings();
  void updateTitle();
  void followSystemTheme();
  void refreshPanes();
  void replaceRun();
  void useSettingThatFits();
  void closeAfterRun();
  void showLevel();
  /// Shows in the tool bar how long the run is by now.
  void showRecordedTime();
  void askOpSteps();
  void setLevel(const SetProbeLevel& level);
  void acceptFallback(const QString& op);
  void showAnswer(const CommandAnswer& answer);
  void keepAcceptance(const QString& op, bool accepted, const QString& reason);
  void connectComparison();
  /// Shows a line of code in the user's editor, or says why not.
  void openSource(const QString& file, int line);
  void chooseEditor();
  void chooseMemoryBudget();
  void layOutAllButDocks();
  void askForNote();
  /// Reads the file of the recording on screen again, which may hold another run by now.
  void reload();
  /// The file of the recording on screen holds another run: says so.
  void showReplaced();
  void keepNote(std::int64_t timeNs, const QString& note);
  void listRecent();
  bool handleSearchKey(const QKeyEvent& event);
  void openFilesFromDesktop();
  void chooseRecording();
  void chooseCopy();
  void chooseOther();
  void choosePicture();
  void chooseDataExport();
  void connectDataExport();
  /// Shows in the action what it does now: export, or cancel the export that runs.
  void showDataExport();

  /// Of a window that has all the room that it asks for.
  static constexpr QSize kFullSize{1600, 1000};

  run::Run run_;
  views::TimeAxis axis_;
  views::EventFocus focus_;
  models::TuningState tuning_;
  WindowActions* actions_;
  RunToolBar* toolBar_;
  RunStatusBar* status_;
  WindowDocks* docks_;
  DockLayout* layout_;
  QStackedWidget* centre_;
  views::PaneStack* panes_;
  StartPage* startPage_;
  OpeningPage* openingPage_;
  SweepControl* sweep_ = nullptr;
  TuningPage* tuningPage_ = nullptr;  ///< made when it is first shown
  views::Banner* banner_;
  RunNotices* notices_;
  run::RecordingWatch* watch_;
  RunSearch* search_;
  OpReadBack* opReadBack_;
  DataExport* dataExport_;
  views::CommandPalette* palette_;
  views::NoteField* noteField_;
  bool dataChanged_ = false;  ///< since the panes were last brought up to date
  QTimer tableTimer_;         ///< numbers change at most four times a second
  QTimer secondTimer_;
  Settings settings_;
  ThemeChoice theme_ = ThemeChoice::kSystem;
  QString editorCommand_;  ///< the user's own, else empty
  QString program_;        ///< `highwater`
  bool asksBeforeClosing_ = true;
  bool wasClosed_ = false;  ///< by the user, while its script may go on
  Page page_ = Page::kRun;
  View view_ = View::kTimeline;
  QStringList fromDesktop_;                    ///< files that are handed over and not opened yet
  bool wantsWorstPage_ = false;                ///< when findings and tables are complete
  std::optional<SetProbeLevel> levelAtStart_;  ///< chosen while the run was starting
  bool runShown_ = false;                      ///< the controls show the run's description
};

}  // namespace highwater::window
