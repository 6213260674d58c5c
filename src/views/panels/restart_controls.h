#pragma once

#include <QString>
#include <QWidget>

#include "core/restart_settings.h"

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QLabel;
class QToolButton;

namespace highwater::views {

/// The controls of RestartSettings. During a run, values that are not in use wait for the button
/// Restart, beside which stands what it does; before a run they are what it starts with.
class RestartControls final : public QWidget {
  Q_OBJECT

 public:
  explicit RestartControls(QWidget* parent = nullptr);

  /// The values on screen.
  [[nodiscard]] RestartSettings settings() const;
  /// Tells which values are in use, or which the next run starts with. Shows them in place of what
  /// was chosen, if they are others than before.
  void setInUse(const RestartSettings& settings);
  /// Whether a run is going on.
  void setLive(bool live);
  /// Enables or disables the controls.
  void setChangeable(bool changeable);
  /// Returns to the values in use.
  void undo();

 signals:
  /// The user wants the run to be restarted with the values on screen.
  void restartRequested(const highwater::RestartSettings& settings);
  /// The user changed a value while no run is going on.
  void changed(const highwater::RestartSettings& settings);

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void edited();
  void put(const RestartSettings& settings);
  void showChosen();
  QWidget* addRow(const QString& name, QWidget* control);

  QComboBox* device_;
  QCheckBox* fallback_;
  QDoubleSpinBox *high_, *low_;
  QLabel* caption_ = nullptr;  ///< when the values take effect
  QWidget* notice_;
  QLabel* what_;
  QToolButton *restart_, *undo_;
  RestartSettings inUse_;
  bool live_ = false, changeable_ = true, showing_ = false;
};

}  // namespace highwater::views
