#pragma once

#include <QStatusBar>

class QLabel;

namespace highwater::app {

class RunControl;

/// State and step, events, drops, sampling, the recording, PyTorch's version; at the right whether
/// what is shown is simulated.
class RunStatusBar final : public QStatusBar {
  Q_OBJECT

 public:
  explicit RunStatusBar(QWidget* parent = nullptr);
  void refresh(const RunControl& run);
  void setSmall(bool small);

 private:
  QLabel* addField(const char* name);
  void put(QLabel* label, const QString& text, const QString& tip = {});

  QLabel *state_, *events_, *drops_, *sampling_, *file_, *torch_, *simulated_;
  bool small_ = false;
};

/// The run's state in words: "Running, step 214".
[[nodiscard]] QString stateText(const RunControl& run);

}  // namespace highwater::app
