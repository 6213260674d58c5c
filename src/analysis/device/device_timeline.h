#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "analysis/span_index.h"

namespace highwater::analysis {

class LiveStore;

/// What the device did over time: the device spans of steps, which are measured, and when the
/// device was busy, which is estimated by the rules of estimateIdle(). It is built while the run
/// grows: an update costs as much as the steps that are new, and the last few, whose device spans
/// arrive late. Not thread-safe.
class DeviceTimeline {
 public:
  /// The categories of activity(). Between its spans, from beginNs() to endNs(), the device was
  /// probably idle.
  enum Activity : std::uint8_t {
    kBusy = 1,
    kHalfBusy = 2,  ///< the device kept up with the host, which queued ops: idle for half of it
  };
  /// The categories of stepSpans(): whether the place of the device span is known too, or only its
  /// length, which always is measured.
  enum Place : std::uint8_t { kPlaced = 1, kPlaceEstimated = 2 };

  /// Takes what the store has got since the last update. Always of the same store; if that has been
  /// cleared, it starts over.
  void update(const LiveStore& store);

  /// When the device was probably busy; the category is an Activity, the payload the row of a step.
  [[nodiscard]] const SpanIndex& activity() const { return activity_; }
  /// The device spans of steps; the category is a Place, the payload the row of the step.
  [[nodiscard]] const SpanIndex& stepSpans() const { return stepSpans_; }
  /// Whether anything is known about activity.
  [[nodiscard]] bool knowsActivity() const { return endNs_ > beginNs_; }
  /// Activity is known in [beginNs(), endNs()): from the first step to the last wait that emptied
  /// the queue.
  [[nodiscard]] std::int64_t beginNs() const { return beginNs_; }
  [[nodiscard]] std::int64_t endNs() const { return endNs_; }

  /// The estimated share of [beginNs, endNs) in which the device was busy, of the part of it that
  /// is known. std::nullopt if nothing of it is.
  [[nodiscard]] std::optional<double> busyShare(std::int64_t beginNs, std::int64_t endNs) const;

 private:
  class Builder;

  SpanIndex activity_, stepSpans_;
  std::int64_t beginNs_ = 0, endNs_ = 0;
  std::uint64_t revision_ = 0;
  // What comes before these is settled; the rest is built anew by each update.
  std::size_t resumeStep_ = 0;  ///< the first step to read again, in order of time
  std::int64_t resumeNs_ = std::numeric_limits<std::int64_t>::min();  ///< the end of a drain
  std::size_t resumeSpanStep_ = 0;  ///< the first step whose device span may change
  std::size_t settledActivity_ = 0, settledStepSpans_ = 0;
  double medianSpanMs_ = 0;  ///< of the steps that were built last
};

}  // namespace highwater::analysis
