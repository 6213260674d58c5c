#include "window/sweep_table.h"

#include <utility>

#include "models/tuning_state.h"
#include "views/panels/event_table.h"
#include "window/bottom_tables.h"

namespace highwater::window {

SweepTable::SweepTable(const models::TuningState* state, BottomTables* tables, QWidget* parent)
    : QObject(parent), state_(state), tables_(tables), view_(new views::EventTable(parent)) {
  using models::SweepModel;
  view_->setObjectName(QStringLiteral("sweepTable"));
  view_->setAccessibleName(tr("Settings of the sweep"));
  view_->setModel(&model_);
  view_->setColumnWidths({36, 92, 88, 88, 96, 84, 74, 78});
  view_->setNaturalOrder(SweepModel::kNumber, Qt::AscendingOrder);
  view_->setEmptyText(tr("The first setting is being measured"));
  view_->hide();
  connect(view_, &views::EventTable::rowPicked, this,
          [this](int row) { emit settingPicked(model_.settingOf(row)); });
  connect(state_, &models::TuningState::changed, this, &SweepTable::refresh);
  connect(state_, &models::TuningState::sweepingChanged, this, &SweepTable::refresh);
}

void SweepTable::refresh() {
  model_.refresh(state_->sweep());
  const bool sweeps = state_->sweeps();
  tables_->showExtraPage(view_, tr("Sweep"), sweeps || state_->sweep().has_value());
  if (sweeps && !std::exchange(sweeps_, sweeps)) tables_->bringToFront(view_);
  sweeps_ = sweeps;
}

}  // namespace highwater::window
