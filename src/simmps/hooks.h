#pragma once

namespace highwater::simmps {

/// True where a backend has registered MPS hooks (a Mac's libtorch, or this library twice).
bool mpsHooksExist();

/// Registers the device's hooks under PyTorch's key. False where something asked for MPS hooks
/// before: PyTorch keeps its first answer ("no MPS") for ever. Until there is a device, and where
/// none can be made, the hooks say that there is no MPS.
bool registerHooks();

/// Registers the device guard for mps.
void registerGuard();

}  // namespace highwater::simmps
