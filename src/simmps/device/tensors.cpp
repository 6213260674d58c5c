#include "simmps/device/tensors.h"

#include <ATen/EmptyTensor.h>

#include <cstring>

#include "simmps/device/allocator.h"
#include "simmps/device/device.h"

namespace highwater::simmps {
namespace {

at::Tensor onStorage(c10::Storage storage, const at::Tensor& like) {
  auto out = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), like.dtype());
  auto* impl = out.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  // Needed by type promotion: 2 * int8 tensor stays int8.
  if (like.unsafeGetTensorImpl()->is_wrapped_number()) impl->set_wrapped_number(true);
  if (like.is_conj()) out._set_conj(true);
  if (like.is_neg()) out._set_neg(true);
  return out;
}

}  // namespace

void checkDtype(at::ScalarType dtype) {
  TORCH_CHECK_TYPE(dtype != at::kDouble && dtype != at::kComplexDouble,
                   "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't "
                   "support float64. Please use float32 instead.");
}

at::Tensor makeOnDevice(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType dtype) {
  checkDtype(dtype);
  return at::detail::empty_strided_generic(sizes, strides, deviceAllocator(),
                                           c10::DispatchKeySet(c10::DispatchKey::MPS), dtype);
}

at::Tensor cpuAlias(const at::Tensor& tensor) {
  TORCH_CHECK(tensor.is_mps(), "Expected a tensor on mps:0, but got one on ", tensor.device());
  auto* storage = tensor.storage().unsafeGetStorageImpl();
  c10::Storage borrowed(c10::Storage::use_byte_size_t(), storage->nbytes(),
                        c10::DataPtr(storage->mutable_data(), c10::Device(c10::DeviceType::CPU)),
                        /*allocator=*/nullptr, /*resizable=*/false);
  return onStorage(std::move(borrowed), tensor);
}

at::Tensor jobOwned(const at::Tensor& cpuTensor) {
  return onStorage(cpuTensor.storage(), cpuTensor);
}

at::Tensor viewLike(const at::Tensor& base, const at::Tensor& onCpu) {
  auto view = at::detail::make_tensor<c10::TensorImpl>(
      c10::TensorImpl::VIEW, c10::Storage(base.storage()),
      base.key_set() -
          c10::DispatchKeySet({c10::DispatchKey::Conjugate, c10::DispatchKey::Negative}),
      onCpu.dtype());
  view.unsafeGetTensorImpl()->set_sizes_and_strides(onCpu.sizes(), onCpu.strides(),
                                                    onCpu.storage_offset());
  if (onCpu.is_conj()) view._set_conj(true);
  if (onCpu.is_neg()) view._set_neg(true);
  return view;
}

at::Tensor metaOf(const at::Tensor& tensor) {
  auto out = at::detail::empty_strided_meta(tensor.sizes(), tensor.strides(), tensor.scalar_type());
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
    out.unsafeGetTensorImpl()->set_wrapped_number(true);
  }
  return out;
}

bool isKnownToPython(const at::Tensor& tensor) {
  const auto hasObject = [](const auto& slot) {
    if constexpr (requires { slot.load_pyobj(); }) {
      return slot.load_pyobj() != nullptr;
    } else {
      return slot._unchecked_untagged_pyobj() != nullptr;
    }
  };
  return hasObject(*tensor.unsafeGetTensorImpl()->pyobj_slot());
}

const at::Tensor& resizeOnDevice(const at::Tensor& tensor, at::IntArrayRef sizes,
                                 std::optional<at::MemoryFormat> format) {
  auto* impl = tensor.unsafeGetTensorImpl();
  if (tensor.sizes() != sizes) {
    impl->set_sizes_contiguous(sizes);
    if (format && *format != at::MemoryFormat::Preserve) impl->empty_tensor_restride(*format);
  }
  const std::size_t needed = at::detail::computeStorageNbytes(
      tensor.sizes(), tensor.strides(), tensor.dtype().itemsize(), tensor.storage_offset());
  auto* storage = tensor.storage().unsafeGetStorageImpl();
  if (needed <= storage->nbytes()) return tensor;
  auto grown = deviceAllocator()->allocate(needed);
  if (storage->nbytes() > 0) {
    void* to = grown.get();
    const void* from = storage->mutable_data();
    const std::size_t bytes = storage->nbytes();
    submitJob("resize_", [=] { std::memcpy(to, from, bytes); });
  }
  storage->set_data_ptr_noswap(std::move(grown));
  storage->set_nbytes(needed);
  return tensor;
}

}  // namespace highwater::simmps
