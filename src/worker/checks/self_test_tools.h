#pragma once

#include <ATen/ATen.h>
#include <ATen/detail/MPSHooksInterface.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "process/queue_load.h"
#include "worker/checks/self_test.h"

/// Tools shared by the checks of the self-test. They use only interfaces that real MPS has.
namespace highwater::worker {

using process::QueueLoad;

/// Returns the options that create a tensor of `type` on the MPS device.
[[nodiscard]] inline at::TensorOptions onMps(at::ScalarType type = at::kFloat) {
  return at::TensorOptions(at::Device(at::kMPS, 0)).dtype(type);
}
/// Returns PyTorch's interface to the MPS device.
[[nodiscard]] inline const at::MPSHooksInterface& mpsHooks() {
  return at::detail::getMPSHooks();
}
/// Blocks until the MPS device has done all queued work.
inline void synchronizeMps() {
  mpsHooks().deviceSynchronize();
}

/// Returns the time since `begin` in milliseconds.
[[nodiscard]] inline double msSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

/// Repeats a check until it passes, at most five times, and returns the best result. For checks
/// that a busy machine can make fail but cannot make pass.
[[nodiscard]] CheckResult bestOf(const std::function<CheckResult()>& check);

/// An op, or a node of the backward pass, as a RecordFunction callback sees it.
struct SeenOp {
  std::string name;
  const void* namePointer = nullptr;
  bool isNode = false;  ///< a node of the backward pass
  std::int64_t sequence = -1;
  std::uint64_t thread = 0;  ///< RecordFunction's number
  std::uint64_t forwardThread = 0;
  int parent = -1;  ///< index of the op around it on its thread
  std::size_t inputs = 0;
  std::size_t outputs = 0;  ///< results in its schema; 0 without a schema
};

/// Runs `program` and returns the ops of all threads, in the order in which they began. Only one
/// call at a time.
[[nodiscard]] std::vector<SeenOp> traceOps(const std::function<void()>& program);

/// Returns the index of the first op named `name`; -1 where there is none.
[[nodiscard]] int findOp(const std::vector<SeenOp>& ops, const std::string& name);
/// Returns how many ops named `name` are direct children of an op named `parent`.
[[nodiscard]] int countChildren(const std::vector<SeenOp>& ops, const std::string& parent,
                                const std::string& name);

}  // namespace highwater::worker
