#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace highwater::worker {

/// One measurement of some calls, which begins and ends with an idle device. Milliseconds.
struct Measurement {
  double submittedMs = 0;  ///< until the last call returned to the host
  double doneMs = 0;       ///< until the device had done all of it
};

/// Something that can be called and waited for, on one device.
struct TimedProgram {
  std::function<void()> call;
  std::function<void()> synchronize;
};

/// The measurements of one of the two programs.
struct TimedSide {
  double firstMs = 0;                     ///< of the first call, in which kernels are compiled
  std::uint32_t warmUpCalls = 0;          ///< which are not measured, the first one among them
  std::vector<Measurement> measurements;  ///< two of each round
};

/// How much is measured.
struct TimingPlan {
  std::uint32_t calls = 1;  ///< of a measurement
  std::uint32_t rounds = 1;
  bool allRounds = false;  ///< even where they take long
};

/// The measurements of both programs.
struct Timing {
  TimedSide a, b;
};

/// Warms up both programs and then measures them in rounds A B B A, so that a machine that gets
/// slower or faster meanwhile affects both alike. Without TimingPlan::allRounds it ends after 20 s
/// if at least three rounds are done: an end that does not depend on which program is faster.
/// `progress` is called before each measurement, with its number and that of all planned ones.
[[nodiscard]] Timing timePrograms(
    const TimedProgram& a, const TimedProgram& b, const TimingPlan& plan,
    const std::function<void(std::uint32_t, std::uint32_t)>& progress);

}  // namespace highwater::worker
