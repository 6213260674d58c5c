#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "analysis/device/host_timeline.h"
#include "core/turns.h"

namespace highwater::analysis {

/// What the host did while the device was idle.
enum class IdleCause : std::uint8_t {
  BatchAssembly,
  DeviceMove,
  Fallback,      ///< the part that runs on the CPU
  Reading,       ///< reading and logging values
  Queueing,      ///< the host queued ops more slowly than the device ran them
  Evaluation,    ///< on the held-out set, between two steps
  BetweenSteps,  ///< anything else between two steps
  OwnWork        ///< in a step, but outside of its phases; Queueing where these are not known
};
/// The number of values of IdleCause.
inline constexpr std::size_t kIdleCauses = 8;
/// The name of a cause of idle time for people: "batch assembly".
[[nodiscard]] std::string_view idleCauseName(IdleCause cause);
/// The name of a cause of idle time for programs, as in JSON: "batch_assembly".
[[nodiscard]] std::string_view idleCauseKey(IdleCause cause);

/// An estimate of idle time in milliseconds, with a lower and an upper bound.
struct IdleTime {
  double low = 0, probable = 0, high = 0;

  void operator+=(const IdleTime& other) {
    low += other.low;
    probable += other.probable;
    high += other.high;
  }
};

/// Bounds of the idle time that are further apart than this share of a step, 0 to 1, tell nothing.
inline constexpr double kUnknownIdleShare = 0.9;

/// How long the device was idle during one step, in total and by cause. The step lasts here from
/// its beginning to the beginning of the next, which takes `ms` milliseconds.
struct StepIdle {
  std::uint32_t step = 0;
  double ms = 0;
  IdleTime total;
  std::array<IdleTime, kIdleCauses> byCause;  ///< indexed by IdleCause
};

/// The device's idle time for one cause, in milliseconds.
struct CauseOfIdle {
  IdleCause cause = IdleCause::Queueing;
  IdleTime p50;    ///< median per step
  IdleTime total;  ///< of all steps
};

/// The device's estimated idle time of a run: per step, as medians, and by cause.
struct IdleSummary {
  std::vector<StepIdle> steps;      ///< all but the first
  double stepMsP50 = 0;             ///< median of StepIdle::ms
  IdleTime p50;                     ///< medians of the steps
  std::vector<CauseOfIdle> causes;  ///< largest per step first; only those that occurred
};

/// Estimates when the device was idle, which real MPS does not report. A drain is a wait that ends
/// with an empty device queue, and a wait up to kNearZeroWaitNs is near zero. The rules:
///   - After a drain the device is idle until the host queues something. Batch assembly, device
///     moves and fallbacks on the CPU queue nothing, so the device is certainly idle; in a run with
///     phases that holds for all time outside of them too. Logging, evaluation and, in a run
///     without phases, the time between steps may queue something: probably idle.
///   - While the host queues ops, the device may or may not keep up. If the following wait is near
///     zero, the device had finished everything and was idle for some part of that time; the
///     estimate takes half of it. If the host had to wait, the device was behind and hardly idle.
///   - After the last op of a step the device works until the end of the step's device span, which
///     is exact, or until the end of a wait that is not near zero. If there is neither, the run's
///     median span is assumed.
///   - Up to kNearZeroWaitNs of each wait may be the time until the host hears of its end. This
///     raises the upper bound. Where waits follow one another at once, as in a loop that copies
///     tensor by tensor, what most of them take is probably idle in each.
///   - Before the first drain and after the last one nothing tells when the device worked: it may
///     have been idle all the time. The estimate takes none of it.
/// These are the rules for a device that begins queued work at once (WorkStart::kEager). Where
/// it is deferred, the device is probably idle from a drain to the next commit, while the host
/// queues ops and after the last one: until the wait, or until the end of a step with a device
/// span, whose event commits. It may still begin earlier, since MPSGraph commits by itself, so
/// the lower bound stays; and up to kNearZeroWaitNs of a wait may pass before its commit has
/// begun. Where it is not known, the estimate is that of a device that begins at once, with an
/// upper bound that holds for both.
///
/// Empty for a run on the CPU and for fewer than three steps. Only steps from `firstStep` to
/// `lastStep` count.
[[nodiscard]] IdleSummary estimateIdle(
    const LiveStore& store, std::uint32_t firstStep = 0,
    std::uint32_t lastStep = std::numeric_limits<std::uint32_t>::max());

/// The same in turns. Steps may be added to the store between them, and do not count.
[[nodiscard]] Turns<IdleSummary> estimateIdleInTurns(const LiveStore& store,
                                                     std::uint32_t firstStep,
                                                     std::uint32_t lastStep);

}  // namespace highwater::analysis
