#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/live_store.h"

namespace highwater::analysis {

/// The bounds of a share of a step's work, 0 to 1.
struct DeviceWorkShare {
  double low = 0, high = 0;
};

/// What the device does for one line of the user's code or, where no line is known, for one op in
/// one module: forward and backward together.
struct DeviceWorkPlace : DeviceWorkShare {
  CallSiteParts site;            ///< empty where unknown
  std::string module;            ///< path of the largest op's module; empty outside of modules
  std::string op;                ///< the largest op, without "aten::"
  std::string shapes;            ///< of its arguments, as in "[16, 64] int64"
  std::vector<std::string> ops;  ///< the names of all, in alphabetical order
  std::uint32_t calls = 0;       ///< of all ops
  std::uint64_t bytes = 0;       ///< read and written
  std::uint64_t flops = 0;       ///< floating-point operations
  double opLow = 0;              ///< lower bound of the largest op's share, 0 to 1
};

/// What takes the device's time in one step or one evaluation, estimated from the sizes of its ops.
struct DeviceWork {
  std::uint32_t step = 0;               ///< 0: an evaluation
  std::vector<DeviceWorkPlace> places;  ///< the largest first
  bool measured = false;                ///< the bounds of a place are those of waitedOps()
};

/// A device that is told to be the bottleneck is surely busy for this share of the time, 0 to 1.
inline constexpr double kLeastBusyShare = 0.7;

/// Estimates the shares from the sizes that the probe has counted (events::OpWork). An op is
/// assumed to take as long as it moves its bytes or does its arithmetic, whichever is longer, and a
/// fixed time beside. A GPU does between 8 and 100 operations in the time of one byte, and the
/// fixed time is that of up to 1 MiB. The shares hold for all of these: they are no measured times.
///
/// Apple's GPUs do 33 to 38 (float32) by Apple's figures for memory bandwidth and the published
/// clock and core counts (M1 2.6 TFLOPS at 68 GB/s, M4 Max 18.4 at 546, M3 Ultra 28.6 at 819); an
/// M5's tensor units do some four times as many. Kernels reach less than either limit, and what
/// fits the caches moves faster. The simulated device computes on a core of the CPU, which does 2
/// to 20, and its calls take less.
///
/// A line of which waitedOps() has measured more than its sizes allow has the measured bounds.
[[nodiscard]] DeviceWork estimateDeviceWork(const LiveStore& store);
/// The same of what a script's evaluation has the device do, its metrics included.
[[nodiscard]] DeviceWork estimateEvaluationWork(const LiveStore& store);

/// A line for which the device does more in a later step than in an early one.
struct GrowingLine {
  DeviceWorkPlace place;         ///< as in the later step
  std::uint64_t firstBytes = 0;  ///< that the line read and wrote in the early step
};

/// What the work of a step grows by, from one step to another.
struct GrowingWork {
  std::uint32_t firstStep = 0, laterStep = 0;
  GrowingLine most;                   ///< with most of the growth
  std::optional<GrowingLine> joined;  ///< that joins tensors without gradients: cat(), stack()

  /// The line to change.
  [[nodiscard]] const GrowingLine& line() const { return joined ? *joined : most; }
};

/// How many times as large as an early step's batch a later one's may be, where what has grown is
/// looked for.
inline constexpr double kMostLargerBatch = 1.1;

/// Finds the lines that have what the work of a script's step has grown by. std::nullopt where the
/// work has hardly grown, on one of the devices that estimateDeviceWork() assumes, where the later
/// step has a larger batch or one of them is not known, or where none was counted yet.
[[nodiscard]] std::optional<GrowingWork> growingWork(const LiveStore& store);

/// Estimates the share of the forward pass of a module and all below it. `path` is that of the
/// module.
[[nodiscard]] DeviceWorkShare deviceWorkShare(const LiveStore& store, std::string_view path);

/// Estimates the share of all that runs in backward, and in torch.autograd.grad().
[[nodiscard]] DeviceWorkShare backwardWorkShare(const LiveStore& store);

/// As much work as how many steps an evaluation has, by sizes: the upper bound. Infinite where one
/// of the two was not counted, or not to its end.
[[nodiscard]] double mostStepsLikeEvaluation(const LiveStore& store);

/// Weights that a parametrization computes from the same parameters more than once in a step, as
/// where a recurrent cell with weight_norm is called for each time step. The share is that of all
/// times but the first.
struct RepeatedWeights : DeviceWorkShare {
  CallSiteParts site;       ///< that has most of it
  std::string module;       ///< path of the module whose weights these are; of several the largest
  std::size_t modules = 0;  ///< 0 where there are none
  std::uint32_t times = 0;  ///< that the weights of that module are computed in a step
};

/// Estimates what is computed again, from the sizes that the probe has counted. With `calls` calls
/// of the model in a step, up to as many times are none. A parametrization is a module below its
/// owner's "parametrizations" (torch/nn/utils/parametrize.py); the older
/// torch.nn.utils.weight_norm has an op of its own.
[[nodiscard]] RepeatedWeights repeatedWeights(const LiveStore& store, std::uint32_t calls);

/// Returns the bounds of a share for people: "61 to 70 %".
[[nodiscard]] std::string shareText(const DeviceWorkShare& share);
/// Returns a place's largest op: "addmm in head of [64, 256] float32, [256, 50257] float32".
[[nodiscard]] std::string largestOpText(const DeviceWorkPlace& place);
/// Returns what grows: "train.py:31 (mostly cat) reads and writes 1.2 MiB in step 3, 9.4 MiB in
/// step 23".
[[nodiscard]] std::string growingWorkText(const GrowingWork& work);
/// The largest places in a sentence about the device: "By the sizes of its ops in step 3, its
/// largest work is train.py:52, 61 to 70 % (mostly addmm in head)." Empty where no place has a
/// large share.
[[nodiscard]] std::string largestWorkText(const DeviceWork& work);
/// The places of that sentence alone: "train.py:52, 61 to 70 % (mostly addmm in head)".
[[nodiscard]] std::string largestPlacesText(const DeviceWork& work);

}  // namespace highwater::analysis
