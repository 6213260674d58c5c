#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace highwater::analysis {

struct CheckedSteps;
class LiveStore;

/// What limits the speed of a training.
enum class Bottleneck : std::uint8_t {
  kUnknown,
  kDevice,       ///< it is busy nearly all the time
  kHost,         ///< the device waits for it
  kTurns,        ///< each waits for the other
  kOutsideSteps  ///< less than half of the time belongs to steps
};
/// The name of a bottleneck for programs, as in JSON: "outside_steps".
[[nodiscard]] std::string_view bottleneckKey(Bottleneck bottleneck);

/// Who is the bottleneck, in one sentence. It is an estimate where the device's idle time is one.
struct Verdict {
  Bottleneck bottleneck = Bottleneck::kUnknown;
  /// "The device is the bottleneck: busy for 93 to 99 % of a step."; empty where nothing is known.
  std::string text;
};

/// Judges the steps by the account of their time and the device's estimated idle time. The newest
/// steps speak for all. Without a verdict on the CPU, and where waits were not recorded.
[[nodiscard]] Verdict verdictOn(const CheckedSteps& steps);
/// What is known before there are enough steps for one, as steps that take minutes each are seldom
/// waited for: the device's largest work. Empty where that is not known.
[[nodiscard]] Verdict earlyVerdict(const LiveStore& store);

}  // namespace highwater::analysis
