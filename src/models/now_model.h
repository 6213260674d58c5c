#pragma once

#include <vector>

#include "analysis/live_store.h"
#include "models/value_rows.h"

namespace highwater::models {

/// The run's current values: memory, GPU, system and steps.
class NowModel final : public ValueRows {
  Q_OBJECT

 public:
  /// The number of newest steps that step time and throughput are computed from.
  static constexpr std::size_t kRecentSteps = 50;
  /// On a device with a queue, step time and throughput need as many steps since the last change.
  static constexpr std::size_t kLeastSteps = 3;

  /// Shows the values of `store`, which is not owned and must outlive the model.
  explicit NowModel(const analysis::LiveStore* store, QObject* parent = nullptr);
  /// Reads the current values from the store.
  void refresh();
  /// Leaves out the rows that are shown elsewhere too (`on` true), for small windows.
  void setShort(bool on);

 private:
  void addMemory(std::vector<Row>& rows) const;
  void addGpu(std::vector<Row>& rows) const;
  void addSystem(std::vector<Row>& rows) const;
  void addMachine(std::vector<Row>& rows) const;
  void addSteps(std::vector<Row>& rows) const;

  const analysis::LiveStore* store_;
  bool short_ = false;
};

}  // namespace highwater::models
