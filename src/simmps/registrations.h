#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <torch/library.h>

#include <string>
#include <vector>

namespace highwater::simmps {

/// Each registers its kernels with a library made for (aten, MPS), unless it says otherwise.
void registerViewKernels(torch::Library& library);
void registerCopyKernels(torch::Library& library);
void registerComposedKernels(torch::Library& library);
void registerConvolutionKernels(torch::Library& library);
/// Attention at AutogradMPS: the stock kernel would enter a DispatchStub without an mps entry.
void registerAutogradKernels(torch::Library& library);
/// The LSTM, composed as the CPU's; at MPS and at AutogradMPS.
void registerRecurrentKernels(torch::Library& library);
/// What falls back to the CPU whatever the environment says.
void registerAlwaysFallingBack(torch::Library& library);

/// Says in the dispatcher's table which ops have an MPS kernel, as a Mac's table does: every op that
/// would come to runOnDevice() through the fallback of the key, and that real MPS has, gets it as its
/// kernel. After all the others. What an op does is the same with it and without.
void registerKernelsOfTable(torch::Library& library);

/// Takes the kernels of ops away: "aten::name" with all overloads, or "aten::name.overload".
void registerMissingOps(torch::Library& library, const std::vector<std::string>& names);
/// Empty, or which of the names is no op that can lack a kernel, and what is allowed.
std::string missingOpsProblem(const std::vector<std::string>& names);

/// Kernel of every op without one of its own (boxed fallback of key MPS): the op's CPU kernel as a
/// job on the device; an op that real MPS lacks goes to fallBack().
void runOnDevice(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

/// True for ops that have a CPU kernel and no MPS kernel: by the table of the libtorch that we are
/// compiled against, where there is one (highwater_simmps_version() says whose it is).
bool lacksMpsKernel(const c10::OperatorHandle& op);

/// As real MPS for an op without a kernel: at::native::cpu_fallback where
/// PYTORCH_ENABLE_MPS_FALLBACK=1, else throws PyTorch's NotImplementedError.
void fallBack(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace highwater::simmps
