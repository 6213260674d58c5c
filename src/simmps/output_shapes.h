#pragma once

#include <ATen/ATen.h>
#include <ATen/core/stack.h>

#include <optional>
#include <string_view>
#include <vector>

namespace highwater::simmps {

/// New device tensors for the results of an op without a C++ Meta kernel, so that it can be queued;
/// nullopt where this op has no shape function here. An undefined tensor stands for a result that
/// was not asked for. `op` is the schema's name, without overload.
std::optional<std::vector<at::Tensor>> outputsFor(std::string_view op,
                                                  const torch::jit::Stack& arguments);

}  // namespace highwater::simmps
