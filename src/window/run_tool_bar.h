#pragma once

#include <QList>
#include <QToolBar>
#include <functional>

class QComboBox;
class QLabel;
class QToolButton;

namespace highwater::views {
class SearchButton;
}

namespace highwater {
struct RunOptions;
}

namespace highwater::window {

class DeviceBadge;
class WindowActions;

/// Shows a filled dot with the elapsed time while a recording is written, and a ring for a run that
/// was opened from a file.
class RecordingIndicator final : public QWidget {
  Q_OBJECT

 public:
  explicit RecordingIndicator(QWidget* parent = nullptr);
  /// What the indicator shows: nothing, a recording being written, or a run opened from a file.
  enum class Kind { kNone, kRecording, kFile };
  /// Shows an indicator; `time` is the text beside it. kNone hides it.
  void show(Kind kind, const QString& time);
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Kind kind_ = Kind::kNone;
  QString time_;
};

/// The height of the bar at the top of the window, in logical pixels.
inline constexpr int kToolBarHeight = 44;

/// The tool bar: Run, Pause, Stop; the device; workload (or scenario), preset and level; Empty
/// cache; Follow; the recording indicator.
class RunToolBar final : public QToolBar {
  Q_OBJECT

 public:
  RunToolBar(WindowActions* actions, QWidget* parent);

  [[nodiscard]] DeviceBadge* badge() const { return badge_; }
  /// Sets the recording indicator; `time` is the text beside it. kNone hides the indicator.
  void showRecording(RecordingIndicator::Kind kind, const QString& time);
  /// Shows what the next run will use, without emitting a signal: the scenario or, if that is empty
  /// or unknown, the built-in workload; and the preset, where empty means "by device". A preset
  /// that is not in its list is added.
  void choose(const RunOptions& options);
  /// Shows the name of what runs, or of the user's own program, in place of workload and preset;
  /// empty: these are shown, so that the user can choose.
  void showName(const QString& name);
  /// Shows the level, where it can be chosen.
  void setLevelShown(bool shown);
  /// Shows how much the probe records. For a run that has ended `level` lists the levels that it
  /// was recorded at, and `next` is the level of the next run; during a run `next` is empty.
  void showLevel(const QString& level, const QString& next);
  /// Chooses the layout for small windows: buttons show only icons, and captions are hidden.
  void setSmall(bool small);
  /// Chooses the layout for still narrower windows: also Run, Pause and Stop show only icons, and
  /// the preset and the time of a finished recording are hidden.
  void setCompact(bool compact);

 signals:
  /// The user chose a scenario of core/scenarios.h for the next run, or the built-in workload if
  /// empty.
  void scenarioChosen(const QString& scenario);
  /// The user chose a preset for the next run.
  void presetChosen(const QString& preset);

 protected:
  bool event(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  /// Something that gives way where the tool bar has no room for all.
  struct Part {
    bool shown = true;
    int width = 0;  ///< as of when it was hidden
  };
  void giveWay(Part& part, const std::function<void(bool)>& show);
  /// Where there is no room, Empty cache and Mark are icons alone, then captions are hidden; in a
  /// small window they are only in the menu.
  void fitParts();
  /// Shows or hides an item. QWidgetAction would enable its widget with that.
  void setPartVisible(QAction* part, bool visible);
  [[nodiscard]] bool captionsShown() const { return !small_ && captionsPart_.shown; }
  /// Gives the search the room that the other items leave.
  void fitSearch();
  void showRecordingParts();
  QToolButton* addButton(QAction* action);
  QList<QAction*> addCaption(const QString& text);
  void addScenarios();

  DeviceBadge* badge_;
  RecordingIndicator* recording_;
  QComboBox* workload_;
  QComboBox* preset_;
  QLabel* name_;
  views::SearchButton* search_;
  bool small_ = false, compact_ = false;
  RecordingIndicator::Kind recordingKind_ = RecordingIndicator::Kind::kNone;
  QToolButton* level_;
  const QString levelTip_;
  QList<QAction*> captions_, recordingParts_, workloadParts_, presetParts_, levelParts_;
  QAction* namePart_ = nullptr;
  bool levelShown_ = true;
  QList<QToolButton*> shrinking_, runButtons_, viewButtons_, firstToShrink_;
  QList<QAction*> inMenus_;
  Part labels_, captionsPart_, menuParts_;
};

}  // namespace highwater::window
