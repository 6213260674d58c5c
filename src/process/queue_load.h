#pragma once

#include <ATen/core/Tensor.h>

namespace highwater::process {

/// Work that keeps the MPS device busy for about a given time: products of square matrices. Uses
/// only interfaces that real MPS has, and no random numbers.
class QueueLoad {
 public:
  /// Finds how many matrix products take `targetMs` milliseconds, by doubling them until they take
  /// kMeasuredMs. The matrices grow too, until a product takes long compared with queueing it.
  /// Leaves the queue empty. Throws what PyTorch throws.
  explicit QueueLoad(double targetMs);
  /// Queues the work; does not wait.
  void submit();
  /// The number of matrix products that submit() queues.
  [[nodiscard]] int count() const { return count_; }
  /// The rows and columns of a matrix.
  [[nodiscard]] std::int64_t side() const { return a_.size(0); }
  /// How long the work took when it was measured, in ms: about targetMs.
  [[nodiscard]] double ms() const { return ms_; }

  /// Work as short as this is too short to measure.
  static constexpr double kMeasuredMs = 20;

 private:
  void allocate(std::int64_t side);
  /// The shortest of some trials, in ms.
  [[nodiscard]] double measure(int products, int trials);

  at::Tensor a_, b_, c_;
  int count_ = 1;
  double ms_ = 0;
};

}  // namespace highwater::process
