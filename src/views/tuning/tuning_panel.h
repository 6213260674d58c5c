#pragma once

#include <QWidget>

#include "analysis/live_store.h"
#include "models/value_rows.h"

class QLabel;

namespace highwater::models {
class TuningState;
}

namespace highwater::views {

/// The numbers of tuning: the memory model with its error, and the tensors of the chosen setting by
/// arithmetic alone, beside those of half the batch and half the length.
class TuningPanel final : public QWidget {
  Q_OBJECT

 public:
  /// `store` and `state` are not owned and must outlive the widget.
  TuningPanel(const analysis::LiveStore* store, models::TuningState* state,
              QWidget* parent = nullptr);

 private:
  class FixedBar;

  void showModel();
  void showBudget();
  QLabel* addTitle(const QString& text);
  QLabel* addNote();

  const analysis::LiveStore* store_;
  models::TuningState* state_;
  models::ValueRows modelRows_, budgetRows_, fixedRows_;
  QLabel *confidence_, *budgetTitle_, *arithmetic_, *fixedTitle_;
  FixedBar* fixedBar_;
};

}  // namespace highwater::views
