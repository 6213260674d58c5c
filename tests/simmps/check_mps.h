#pragma once

#include <ATen/ATen.h>
#include <ATen/detail/MPSHooksInterface.h>
#include <torch/version.h>

#include "core/torch_version.h"
#if HIGHWATER_TORCH_AT_LEAST(2, 9)
#include <c10/core/CachingDeviceAllocator.h>
#endif

#include "simmps/check.h"

/// Shared by the checks that use torch.
namespace checks {

inline const at::Device kMps(at::kMPS, 0);
inline constexpr std::int64_t kMiB = 1024 * 1024;

inline const at::MPSHooksInterface& hooks() {
  return at::detail::getMPSHooks();
}

inline at::Tensor bytesOnDevice(std::int64_t bytes) {
  return at::empty({bytes}, at::TensorOptions().device(kMps).dtype(at::kByte));
}

}  // namespace checks
