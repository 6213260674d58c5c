#include "simmps/device/op_graphs.h"

#include <ATen/ATen.h>
#include <c10/util/hash.h>

#include <functional>

#include "simmps/device/allocator.h"
#include "simmps/policy/graph_cache.h"

namespace highwater::simmps {
namespace {

GraphCache& graphs() {
  static auto* const cache = new GraphCache(deviceMemory(), deviceSettings().graphCacheBytes);
  return *cache;
}

void mix(std::size_t& key, std::size_t with) {
  key = c10::hash_combine(key, with);
}

void mixTensor(std::size_t& key, const at::Tensor& tensor) {
  if (!tensor.defined()) return mix(key, 0);
  mix(key, static_cast<std::size_t>(tensor.scalar_type()) + 1);
  mix(key, static_cast<std::size_t>(tensor.dim()));
  for (const std::int64_t size : tensor.sizes()) mix(key, static_cast<std::size_t>(size));
}

void mixValue(std::size_t& key, const c10::IValue& value) {
  if (value.isTensor()) {
    mixTensor(key, value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& each : value.toListRef()) {
      if (each.isTensor()) mixTensor(key, each.toTensor());
    }
  }
}

thread_local int tSingleGraphScopes = 0;

}  // namespace

SingleGraphScope::SingleGraphScope(std::string_view op,
                                   std::initializer_list<at::Tensor> arguments) {
  useGraph(op, arguments);
  ++tSingleGraphScopes;
}

SingleGraphScope::~SingleGraphScope() {
  --tSingleGraphScopes;
}

bool SingleGraphScope::isActive() {
  return tSingleGraphScopes > 0;
}

void chargeGraph(std::string_view op, const torch::jit::Stack& arguments) {
  std::size_t key = std::hash<std::string_view>{}(op);
  for (const c10::IValue& value : arguments) mixValue(key, value);
  if (const auto refused = graphs().use(key)) throwOutOfMemory(*refused);
}

void clearGraphs() {
  graphs().clear();
}

}  // namespace highwater::simmps
