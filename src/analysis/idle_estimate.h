#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/host_timeline.h"

namespace highwater::analysis {

/// What the host did while the device had nothing to do.
enum class IdleCause : std::uint8_t {
  BatchAssembly,
  DeviceMove,
  Fallback,     ///< the CPU's part of one
  Reading,      ///< values were read and shown
  Queueing,     ///< ops came slower than the device ran them
  Evaluation,   ///< the held-out set, between two steps
  BetweenSteps  ///< anything else there
};
inline constexpr std::size_t kIdleCauses = 7;
/// "batch assembly"
[[nodiscard]] std::string_view idleCauseName(IdleCause cause);
/// "batch_assembly", for programs.
[[nodiscard]] std::string_view idleCauseKey(IdleCause cause);

/// How long the device had nothing to do, in ms: surely `low`, at most `high`, probably `probable`.
struct IdleTime {
  double low = 0, probable = 0, high = 0;

  void operator+=(const IdleTime& other) {
    low += other.low;
    probable += other.probable;
    high += other.high;
  }
};

/// A step from its begin to the next one's.
struct StepIdle {
  std::uint32_t step = 0;
  double ms = 0;
  IdleTime total;
  std::array<IdleTime, kIdleCauses> byCause;  ///< by IdleCause
};

struct CauseOfIdle {
  IdleCause cause = IdleCause::Queueing;
  IdleTime p50;    ///< a step
  IdleTime total;  ///< of all steps
};

struct IdleSummary {
  std::vector<StepIdle> steps;      ///< all but the first
  double stepMsP50 = 0;             ///< from one step's begin to the next
  IdleTime p50;                     ///< medians of the steps
  std::vector<CauseOfIdle> causes;  ///< the longest a step first; without those that never were
};

/// Estimates when the device starved: real MPS tells nobody when it is idle. What is known:
///   - At the end of a drain (see Stretch) it has nothing to do, until the host queues something.
///     Assembling a batch and a fallback on the CPU queue nothing: idle for sure. So does, in a run
///     with phases, what is in none of them. Reading and logging, an evaluation's code and what a
///     run without phases does between its steps may: probably idle.
///   - While the host queues, the device may keep up or not. If the wait that follows is near zero
///     the device had done all that came, and starved for up to the whole time; how long is not
///     known: half is taken. If the host had to wait, the device was behind, and hardly starved.
///   - After the last op of a step it works on, until the end of the step's device span, which is
///     exact, or to the end of a wait that is not near zero. Where there is neither it is thought
///     to take the run's median span.
/// Empty for the CPU, and without three steps.
[[nodiscard]] IdleSummary estimateIdle(const LiveStore& store);

}  // namespace highwater::analysis
