#pragma once

#include <QList>
#include <QToolBar>

class QComboBox;
class QLabel;
class QToolButton;

namespace highwater::app {

class DeviceBadge;
class WindowActions;

/// Whether a recording is being written, and for how long: a filled dot while it is, a ring while
/// what is shown comes from a file.
class RecordingIndicator final : public QWidget {
  Q_OBJECT

 public:
  explicit RecordingIndicator(QWidget* parent = nullptr);
  enum class Kind { kNone, kRecording, kFile };
  void show(Kind kind, const QString& time);
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Kind kind_ = Kind::kNone;
  QString time_;
};

/// Run, Pause, Stop; the device; workload (or a scenario), preset and level; Empty cache; Follow;
/// the recording.
class RunToolBar final : public QToolBar {
  Q_OBJECT

 public:
  RunToolBar(WindowActions* actions, QWidget* parent);

  [[nodiscard]] DeviceBadge* badge() const { return badge_; }
  /// Of kNone nothing stands there.
  void showRecording(RecordingIndicator::Kind kind, const QString& time);
  /// For the next run; without a scenario the workload as it is; an empty preset leaves it to the
  /// worker.
  void choose(const QString& workload, const QString& scenario, const QString& preset);
  void setChoosable(bool choosable);
  /// The probe's level that holds; of a run that has ended those that it was recorded at, and the
  /// level of the next run, which is empty while one is going on.
  void showLevel(const QString& level, const QString& next);
  /// Labels become icons with tooltips.
  void setSmall(bool small);

 signals:
  void workloadChosen(const QString& workload);
  /// One of core/scenarios.h, instead of a plain workload.
  void scenarioChosen(const QString& scenario);
  void presetChosen(const QString& preset);

 private:
  QToolButton* addButton(QAction* action);
  void addCaption(const QString& text);
  void addScenarios();

  DeviceBadge* badge_;
  RecordingIndicator* recording_;
  QComboBox* workload_;
  QComboBox* preset_;
  QToolButton* level_;
  const QString levelTip_;
  QList<QAction*> captions_, recordingParts_;
  QList<QToolButton*> shrinking_;
};

}  // namespace highwater::app
