#pragma once

#include <QStatusBar>

class QLabel;

namespace highwater::run {
class Run;
}  // namespace highwater::run

namespace highwater::window {

/// The status bar. It shows state and step, events, drops, sampling rate, the recording and
/// PyTorch's version, and at the right whether the device is simulated.
class RunStatusBar final : public QStatusBar {
  Q_OBJECT

 public:
  explicit RunStatusBar(QWidget* parent = nullptr);
  /// Shows the current state of `run`.
  void refresh(const run::Run& run);
  /// Whether the file of the run holds another one by now, from the next refresh() on.
  void setReplaced(bool replaced);
  /// Chooses the layout for small windows, from the next refresh() on.
  void setSmall(bool small);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  /// Hides the fields that there is no room for, the least important first.
  void fit();
  QLabel* addField(const char* name);
  void put(QLabel* label, const QString& text, const QString& tip = {});

  QLabel *state_, *drops_, *file_, *simulated_;
  bool small_ = false, replaced_ = false;
};

/// Describes the state of the run as a text: "Running, step 214".
[[nodiscard]] QString stateText(const run::Run& run);

}  // namespace highwater::window
