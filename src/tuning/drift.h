#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace highwater::tuning {

/// How far some values are from those that were expected.
struct ErrorSize {
  std::int64_t elements = 0;
  double maxAbs = 0;
  /// Largest |error| / max(|expected value|, root mean square of the tensor).
  double maxRel = 0;
  double rmsError = 0, rmsExpected = 0;  ///< root mean squares
  std::int64_t nonFinite = 0;            ///< finite on one side only
};

/// The error of a module's outputs, or of the gradients of its parameters.
struct ModuleDrift {
  std::string module;                 ///< path; empty: the whole model
  ErrorSize mps;                      ///< of MPS against the CPU
  std::optional<ErrorSize> rounding;  ///< of the CPU against float64
};

/// The loss of a batch, as each has computed it. NaN where it is not finite.
struct LossOfBatch {
  double cpu = 0, mps = 0;
  std::optional<double> float64;
};

/// The same model with the same weights and batches, on the CPU, on MPS, and in float64.
struct Drift {
  std::string cpuPrecision, mpsPrecision;
  std::string noFloat64;  ///< why there is no float64; empty: there is
  std::vector<LossOfBatch> losses;
  std::vector<ModuleDrift> outputs;    ///< in the order in which the modules first ran
  std::vector<ModuleDrift> gradients;  ///< in the order of the parameters
};

/// What a difference between the devices means for the loss.
enum class DriftVerdict {
  kUnknown,   ///< it cannot be told
  kEqual,     ///< no bit differs
  kRounding,  ///< no more than rounding explains
  kBeyond,    ///< more than that, but small beside how the loss differs from batch to batch
  kMatters,   ///< more than both, or not finite on MPS alone
};

/// How many times its own rounding a value may be off: both devices round, which makes √2 of it;
/// they add in different orders; and the rounding is itself estimated from a few batches.
inline constexpr double kRoundingFactor = 4;
/// A difference below this share of the spread between batches is below 1 % of its variance.
inline constexpr double kNoticedShare = 0.1;

/// How the verdict about the loss came about.
struct DriftJudgement {
  DriftVerdict verdict = DriftVerdict::kUnknown;
  double difference = 0;  ///< largest |loss on MPS - loss on the CPU| of a batch
  double relative = 0;    ///< the same, of the CPU's loss
  /// How far rounding alone moves the loss: the root mean square, over the batches, of the CPU's
  /// error against float64, and at least the loss times the unit roundoff.
  double rounding = 0;
  double threshold = 0;    ///< kRoundingFactor · rounding
  double batchSpread = 0;  ///< standard deviation of the CPU's loss between batches
  /// The first module, in the order of the forward pass, whose outputs are off by more than
  /// rounding explains; nullopt: none.
  std::optional<std::string> firstBeyond;
};

/// The unit roundoff of a type, which is half the distance from 1 to the next number: 2^-24 of
/// "float32", 2^-8 of "bfloat16", 2^-11 of "float16". 0 for an unknown one.
[[nodiscard]] double unitRoundoff(std::string_view type);

/// Whether a module is off by more than kRoundingFactor times its rounding: that of the CPU against
/// float64, and at least the unit roundoff of `type`, both as root mean squares.
[[nodiscard]] bool isBeyondRounding(const ModuleDrift& module, std::string_view type);

/// Judges what the drift means for the loss.
[[nodiscard]] DriftJudgement judgeDrift(const Drift& drift);

/// The key of a verdict in JSON: "rounding".
[[nodiscard]] std::string_view driftVerdictKey(DriftVerdict verdict);

}  // namespace highwater::tuning
