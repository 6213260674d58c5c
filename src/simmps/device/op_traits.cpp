#include "simmps/device/op_traits.h"

#include <ATen/ATen.h>

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "simmps/device/registrations.h"

namespace highwater::simmps {
namespace {

// The result's size depends on values, so the host waits; on real MPS these end in .item() too.
const std::set<std::string_view> kSizedByValues = {
    "aten::nonzero",  "aten::masked_select", "aten::_unique",
    "aten::_unique2", "aten::unique_dim",    "aten::unique_consecutive",
    "aten::bincount", "aten::equal",         "aten::unique_dim_consecutive",
};

const std::set<std::string_view> kIndexesByMasks = {
    "aten::index",
    "aten::index_put_",
    "aten::_index_put_impl_",
};

// The second argument (indices or lengths) may be on the host.
const std::set<std::string_view> kTakesHostTensors = {
    "aten::index",
    "aten::index_put_",
    "aten::_index_put_impl_",
    "aten::_pack_padded_sequence",
};

// Results are boolean for inputs of any type.
const std::set<std::string_view> kGivesBooleans = {
    "aten::eq",          "aten::ne",          "aten::lt",          "aten::le",
    "aten::gt",          "aten::ge",          "aten::logical_and", "aten::logical_or",
    "aten::logical_xor", "aten::logical_not", "aten::isposinf",    "aten::isneginf",
    "aten::signbit",
};

/// The Meta kernel that would run. An interpreted one costs a hundred times an enqueue.
MetaKernel metaKernelOf(const c10::OperatorHandle& op) {
  if (!op.hasKernelForDispatchKey(c10::DispatchKey::Meta)) return MetaKernel::None;
  const std::string state = op.dumpState();
  constexpr std::string_view kKey = "\nMeta: registered at ";
  const auto start = state.find(kKey);
  if (start == std::string::npos) return MetaKernel::None;
  const std::string place =
      state.substr(start + kKey.size(), state.find('\n', start + 1) - start - kKey.size());
  return place.find(".py:") == std::string::npos ? MetaKernel::Compiled : MetaKernel::Interpreted;
}

void readArguments(const c10::FunctionSchema& schema, OpTraits& traits) {
  const auto& arguments = schema.arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string type = arguments[i].real_type()->str();
    if (type == "Device" || type == "Device?") traits.deviceArgument = static_cast<int>(i);
    if (type.find("Generator") != std::string::npos) traits.generatorArgument = static_cast<int>(i);
    if (arguments[i].is_out()) traits.hasOut = true;
  }
}

void readResults(const c10::FunctionSchema& schema, OpTraits& traits) {
  for (const auto& result : schema.returns()) {
    const auto* alias = result.alias_info();
    if (alias && !alias->isWrite()) traits.returnsView = true;
    if (alias) continue;
    traits.hasFreshResults = true;
    if (result.type()->kind() != c10::TypeKind::TensorType) traits.returnsOtherThanTensors = true;
  }
}

OpTraits readTraits(const c10::OperatorHandle& op) {
  const auto& schema = op.schema();
  const std::string_view name = schema.name();
  OpTraits traits;
  readArguments(schema, traits);
  readResults(schema, traits);
  traits.sizedByValues = kSizedByValues.count(name) > 0;
  traits.indexesByMasks = kIndexesByMasks.count(name) > 0;
  traits.givesBooleans = kGivesBooleans.count(name) > 0;
  traits.hostArgument = kTakesHostTensors.count(name) > 0 ? 1 : -1;
  traits.lacksMpsKernel = lacksMpsKernel(op);
  traits.isPointwise = op.hasTag(at::Tag::pointwise) || name == "aten::masked_fill_";
  traits.shapes = shapeFunctionOf(op.operator_name());
  traits.metaKernel = metaKernelOf(op);
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
