#pragma once

#include <QWidget>

#include "models/value_rows.h"

class QLabel;
class QSpinBox;

namespace highwater::models {
class TuningState;
}

namespace highwater::views {

/// What the chosen setting would take, before it is applied: the predicted peak of driver memory
/// with its bounds, on a bar up to the high watermark, and the largest settings that are safe.
class PredictedPeak final : public QWidget {
  Q_OBJECT

 public:
  /// `state` is not owned and must outlive the widget.
  explicit PredictedPeak(models::TuningState* state, QWidget* parent = nullptr);

 private:
  class Bar;

  void showPrediction();
  void showSafe(bool provisional);

  models::TuningState* state_;
  QLabel *title_, *bounds_, *peak_, *of_, *afresh_, *warning_;
  QWidget* warningLine_;  ///< the warning, or what a fresh process takes
  Bar* bar_;
  models::ValueRows rows_;
  QWidget* table_;
  QWidget* reserveRow_;
  QSpinBox* reserve_;
};

}  // namespace highwater::views
