#pragma once

#include <ATen/ATen.h>
#include <ATen/detail/MPSHooksInterface.h>

#include "simmps/check.h"

/// What the checks share beside check.h, which knows no torch.
namespace checks {

inline const at::Device kMps(at::kMPS, 0);
inline constexpr std::int64_t kMiB = 1024 * 1024;

inline const at::MPSHooksInterface& hooks() {
  return at::detail::getMPSHooks();
}

}  // namespace checks
