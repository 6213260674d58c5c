#pragma once

namespace highwater::simmps {

/// True if MPS hooks are registered: by a Mac's libtorch, or by a second copy of this library.
bool mpsHooksExist();

/// Registers the device's MPS hooks. Returns false if the process has asked for MPS before: PyTorch
/// keeps its first answer ("no MPS") for ever. While there is no device, the hooks report no MPS.
bool registerHooks();

/// Registers PyTorch's device guard for mps, through which libtorch switches devices and streams
/// and records events.
void registerGuard();

}  // namespace highwater::simmps
