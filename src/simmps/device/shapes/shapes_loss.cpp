#include <ATen/core/Reduction.h>

#include "simmps/device/shapes/shapes.h"

namespace highwater::simmps {
namespace {

/// A scalar for reductions mean and sum, else one loss per element, also for invalid reductions.
Layouts perElement(const Layout& loss, const c10::IValue& reduction) {
  const std::int64_t kind = reduction.toInt();
  const bool isReduced = kind == at::Reduction::Mean || kind == at::Reduction::Sum;
  return {isReduced ? zeroDim(loss.dtype) : loss};
}

// (self, target, weight, reduction)
Layouts binaryCrossEntropy(const Stack& arguments) {
  return perElement(like(tensorAt(arguments, 0)), arguments[3]);
}

// (self, target, reduction, delta)
Layouts huberLoss(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 0), target = tensorAt(arguments, 1);
  TORCH_CHECK(arguments[3].toDouble() > 0,
              "huber_loss does not support non-positive values for delta.");
  return perElement(broadcast({self, target}, at::result_type(self, target)), arguments[2]);
}

// (self, target, weight, reduction, ignore_index) -> (output, total_weight)
Layouts nllLoss2d(const Stack& arguments) {
  const at::Tensor self = tensorAt(arguments, 0), target = tensorAt(arguments, 1);
  TORCH_CHECK(self.dim() == 4, "only batches of spatial inputs supported (4D tensors), but got ",
              "input of dimension: ", self.dim());
  TORCH_CHECK(target.dim() == 3, "only batches of spatial targets supported (3D tensors)",
              " but got targets of dimension: ", target.dim());
  const Layout each = contiguous({self.size(0), self.size(2), self.size(3)}, self.scalar_type());
  const Layout total = zeroDim(self.scalar_type());
  return {arguments[3].toInt() == at::Reduction::None ? each : total, total};
}

}  // namespace

void addLossShapes(ShapeTable& table) {
  table.insert({
      {"binary_cross_entropy", binaryCrossEntropy},
      {"binary_cross_entropy_backward", likeArgument<1>},
      {"binary_cross_entropy_backward.grad_input", likeArgument<1>},
      {"huber_loss", huberLoss},
      {"mse_loss_backward", likeArgument<1>},
      {"mse_loss_backward.grad_input", likeArgument<1>},
      {"nll_loss2d_forward", nllLoss2d},
      {"nll_loss2d_forward.output", nllLoss2d},
      {"nll_loss2d_backward", contiguousLikeArgument<1>},
      {"nll_loss2d_backward.grad_input", contiguousLikeArgument<1>},
  });
}

}  // namespace highwater::simmps
