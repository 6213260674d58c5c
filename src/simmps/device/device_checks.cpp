#include "simmps/device/device_checks.h"

#include <ATen/ATen.h>
#include <ATen/core/op_registration/adaption.h>

#include <string>

namespace highwater::simmps {
namespace {

/// Throws PyTorch's error for an argument on the wrong device.
[[noreturn]] void refuseDevice(const c10::OperatorHandle& op, const OpTraits& traits,
                               const at::Tensor& tensor, const std::string& argument) {
  const bool isIndexed = traits.indexesByMasks && argument == op.schema().arguments()[0].name();
  TORCH_CHECK(!isIndexed,
              "indices should be either on cpu or on the same device as the indexed tensor (",
              tensor.device().type(), ")");
  TORCH_CHECK(!traits.isPointwise,
              "Expected all tensors to be on the same device, but found at least two devices, "
              "mps:0 and ",
              tensor.device(), "!");
  c10::impl::common_device_check_failure(c10::Device(c10::DeviceType::MPS, 0), tensor,
                                         op.schema().name().c_str(), argument.c_str());
  TORCH_INTERNAL_ASSERT(false);
}

}  // namespace

void checkDevices(const c10::OperatorHandle& op, const OpTraits& traits, const Stack& values) {
  const auto& arguments = op.schema().arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (static_cast<int>(i) == traits.hostArgument) continue;
    const auto* alias = arguments[i].alias_info();
    const bool isWritten = alias && alias->isWrite();
    const bool isIndexed = traits.indexesByMasks && i == 0;
    forEachTensor(values[i], [&](const at::Tensor& tensor) {
      if (tensor.is_mps()) return;
      const bool isNumber = tensor.is_cpu() && tensor.dim() == 0;
      if (isWritten || isIndexed || !isNumber) {
        refuseDevice(op, traits, tensor, arguments[i].name());
      }
    });
  }
}

}  // namespace highwater::simmps
