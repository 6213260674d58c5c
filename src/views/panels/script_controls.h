#pragma once

#include <QWidget>
#include <vector>

#include "analysis/live_store.h"

class QLabel;
class QVBoxLayout;

namespace highwater::views {

class KnobRow;

/// The controls of a run of the user's own script: the knobs that it declares, those that Highwater
/// found, and what is known of its training. Sizes that are guesses say so.
class ScriptControls final : public QWidget {
  Q_OBJECT

 public:
  /// `store` is not owned and must outlive the panel.
  explicit ScriptControls(const analysis::LiveStore* store, QWidget* parent = nullptr);

  /// Forgets the knobs. Call it when the store holds another run.
  void startOver();
  /// Shows what the store has by now.
  void refresh();
  /// Shows the script's answer to the last requested change of the knob `name`.
  void showAnswer(const std::string& name, bool accepted, const QString& message);
  /// Enables or disables the knobs. Those of a run that is not live, as of a recording, have no
  /// sliders, and nothing tells how to declare one.
  void setChangeable(bool changeable, bool live);

 signals:
  /// The user wants another value of a knob.
  void changeRequested(const highwater::SetScriptKnob& change);

 private:
  void addFact(const QString& name, QLabel** value, bool isGuess);
  void addKnob(const ScriptKnob& knob);
  void refreshFacts();

  const analysis::LiveStore* store_;
  QLabel *declaredTitle_, *foundTitle_, *empty_;
  QVBoxLayout *declared_, *found_, *facts_;
  std::vector<KnobRow*> rows_;
  QLabel *size_ = nullptr, *model_ = nullptr, *optimizer_ = nullptr, *dtype_ = nullptr;
  bool changeable_ = false, live_ = false;
};

}  // namespace highwater::views
