#pragma once

#include <QWidget>

#include "analysis/live_store.h"
#include "models/value_rows.h"
#include "tuning/tensor_budget.h"

class QLabel;
class QPushButton;
class QVBoxLayout;

namespace highwater::models {
class TuningState;
}

namespace highwater::views {

/// The numbers of tuning: what a sweep recommends, the memory model with its error, and the tensors
/// of the chosen setting by arithmetic alone, beside those of half the batch and half the length.
class TuningPanel final : public QWidget {
  Q_OBJECT

 public:
  /// `store` and `state` are not owned and must outlive the widget.
  TuningPanel(const analysis::LiveStore* store, models::TuningState* state,
              QWidget* parent = nullptr);

  /// Whether a sweep may begin or end now; if not, the button's tooltip says why.
  void setSweepable(bool can, const QString& whyNot);

 signals:
  /// The user starts a sweep.
  void sweepRequested();
  /// The user ends the sweep, which keeps what it has.
  void stopSweepRequested();
  /// The user wants to train with the recommended setting.
  void applyRequested(highwater::tuning::Setting setting);

 private:
  class FixedBar;

  void addSweep();
  void showSweep();
  void showModel();
  void showBudget();
  /// Coefficients and tensor sizes, which most users never need: behind a link.
  void addDetails();
  QLabel* addTitle(const QString& text);
  QLabel* addNote();
  void addRows(models::ValueRows* rows, const QString& name);

  const analysis::LiveStore* store_;
  models::TuningState* state_;
  models::ValueRows modelRows_, formulaRows_, budgetRows_, fixedRows_;
  QVBoxLayout* column_;  ///< what addTitle(), addNote() and addRows() add to
  QLabel *reason_, *budgetTitle_, *modelTitle_, *fixedTitle_;
  QLabel *sweepTitle_, *sweepText_;
  QPushButton *startSweep_, *stopSweep_, *apply_;
  FixedBar* fixedBar_;
};

}  // namespace highwater::views
