#pragma once

#include <QTimer>
#include <QWidget>
#include <memory>
#include <optional>
#include <vector>

#include "core/messages.h"

class QSlider;
class QSpinBox;

namespace Ui {
class ControlsPanel;
}

namespace highwater::views {

/// Batch size, sequence length and loss interval. While a run goes on, a change is asked for once
/// the slider is let go, or keys and boxes have rested for 150 ms, and holds from the next step;
/// before a run it is what the run will start with.
class ControlsPanel final : public QWidget {
  Q_OBJECT

 public:
  explicit ControlsPanel(QWidget* parent = nullptr);
  ~ControlsPanel() override;

  /// What a run would start with; 0 where the worker decides.
  void setKnobs(const Knobs& knobs);
  [[nodiscard]] Knobs knobs() const;
  /// The run's limits, dtype, model and data.
  void showRun(const RunDescription& run);
  /// What the next step will run with: taken over unless the user is just changing it.
  void showEffective(const Knobs& knobs);
  /// Asks at once for what is still settling.
  void commit();
  /// The worker's answer to the last change. A refusal is shown, and the controls go back.
  void showAnswer(bool accepted, const QString& message);
  /// A run that cannot be changed any more (a recording, an ended run) shows its values only.
  void setChangeable(bool changeable);

 signals:
  /// The fields that the user changed.
  void changeRequested(const highwater::SetKnobs& change);

 private:
  void bind(QSlider* slider, QSpinBox* spin, std::vector<int>* stops);
  void setStops(QSlider* slider, QSpinBox* spin, std::vector<int>* stops, std::vector<int> values);
  void edited();
  [[nodiscard]] bool sliderHeld() const;
  void put(const Knobs& knobs);
  void sayProblem(const QString& text);

  std::unique_ptr<Ui::ControlsPanel> ui_;
  QTimer settle_;
  std::vector<int> batchStops_, sequenceStops_;
  Knobs shown_;                   ///< as last put by us or asked for
  std::optional<Knobs> waitsAt_;  ///< the effective knobs when a change was asked for
  Knobs effective_;
  bool putting_ = false;
};

}  // namespace highwater::views
