#pragma once

#include <QTimer>
#include <QWidget>
#include <optional>

#include "core/messages.h"

class QComboBox;
class QLabel;
class QLineEdit;

namespace highwater::views {

class ChosenRow;
class StopSlider;

/// One knob of the user's script: its name and the line that declares it, a field or a list, a
/// slider where it is a number with bounds, and what to know before it is turned. A change is
/// requested when the slider is released, a value is entered or a choice is made. What the wheel
/// turns is only chosen, until Enter or Apply.
class KnobRow final : public QWidget {
  Q_OBJECT

 public:
  explicit KnobRow(const ScriptKnob& knob, QWidget* parent = nullptr);

  [[nodiscard]] const ScriptKnob& knob() const { return knob_; }
  /// Whether the script runs: the knob of one that has ended has no slider.
  void setLive(bool live);
  /// Shows the value that the script uses now, unless the user is changing it.
  void showKnob(const ScriptKnob& knob);
  /// Shows whether the script has accepted the last change. After a refusal the value returns to
  /// the one in use, and `message` tells why.
  void showAnswer(bool accepted, const QString& message);

 signals:
  /// The user wants another value.
  void changeRequested(double value);

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void makeList();
  void makeField();
  void makeSlider();
  /// Uses a value that the wheel has chosen.
  void apply();
  void showChosen();
  /// Shows `value` in field and slider without requesting it.
  void put(double value);
  void enter();
  void request(double value);
  void say(const QString& text, bool isProblem);
  [[nodiscard]] double valueAt(int position) const;
  [[nodiscard]] int positionOf(double value) const;

  ScriptKnob knob_;
  std::optional<double> asked_;  ///< requested, and not in use yet
  QLineEdit* field_ = nullptr;
  QComboBox* list_ = nullptr;
  StopSlider* slider_ = nullptr;
  ChosenRow* chosenRow_;
  std::optional<double> chosen_;  ///< by the wheel, and not requested
  QLabel* note_;
};

}  // namespace highwater::views
