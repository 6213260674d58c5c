#pragma once

#include <QTimer>
#include <QWidget>
#include <memory>
#include <optional>

#include "session/describe_worker.h"
#include "session/script_process.h"

class QScrollArea;
class QBoxLayout;
class QTabBar;

namespace highwater::window {

class MachinePanel;
class RecentRecordings;
class SampleList;
class ScriptPanel;
class SeparatorLine;
class StartBlock;

/// The page that the window shows while nothing is loaded: the form for the user's own script, the
/// samples, the recent recordings, and what explains them. Starts and opens nothing itself.
class StartPage final : public QWidget {
  Q_OBJECT

 public:
  /// Whether the page starts programs to learn about the machine, and keeps what the user wrote in
  /// the settings. kOff is for pictures and tests.
  enum class Machine { kOff, kOn };

  /// `worker` says how to start the worker that describes the device.
  StartPage(session::LaunchOptions worker, Machine machine, QWidget* parent = nullptr);
  ~StartPage() override;

  /// Whether the form names a script, right or wrong.
  [[nodiscard]] bool namesScript() const;
  /// The last part of the script's path in the form; empty if it names none.
  [[nodiscard]] QString scriptName() const;
  /// Selects a sample in the list, as the tool bar shows it; std::nullopt: none, for it would not
  /// be what Run starts.
  void selectSample(const std::optional<QString>& scenario);
  /// Emits runScriptRequested() if nothing in the form is wrong; else goes to what is.
  void runScript();
  /// Writes this script into the form.
  void nameScript(const QString& path);
  /// Keeps a file that was opened for the list of recent recordings.
  void noteOpened(const QString& path);
  /// The recordings for the menu: those that were opened and those of the recordings' folder, the
  /// newest first, at most `most`. Only files that exist.
  [[nodiscard]] QStringList recentFiles(qsizetype most) const;
  /// Highlights the place to drop on, while a file is dragged over the window.
  void showDrag(bool dragged);
  /// Says why a recording was not opened, or a script not started; empty: nothing is wrong.
  void showProblem(const QString& problem);

 signals:
  /// The user wants to run a script. `recordingName` is free: see run::recordingFile().
  void runScriptRequested(const highwater::session::ScriptOptions& options,
                          const QString& recordingName);
  /// The user wants to train a scenario of core/scenarios.h, or the built-in workload if empty.
  void runSampleRequested(const QString& scenario);
  /// The user selected a sample, which Run is to start from now on.
  void sampleSelected(const QString& scenario);
  /// The user wrote into the form of the script, which Run is to start from now on.
  void scriptEdited();
  /// The user wants to open this recording.
  void openRecordingRequested(const QString& path);
  /// A recording has another name now.
  void recordingRenamed(const QString& path, const QString& newPath);
  /// The user wants to choose a recording to open.
  void chooseRecordingRequested();

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  QWidget* makeLeft();
  QWidget* makeRight();
  void layOut();
  /// Brings the list of samples into view, with the keyboard's focus.
  void showSamples();
  void askMachine();
  void saveForm() const;
  void keepOpened(const QStringList& files);
  [[nodiscard]] QStringList openedFiles() const;

  session::LaunchOptions worker_;
  Machine machine_;
  ScriptPanel* script_ = nullptr;
  SampleList* samples_ = nullptr;
  QString namedScript_;  ///< as the form names it
  RecentRecordings* recent_ = nullptr;
  MachinePanel* machinePanel_ = nullptr;
  QScrollArea* area_ = nullptr;
  QBoxLayout* columns_ = nullptr;
  SeparatorLine *between_ = nullptr, *betweenExplanations_ = nullptr;
  QTabBar* tabs_ = nullptr;
  QList<StartBlock*> tabbed_;  ///< in the order of the tabs
  QTimer askTimer_;
  std::unique_ptr<session::WorkerQuery> query_;
  bool asked_ = false;
  QStringList opened_;  ///< without settings
};

}  // namespace highwater::window
