#pragma once

#include <optional>
#include <vector>

#include "models/column_model.h"
#include "tuning/sweep.h"

namespace highwater::models {

/// A row of SweepModel: a setting and its place in the order of measuring, from 1.
struct SweepRow {
  std::size_t number = 0;
  tuning::SweptSetting swept;
};

/// A table model of the settings that a sweep measured, in the order of measuring, and of those
/// that it left out.
class SweepModel final : public ColumnModel<SweepRow> {
  Q_OBJECT

 public:
  /// The columns of the table. kPredicted and kAtMost are of driver memory, before it was measured.
  enum Column {
    kNumber,
    kSetting,
    kPredicted,
    kAtMost,
    kDriver,
    kError,
    kStepMs,
    kTokensPerS,
    kWhy
  };

  explicit SweepModel(QObject* parent = nullptr);

  /// Shows the settings of a sweep; none without one.
  void refresh(const std::optional<tuning::Sweep>& sweep);
  /// Precondition: the row exists.
  [[nodiscard]] tuning::Setting settingOf(int row) const;

 private:
  [[nodiscard]] QString whyText(const tuning::SweptSetting& swept) const;

  std::optional<tuning::Setting> best_;
};

}  // namespace highwater::models
