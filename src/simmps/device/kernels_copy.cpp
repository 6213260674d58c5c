#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include "simmps/device/deferred_release.h"
#include "simmps/device/device.h"
#include "simmps/device/registrations.h"
#include "simmps/device/tensors.h"

// Copies, and reads of device memory by the host. Where the host blocks is part of the simulation:
// copies between host and device block unless they are non_blocking, and scalar reads always block.
// A non_blocking copy commits (MPSStream::copy_and_sync), one on the device does not.
namespace highwater::simmps {
namespace {

void copyOnDevice(const at::Tensor& dst, const at::Tensor& src) {
  submitJob("aten::copy_",
            [to = cpuAlias(dst), from = cpuAlias(src)]() mutable { to.copy_(from); });
}

void copyToDevice(const at::Tensor& dst, const at::Tensor& src, bool nonBlocking) {
  if (nonBlocking) {
    // The caller may change or free its tensor at once.
    submitJob("aten::copy_",
              [to = cpuAlias(dst), from = src.clone()]() mutable { to.copy_(from); });
    deviceQueue().commit();
    return;
  }
  submitJob("aten::copy_",
            [to = cpuAlias(dst), from = jobOwned(src)]() mutable { to.copy_(from); });
  drainDevice(DrainCause::CopyToDevice, "aten::copy_");
}

void copyToHost(const at::Tensor& dst, const at::Tensor& src, bool nonBlocking) {
  submitJob("aten::copy_",
            [to = deferRelease(jobOwned(dst)), from = cpuAlias(src)] { to->copy_(from); });
  if (nonBlocking) {
    deviceQueue().commit();
  } else {
    drainDevice(DrainCause::CopyToHost, "aten::copy_");
  }
}

at::Tensor& copy(at::Tensor& dst, const at::Tensor& src, bool nonBlocking) {
  const DeviceCall accounted;
  releaseDeferred();
  if (dst.is_same(src)) return dst;
  const at::DisableRecordFunctionGuard unobserved;
  const at::AutoDispatchBelowADInplaceOrView belowAutograd;
  TORCH_CHECK((dst.is_mps() || dst.is_cpu()) && (src.is_mps() || src.is_cpu()),
              "copy_: the simulated MPS device copies to and from the CPU only");
  const at::Tensor from = src.sizes() == dst.sizes() ? src : src.expand(dst.sizes());
  if (dst.numel() == 0) return dst;
  if (dst.is_mps() && from.is_mps()) {
    copyOnDevice(dst, from);
  } else if (dst.is_mps()) {
    FallbackScope::copiedToDevice(dst.nbytes());
    copyToDevice(dst, from, nonBlocking);
  } else {
    FallbackScope::copiedToCpu(dst.nbytes());
    copyToHost(dst, from, nonBlocking);
  }
  return dst;
}

at::Tensor copyFrom(const at::Tensor& src, const at::Tensor& dst, bool nonBlocking) {
  at::Tensor to = dst;
  copy(to, src, nonBlocking);
  return dst;
}

at::Tensor copyFromAndResize(const at::Tensor& src, const at::Tensor& dst) {
  if (dst.sizes() != src.sizes()) dst.resize_(src.sizes());
  return copyFrom(src, dst, /*nonBlocking=*/false);
}

at::Scalar localScalarDense(const at::Tensor& self) {
  const DeviceCall accounted;
  releaseDeferred();
  drainDevice(DrainCause::ScalarRead, "aten::_local_scalar_dense");
  const at::DisableRecordFunctionGuard unobserved;
  return at::_local_scalar_dense(cpuAlias(self));
}

}  // namespace

void registerCopyKernels(torch::Library& library) {
  library.impl("copy_", &copy);
  library.impl("_copy_from", &copyFrom);
  library.impl("_copy_from_and_resize", &copyFromAndResize);
  library.impl("_local_scalar_dense", &localScalarDense);
}

}  // namespace highwater::simmps
