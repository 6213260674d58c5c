#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <torch/library.h>

#include <string>
#include <vector>

namespace highwater::simmps {

/// Registers the kernels that create, view and resize tensors. `library` is for (aten, MPS).
void registerViewKernels(torch::Library& library);
/// Registers the kernels that copy tensors or read one value, as item() does. `library` is for
/// (aten, MPS).
void registerCopyKernels(torch::Library& library);
/// Registers the kernels that are composed of other ops. `library` is for (aten, MPS).
void registerComposedKernels(torch::Library& library);
/// Registers the kernels of convolutions. `library` is for (aten, MPS).
void registerConvolutionKernels(torch::Library& library);
/// Registers the kernel of attention. `library` is for (aten, AutogradMPS). The stock kernel would
/// fail in a DispatchStub that knows no MPS.
void registerAutogradKernels(torch::Library& library);
/// Registers the kernel of the LSTM, composed as on the CPU. Call it for the libraries of (aten,
/// MPS) and of (aten, AutogradMPS).
void registerRecurrentKernels(torch::Library& library);
/// Registers the kernels that copy large matrices to the CPU by themselves; none before PyTorch
/// 2.14. `library` is for (aten, MPS).
void registerStagedKernels(torch::Library& library);
/// Registers the ops that fall back to the CPU whatever PYTORCH_ENABLE_MPS_FALLBACK says. `library`
/// is for (aten, MPS).
void registerAlwaysFallingBack(torch::Library& library);

/// Registers runOnDevice() for every op that real MPS has and that would reach it through the key's
/// fallback, so that the dispatcher's table reads as on a Mac. Does not change behaviour. Call
/// last.
void registerKernelsOfTable(torch::Library& library);

/// Makes ops behave as if MPS had no kernel for them (Settings::missingOps): "aten::name" stands
/// for all overloads, "aten::name.overload" for one. Check the names with missingOpsProblem()
/// first.
void registerMissingOps(torch::Library& library, const std::vector<std::string>& names);
/// Checks the names of Settings::missingOps. Returns an error text for the first that is not an
/// aten op of this libtorch, or that is composed of other ops and so has no kernel to lack; else an
/// empty string.
std::string missingOpsProblem(const std::vector<std::string>& names);

/// Boxed fallback of key MPS, the kernel of every op without one of its own: runs the op's CPU
/// kernel as a job on the device; ops that real MPS lacks go to fallBack().
void runOnDevice(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

/// True for ops with a CPU kernel and no MPS kernel, by the table for the libtorch that this was
/// compiled against, if there is one (highwater_simmps_version() names its source); and for ops
/// without a CPU kernel, which this device cannot run.
bool lacksMpsKernel(const c10::OperatorHandle& op);

/// Handles an op without a kernel as real MPS does: at::native::cpu_fallback with
/// PYTORCH_ENABLE_MPS_FALLBACK=1, else throws PyTorch's NotImplementedError.
void fallBack(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace highwater::simmps
