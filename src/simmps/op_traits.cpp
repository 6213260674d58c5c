#include "simmps/op_traits.h"

#include <ATen/ATen.h>

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "simmps/registrations.h"

namespace highwater::simmps {
namespace {

// Their result's size depends on values, so the host waits: on real MPS they end in .item() too.
const std::set<std::string_view> kSizedByValues = {
    "aten::nonzero",  "aten::masked_select",     "aten::_unique",
    "aten::_unique2", "aten::unique_dim",        "aten::unique_consecutive",
    "aten::bincount", "aten::repeat_interleave", "aten::unique_dim_consecutive",
    "aten::equal",
};

const std::set<std::string_view> kTakesHostTensors = {
    "aten::index",
    "aten::index_put_",
    "aten::_index_put_impl_",
    "aten::_pack_padded_sequence",
};

OpTraits readTraits(const c10::OperatorHandle& op) {
  const auto& schema = op.schema();
  const std::string_view name = schema.name();
  OpTraits traits;
  const auto& arguments = schema.arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string type = arguments[i].real_type()->str();
    if (type == "Device" || type == "Device?") traits.deviceArgument = static_cast<int>(i);
    if (type.find("Generator") != std::string::npos) traits.generatorArgument = static_cast<int>(i);
    if (arguments[i].is_out()) traits.hasOut = true;
    const auto* alias = arguments[i].alias_info();
    if (alias && alias->isWrite()) traits.writesArguments = true;
  }
  traits.onlyReturnsArguments = true;
  traits.onlyReturnsTensors = !schema.returns().empty();
  for (const auto& result : schema.returns()) {
    const auto* alias = result.alias_info();
    if (alias && !alias->isWrite()) traits.returnsView = true;
    if (!alias) traits.onlyReturnsArguments = false;
    if (result.type()->kind() != c10::TypeKind::TensorType) traits.onlyReturnsTensors = false;
  }
  traits.sizedByValues = kSizedByValues.count(name) > 0;
  traits.needsDrainedQueue = traits.sizedByValues ||
                             (traits.writesArguments && !traits.onlyReturnsArguments) ||
                             (!traits.writesArguments && !traits.onlyReturnsTensors);
  traits.takesHostTensors = kTakesHostTensors.count(name) > 0;
  traits.lacksMpsKernel = lacksMpsKernel(op);
  traits.hasMetaKernel = op.hasKernelForDispatchKey(c10::DispatchKey::Meta);
  return traits;
}

}  // namespace

const OpTraits& traitsOf(const c10::OperatorHandle& op) {
  static thread_local std::unordered_map<const void*, OpTraits> known;
  const void* key = &op.schema();
  auto found = known.find(key);
  if (found == known.end()) found = known.emplace(key, readTraits(op)).first;
  return found->second;
}

}  // namespace highwater::simmps
