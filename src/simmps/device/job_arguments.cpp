#include "simmps/device/job_arguments.h"

#include <algorithm>
#include <optional>

#include "simmps/device/allocator.h"
#include "simmps/device/tensors.h"

namespace highwater::simmps {
namespace {

bool isWrappedNumber(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->is_wrapped_number();
}

}  // namespace

at::Tensor forJob(const at::Tensor& tensor) {
  if (tensor.is_mps()) return cpuAlias(tensor);
  if (isWrappedNumber(tensor)) return tensor;
  return tensor.dim() == 0 ? scalarForJob(tensor) : tensor.clone();
}

at::Tensor forMeta(const at::Tensor& tensor) {
  return isWrappedNumber(tensor) ? tensor : metaOf(tensor);
}

void mapTensors(c10::IValue& value, const std::function<at::Tensor(const at::Tensor&)>& map) {
  const auto mapped = [&map](const at::Tensor& tensor) {
    return tensor.defined() ? map(tensor) : tensor;
  };
  if (value.isTensor()) {
    value = mapped(value.toTensor());
  } else if (value.isTensorList()) {
    c10::List<at::Tensor> out;
    for (const at::Tensor& tensor : value.toTensorVector()) out.push_back(mapped(tensor));
    value = out;
  } else if (value.isList()) {
    const auto elements = value.toListRef();
    const bool hasTensors = std::any_of(elements.begin(), elements.end(),
                                        [](const c10::IValue& each) { return each.isTensor(); });
    if (!hasTensors) return;
    c10::List<std::optional<at::Tensor>> out;
    for (const c10::IValue& each : elements) {
      if (each.isNone()) {
        out.push_back(std::nullopt);
      } else {
        out.push_back(mapped(each.toTensor()));
      }
    }
    value = out;
  }
}

Stack mapped(Stack arguments, MapTensor map) {
  for (c10::IValue& value : arguments) mapTensors(value, map);
  return arguments;
}

}  // namespace highwater::simmps
