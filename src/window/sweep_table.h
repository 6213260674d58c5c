#pragma once

#include <QObject>

#include "models/sweep_model.h"

class QWidget;

namespace highwater::models {
class TuningState;
}
namespace highwater::views {
class EventTable;
}

namespace highwater::window {

class BottomTables;

/// The table of the settings that a sweep has measured: a page of the tables at the bottom, as long
/// as the recording holds a sweep.
class SweepTable final : public QObject {
  Q_OBJECT

 public:
  /// Nothing is owned; both must outlive this object.
  SweepTable(const models::TuningState* state, BottomTables* tables, QWidget* parent);

 signals:
  /// The user picked the row of a setting.
  void settingPicked(highwater::tuning::Setting setting);

 private:
  void refresh();

  const models::TuningState* state_;
  BottomTables* tables_;
  models::SweepModel model_;
  views::EventTable* view_;
  bool sweeps_ = false;  ///< at the last refresh
};

}  // namespace highwater::window
