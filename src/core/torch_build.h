#pragma once

#include <span>
#include <string>
#include <string_view>

/// What a libtorch says about itself. These functions only read texts and link no libtorch.
namespace highwater {

/// Finds the value of `key` ("TORCH_VERSION", "BLAS_INFO") in `config`, the text of
/// at::show_config(). Empty if the text does not have the key.
[[nodiscard]] std::string buildSetting(std::string_view config, std::string_view key);

/// The text that blasName() begins with if Debian's reference BLAS is loaded, a slow
/// implementation: its matrix products take some eleven times as long as OpenBLAS's.
inline constexpr std::string_view kReferenceBlas = "reference BLAS";

/// Names the BLAS library that libtorch computes with on the CPU. `libraries` are the resolved
/// paths of the loaded libraries, `config` is the text of at::show_config(). If one of `libraries`
/// is a BLAS, names it and its path: "OpenBLAS (/usr/lib/libopenblas.so.0)". Otherwise names the
/// one in `config`: "MKL (inside libtorch)". Empty if neither tells.
[[nodiscard]] std::string blasName(std::span<const std::string> libraries, std::string_view config);

/// True if the version of a libtorch is a build of the release MAJOR.MINOR.PATCH: 2.13.0+cpu and
/// the nightly 2.13.0a0+git1234 are builds of 2.13.0.
[[nodiscard]] bool isBuildOf(std::string_view version, std::string_view release);

/// Why a worker that was built for the release `builtFor` cannot run with the PyTorch `running` of
/// the file `library` (may be empty), and what to do on a Mac or elsewhere.
[[nodiscard]] std::string otherTorchText(std::string_view builtFor, std::string_view running,
                                         std::string_view library, bool isMac);

}  // namespace highwater
