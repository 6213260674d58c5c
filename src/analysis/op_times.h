#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/live_store.h"
#include "analysis/run_summary.h"

namespace highwater::analysis {

/// What all calls of one op took, or what all ops of one module did.
struct OpTime {
  std::string op;      ///< with namespace; empty in totals by module
  std::string module;  ///< its path; of an op the module with most of its self time; may be empty
  std::uint64_t count = 0;
  /// Of them those of steps: in a phase, so none of an evaluation; all where nothing has a phase.
  std::uint64_t inSteps = 0;
  /// Host time, that of nested ops included; 0 in totals by module, where it would count twice.
  std::int64_t totalNs = 0;
  std::int64_t selfNs = 0;           ///< host time less that of nested ops
  std::uint64_t mostGrownBytes = 0;  ///< that one call left current allocated larger by
};

/// The recorded ops of a range.
struct OpTimes {
  std::uint64_t steps = 0;             ///< that ops were recorded in
  std::int64_t selfNs = 0;             ///< of all ops together
  bool partial = false;                ///< the store forgot ops of the range before they counted
  std::vector<OpTime> byOp, byModule;  ///< by self time, longest first
};

/// Counts the ops that begin in the range. One that the store has forgotten is not counted.
[[nodiscard]] OpTimes opTimesIn(const LiveStore& store, const TimeRange& range);

/// The totals of a whole run that still grows: asking again costs what came since the last time.
class RunningOpTimes {
 public:
  explicit RunningOpTimes(const LiveStore* store);
  ~RunningOpTimes();

  /// Of every op, also of those that the store has forgotten since.
  [[nodiscard]] OpTimes update();
  /// The store holds another run.
  void reset();

 private:
  struct Counted;
  const LiveStore* store_;
  std::unique_ptr<Counted> counted_;
};

}  // namespace highwater::analysis
