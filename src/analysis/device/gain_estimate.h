#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "analysis/device/host_timeline.h"
#include "analysis/run_summary.h"
#include "core/turns.h"

namespace highwater::analysis {

/// What a fix would save, in ms a step: an estimate with a lower and an upper bound.
struct Gain {
  double low = 0, estimate = 0, high = 0;
};

/// What a fix would change about the host's time line. Everything else stays as it was recorded.
struct Fix {
  /// The waits and fallbacks that the fixed training does not have, whole, in order of time.
  std::vector<TimeRange> removed;
  /// Ranges in which the fixed training does nothing, as an upper bound: some of their work may
  /// still be needed. In order of time.
  std::vector<TimeRange> leftOut;
  /// The share of the gain, 0 to 1, that can be had, for its estimate and lower bound. Half of
  /// what queueing takes: as much as twice the batch saves for each sample.
  double attainable = 1;
  /// The longest that a span of host work may last, in ns, by HostWork: 0 if it is no longer done
  /// on the training thread.
  std::array<std::int64_t, kHostWorks> longestNs = unlimited();

  /// Leaves out all work of one kind.
  void remove(HostWork work) { longestNs[static_cast<std::size_t>(work)] = 0; }
  /// Makes this fix the two together.
  void add(const Fix& other);

  [[nodiscard]] static constexpr std::array<std::int64_t, kHostWorks> unlimited() {
    std::array<std::int64_t, kHostWorks> all{};
    all.fill(std::numeric_limits<std::int64_t>::max());
    return all;
  }
};

/// Estimates what a fix would gain, by replaying the recorded time line with and without it.
///
/// A wait is not a loss by itself: while the host waits, the device works off what is queued, and
/// without the wait the host would wait for the same work a little later. Only time in which the
/// device had nothing to do can be saved. The replay is a queue with one server:
///
///     host work of h ms that queues w ms of device work:  T += h;  b = max(b + w - h, 0)
///     a drain:                                            T += b + l;  b = 0
///     another wait of d ms, such as for an event:         T += d;  b = max(b - d, 0)
///
/// where T is the time, b the backlog of the device (at the end it is added to T), and l what the
/// drain took in the recording beyond the backlog: the time to commit and to notify. The gain of a
/// fix is T of the recording less T without the waits and the host work that the fix removes. As T
/// of the recording is the time that the device was busy and the time that it was idle, and the
/// fixed training still has to do the device's work, a gain is at most the idle time that its cause
/// explains.
///
/// The device's work between two drains is their distance less the idle time that IdleRules gives;
/// on a device that begins at once it is queued evenly over the spans in which the host queues,
/// after the first kRestartNs of them, in which the device that had nothing to do gets its first
/// work. Assumptions:
///   - The device works at the same speed with and without the fix, and so does the host. On the
///     simulated device both share the machine's cores.
///   - An op that no longer falls back takes no device time (estimate), or as much as it took on
///   the
///     CPU (lower bound).
///   - Host work that is removed runs on another thread or not at all.
///   - Where the device begins its work only when it is committed, it begins at the drain, and does
///     nothing while work is queued. Where that is not known, the bounds contain this case.
///   - The bounds are those of the idle time: the gains with the least, the probable and the most
///     work of the device; the lower one without what a removed wait took beyond the backlog. How
///     much step times vary by chance is not in the bounds.
class GainEstimator {
 public:
  /// For the steps of the rows [firstRow, lastRow); of more than kMostSteps it looks at as many, in
  /// blocks that are spread evenly. Steps may be added to the store between the turns of read(),
  /// and do not count. The store must outlive the estimator.
  GainEstimator(const LiveStore& store, std::size_t firstRow, std::size_t lastRow);

  /// Reads the recorded time line. To be called once, before anything else.
  Turns<> read();
  /// False if the rows contain no two waits that emptied the queue: then every gain is 0.
  [[nodiscard]] bool known() const { return steps_ > 0; }
  /// The gain of a fix, in ms a step: the mean of the steps. Not negative. Where a fix leaves out
  /// work that may be needed, the estimate is the middle of the gains with and without that work.
  [[nodiscard]] Gain of(const Fix& fix) const;

  static constexpr std::size_t kMostSteps = 4096, kBlocks = 16;
  /// After a drain, how long the device is probably idle while the host queues again, in ns: until
  /// autograd has begun, the first ops are queued and committed, and the device is awake. By the
  /// simulated device's ledger it is 0.2 to 0.6 ms.
  static constexpr double kRestartNs = 250'000;

 private:
  /// How much device work is assumed.
  /// Late: the probable work, but begun only at the drain; the same as kProbable where the device
  /// is known to begin at once.
  enum Work : std::size_t { kLeast, kProbable, kMost, kLate, kWorks };
  using PerWork = std::array<double, kWorks>;

  /// A part of the host's time line.
  struct Part {
    enum class Kind : std::uint8_t { Work, Wait, Drain };
    std::int64_t beginNs = 0;
    double ns = 0;
    Kind kind = Kind::Work;
    HostWork work = HostWork::InStep;
    bool counts = false;  ///< lies in the steps
    PerWork queuedNs{};   ///< the device work that is queued in it
    PerWork beyondNs{};   ///< of a drain: what it took beyond the backlog
  };
  /// The state of a replay: see above.
  struct State {
    double timeNs = 0, backlogNs = 0;
    bool counting = false;

    void begin(const Part& part);
    void end();
    void work(double hostNs, double queuedNs);
    void drain(double beyondNs);
  };
  class Removal;

  /// Rows of steps: [first, last).
  struct Rows {
    std::size_t first = 0, last = 0;
  };
  /// How far the stretches of one timeline are read.
  struct Reading;

  /// Adds the parts of a stretch, with the device work that is queued in them.
  void addStretch(const Stretch& stretch, Reading& reading);
  /// Counts the steps of the blocks that are read.
  void countSteps(const Reading& reading);
  /// The replay without a fix: finds what each drain took beyond the backlog, and the time.
  void replayRecorded();
  /// The time with the fix. `cautious`: as for the lower bound.
  [[nodiscard]] double fixedNs(const Fix& fix, Work work, bool cautious) const;
  /// The gain of a fix, of which all that it leaves out is left out.
  [[nodiscard]] Gain most(const Fix& fix) const;

  const LiveStore& store_;
  std::vector<Rows> blocks_;
  bool shareTimeline_ = false;     ///< all blocks are read from one timeline
  std::int64_t medianSpanNs_ = 0;  ///< of the run
  WorkStart workStart_ = WorkStart::kUnknown;
  double steps_ = 0;  ///< of all blocks, as far as they lie between two drains
  std::vector<Part> parts_;
  PerWork recordedNs_{};
};

}  // namespace highwater::analysis
