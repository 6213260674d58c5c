#pragma once

#include <ATen/ATen.h>
#include <ATen/detail/MPSHooksInterface.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "worker/self_test.h"

/// What the checks of the self-test share. Only interfaces that real MPS has.
namespace highwater::worker {

[[nodiscard]] inline at::TensorOptions onMps(at::ScalarType type = at::kFloat) {
  return at::TensorOptions(at::Device(at::kMPS, 0)).dtype(type);
}
[[nodiscard]] inline const at::MPSHooksInterface& mpsHooks() {
  return at::detail::getMPSHooks();
}
inline void synchronizeMps() {
  mpsHooks().deviceSynchronize();
}

[[nodiscard]] inline double msSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

/// The best that came of a check which a busy machine can make fail, but cannot make pass: tried
/// again until it passes, a few times at most.
[[nodiscard]] CheckResult bestOf(const std::function<CheckResult()>& check);

/// Work for the device's queue: products of matrices, enough of them to take a while.
class QueueLoad {
 public:
  /// Measures a product and settles how many make `targetMs`. Leaves the queue empty.
  explicit QueueLoad(double targetMs);
  /// Queues the work; does not wait.
  void submit();
  [[nodiscard]] int count() const { return count_; }

 private:
  at::Tensor a_, b_, c_;
  int count_ = 1;
};

/// An op or node of backward as a RecordFunction callback sees it.
struct SeenOp {
  std::string name;
  const void* namePointer = nullptr;
  bool isNode = false;  ///< of backward
  std::int64_t sequence = -1;
  std::uint64_t thread = 0;  ///< RecordFunction's number
  std::uint64_t forwardThread = 0;
  int parent = -1;  ///< index of the op around it on its thread
  std::size_t inputs = 0;
  std::size_t outputs = 0;  ///< that its schema names; 0 where it has none
};

/// Everything that runs while `program` does, on all threads, in the order in which it began.
[[nodiscard]] std::vector<SeenOp> traceOps(const std::function<void()>& program);

/// Index of the first op of that name; -1 where there is none.
[[nodiscard]] int findOp(const std::vector<SeenOp>& ops, const std::string& name);
/// How many ops of that name are direct children of an op named `parent`.
[[nodiscard]] int countChildren(const std::vector<SeenOp>& ops, const std::string& parent,
                                const std::string& name);

}  // namespace highwater::worker
