#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/view_native.h>

#include <vector>

#include "simmps/device/allocator.h"
#include "simmps/device/registrations.h"
#include "simmps/device/tensors.h"

// New tensors and views: host work only, no jobs.
namespace highwater::simmps {
namespace {

at::ScalarType dtypeOr(std::optional<at::ScalarType> dtype) {
  const auto chosen = dtype.value_or(c10::get_default_dtype_as_scalartype());
  checkDtype(chosen);
  return chosen;
}

at::Tensor empty(at::IntArrayRef sizes, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout> layout, std::optional<at::Device>, std::optional<bool>,
                 std::optional<at::MemoryFormat> format) {
  TORCH_CHECK(layout.value_or(at::kStrided) == at::kStrided,
              "only strided tensors are supported on the simulated MPS device");
  return at::detail::empty_generic(
      sizes, deviceAllocator(), c10::DispatchKeySet(c10::DispatchKey::MPS), dtypeOr(dtype), format);
}

at::Tensor emptyStrided(at::IntArrayRef sizes, at::IntArrayRef strides,
                        std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                        std::optional<at::Device>, std::optional<bool>) {
  return makeOnDevice(sizes, strides, dtypeOr(dtype));
}

at::Tensor asStrided(const at::Tensor& self, at::IntArrayRef sizes, at::IntArrayRef strides,
                     std::optional<std::int64_t> offset) {
  auto view = at::detail::make_tensor<c10::TensorImpl>(
      c10::TensorImpl::VIEW, c10::Storage(self.storage()), self.key_set(), self.dtype());
  at::native::setStrided(view, sizes, strides, offset.value_or(self.storage_offset()));
  return view;
}

at::Tensor view(const at::Tensor& self, at::IntArrayRef sizes) {
  return at::native::view(self, sizes);
}

at::Tensor reshapeAlias(const at::Tensor& self, at::IntArrayRef sizes, at::IntArrayRef strides) {
  return at::native::_reshape_alias(self, sizes, strides);
}

at::Tensor unfold(const at::Tensor& self, std::int64_t dimension, std::int64_t size,
                  std::int64_t step) {
  const std::int64_t dim = at::maybe_wrap_dim(dimension, self.dim(), /*wrap_scalar=*/true);
  std::vector<std::int64_t> sizes = self.sizes().vec();
  std::vector<std::int64_t> strides = self.strides().vec();
  const std::int64_t length = self.dim() == 0 ? 1 : sizes[dim];
  TORCH_CHECK(size >= 0 && size <= length, "maximum size for tensor at dimension ", dim, " is ",
              length, " but size is ", size);
  TORCH_CHECK(step > 0, "step is ", step, " but must be > 0");
  sizes.push_back(size);
  strides.push_back(self.dim() == 0 ? 1 : strides[dim]);
  if (self.dim() > 0) {
    sizes[dim] = (length - size) / step + 1;
    strides[dim] *= step;
  }
  return asStrided(self, sizes, strides, std::nullopt);
}

at::Tensor& setStorage(at::Tensor& result, at::Storage storage, std::int64_t offset,
                       at::IntArrayRef sizes, at::IntArrayRef strides) {
  // Checks the arguments, the device among others, and sets the storage.
  at::native::checkSetStorage(result, std::move(storage), offset, sizes, strides);
  result.unsafeGetTensorImpl()->set_storage_offset(offset);
  at::native::setStrided(result, sizes, strides, offset);
  return result;
}

at::Tensor& setWholeStorage(at::Tensor& result, at::Storage storage) {
  const auto count = static_cast<std::int64_t>(storage.nbytes() / result.dtype().itemsize());
  return setStorage(result, std::move(storage), 0, {count}, {1});
}

at::Tensor& setTensor(at::Tensor& result, const at::Tensor& source) {
  return setStorage(result, source.storage(), source.storage_offset(), source.sizes(),
                    source.strides());
}

at::Tensor& setNothing(at::Tensor& result) {
  return setStorage(result, at::Storage(at::Storage::use_byte_size_t(), 0, deviceAllocator(), true),
                    0, {0}, {1});
}

}  // namespace

void registerViewKernels(torch::Library& library) {
  library.impl("empty.memory_format", &empty);
  library.impl("empty_strided", &emptyStrided);
  library.impl("as_strided", &asStrided);
  library.impl("view", &view);
  library.impl("_reshape_alias", &reshapeAlias);
  library.impl("unfold", &unfold);
  library.impl("resize_", &resizeOnDevice);
  library.impl("set_.source_Storage_storage_offset", &setStorage);
  library.impl("set_.source_Storage", &setWholeStorage);
  library.impl("set_.source_Tensor", &setTensor);
  library.impl("set_", &setNothing);
}

}  // namespace highwater::simmps
