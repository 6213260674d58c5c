#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/live_store.h"
#include "analysis/run_summary.h"

namespace highwater::analysis {

/// The time of all calls of one op, or of all ops of one module.
struct OpTime {
  std::string op;      ///< with namespace; empty in totals by module
  std::string module;  ///< its path; for an op the module with most of its self time; may be empty
  std::uint64_t count = 0;
  /// The part of `count` in the phases of steps, so without evaluations. All if the run has no
  /// phases.
  std::uint64_t inSteps = 0;
  /// Host time with that of nested ops. 0 for a module, where nested ops would count twice.
  std::int64_t totalNs = 0;
  std::int64_t selfNs = 0;           ///< host time without that of nested ops
  std::uint64_t mostGrownBytes = 0;  ///< largest growth of current allocated by one call
};

/// Host times of the ops recorded in a range of time, by op and by module.
struct OpTimes {
  std::uint64_t steps = 0;  ///< steps with recorded ops
  std::int64_t selfNs = 0;  ///< of all ops together
  bool partial = false;     ///< the store dropped ops of the range before they were counted
  std::vector<OpTime> byOp, byModule;  ///< by self time, longest first
};

/// Counts the ops that begin in the range [beginNs, endNs). Ops that the store has dropped are
/// missing; then the result is `partial`.
[[nodiscard]] OpTimes opTimesIn(const LiveStore& store, const TimeRange& range);

/// The times of a run that still grows: each update() only counts the ops added since the last, but
/// for a few thousand.
class RunningOpTimes {
 public:
  /// Counts the ops of `store`, which is not owned and must outlive this object.
  explicit RunningOpTimes(const LiveStore* store);
  ~RunningOpTimes();

  /// Counts some of the new ops, so that counting many does not block the window's thread. Returns
  /// whether more are left; update() and in() count those at once.
  bool countSome();
  /// Counts the new ops and returns the times of the whole run. Includes ops that the store has
  /// dropped after they were counted.
  [[nodiscard]] OpTimes update();
  /// Returns the same as opTimesIn(), in a time that hardly depends on the length of the range: for
  /// a range that the user drags.
  [[nodiscard]] OpTimes in(const TimeRange& range);
  /// Forgets all counts. Call it when the store holds another run.
  void reset();

 private:
  struct Counted;
  const LiveStore* store_;
  std::unique_ptr<Counted> counted_;
};

}  // namespace highwater::analysis
