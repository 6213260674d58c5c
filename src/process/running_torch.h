#pragma once

#include <string>

#include "core/result.h"

/// The libtorch that is loaded in this process, which need not be the one the worker was built for.
namespace highwater::process {

/// Returns the version of the loaded libtorch as it reports it, for example "2.13.0".
[[nodiscard]] std::string torchVersion();

/// Checks that the loaded libtorch is the release that the worker was built for: libtorch's C++
/// interface changes with every release. Returns kVersionMismatch, naming both versions, where it
/// is not.
[[nodiscard]] Result<void> checkTorchVersion();

/// Returns the name of the BLAS library (linear algebra) that the loaded libtorch uses for its CPU
/// kernels, see blasName().
[[nodiscard]] std::string torchBlas();

}  // namespace highwater::process
