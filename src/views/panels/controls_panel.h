#pragma once

#include <QTimer>
#include <QWidget>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/knobs.h"
#include "core/messages.h"

class QSpinBox;

namespace Ui {
class ControlsPanel;
}

namespace highwater::models {
class TuningState;
}

namespace highwater::views {

class ChosenRow;
class RestartControls;
class StopSlider;

/// The knobs of a run (core/knobs.h): batch size and sequence length as sliders, the others as
/// fields and lists. During a run a change is requested when a slider is released, or 150 ms after
/// the last edit, and takes effect at the next step; what the wheel turns is only chosen, until
/// Enter or Apply. Before a run the values are what it starts with.
class ControlsPanel final : public QWidget {
  Q_OBJECT

 public:
  explicit ControlsPanel(QWidget* parent = nullptr);
  ~ControlsPanel() override;

  /// Sets the values that the next run starts with. A value of 0 leaves its control unchanged, and
  /// keepEffectiveBatch counts only together with an accumulation.
  void setKnobs(const Knobs& knobs);
  /// The values that the controls show; 0 for a learning rate or a memory fraction that is left to
  /// the worker.
  [[nodiscard]] Knobs knobs() const;
  /// Shows a run's knobs and their limits, and its dtype, model and data.
  void showRun(const RunDescription& run);
  /// Shows the values that the next step will use, unless the user is changing them.
  void showEffective(const Knobs& knobs);
  /// Chooses a batch size and a sequence length. During a run they wait for Apply, as those that
  /// the wheel chooses; before one they are what it starts with.
  void choose(std::uint32_t batchSize, std::uint32_t sequenceLength);
  /// Chooses values as the user would, and emits changeRequested().
  void request(const Knobs& knobs);
  /// Emits changeRequested() now for edits that still wait for the end of their delay.
  void commit();
  /// Shows the worker's answer to the last requested change. After a refusal the controls return to
  /// the values in effect, and `message` tells why.
  void showAnswer(bool accepted, const QString& message);
  /// Enables or disables the controls. Disabled is for a recording or an ended run.
  void setChangeable(bool changeable);
  /// Whether a run is going on, so that a value may be another than the one in use.
  void setLive(bool live);
  /// Shows under the sliders what the values would take, and hatches what would not be safe.
  /// `tuning` is not owned and must outlive the panel.
  void setTuning(models::TuningState* tuning);
  /// The settings that need a restart.
  [[nodiscard]] RestartControls* restart() const { return restart_; }
  /// Explains why the values are not those that the user chose; empty removes that.
  void sayProblem(const QString& text);

 signals:
  /// The user changed values. Only the changed fields are set.
  void changeRequested(const highwater::SetKnobs& change);

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void bind(StopSlider* slider, QSpinBox* spin, std::vector<int>* stops);
  /// A control that is no slider.
  struct Field {
    const Knob* knob;
    QWidget* control;
    ChosenRow* chosen;  ///< nullptr: none
    std::function<double()> read;
    std::function<void(double)> write;
  };
  void addFields();
  template <typename Control, typename Signal, typename Read, typename Write>
  void addField(events::MarkerKind kind, Control* control, Signal changed, bool saysChosen,
                Read read, Write write);
  [[nodiscard]] std::vector<QWidget*> controls() const;
  /// Makes what tells a chosen value from the one in use, before `control` in its line.
  ChosenRow* addChosenRow(QWidget* control);
  /// Shows which values are not in use yet.
  void showChosen();
  void showEffectiveBatch(const Knobs& now);
  void setStops(StopSlider* slider, QSpinBox* spin, std::vector<int>* stops,
                std::vector<int> values);
  void edited();
  /// Tells the state of tuning which setting the sliders show.
  void tellTuning();
  void showSafe();
  [[nodiscard]] bool sliderHeld() const;
  void put(const Knobs& knobs);
  [[nodiscard]] bool isTyping() const;

  std::unique_ptr<Ui::ControlsPanel> ui_;
  QTimer settle_;
  std::vector<int> batchStops_, sequenceStops_;
  Knobs shown_;                   ///< last set by the program or requested
  std::optional<Knobs> waitsAt_;  ///< the knobs in effect when a change was requested
  Knobs effective_;
  RestartControls* restart_;
  ChosenRow *batchChosen_, *sequenceChosen_;
  std::vector<Field> fields_;
  models::TuningState* tuning_ = nullptr;
  bool putting_ = false;
  bool live_ = false;
  bool waitsForApply_ = false;  ///< the wheel has chosen a value
};

}  // namespace highwater::views
