#pragma once

#include <cstdint>
#include <string_view>

/// A workload that the user brings: a TorchScript file that --workload names.
namespace highwater {

/// The name of the workload that Highwater brings.
inline constexpr char kBuiltInWorkload[] = "issue-classifier";

/// Whether the value of --workload names a TorchScript file: it ends in ".pt" or ".pth".
[[nodiscard]] constexpr bool isModelFile(std::string_view workload) {
  return workload.ends_with(".pt") || workload.ends_with(".pth");
}

/// The longest sequence length that the description of a TorchScript file may allow.
inline constexpr std::uint32_t kLongestModelLength = 8192;

}  // namespace highwater
