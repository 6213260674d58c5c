#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace highwater {

/// The numbers in PyTorch's message about memory that is used up, in bytes. A number that the
/// message lacks is absent; sizes are rounded as in the message, to two decimals.
struct OutOfMemoryNumbers {
  std::optional<std::uint64_t> requested;   ///< what was asked for
  std::optional<std::uint64_t> allocated;   ///< "MPS allocated"
  std::optional<std::uint64_t> other;       ///< "other allocations", as of MPSGraph
  std::optional<std::uint64_t> maxAllowed;  ///< "max allowed"; absent without a high watermark
};

/// Whether `text` contains the message with which PyTorch's allocator of MPS or CUDA refuses a
/// request. Nothing is lost then but the request. It is not the message of a command buffer that
/// failed on the device, after which the values of its tensors are unknown.
[[nodiscard]] bool isRefusedAllocation(std::string_view text);

/// The size in `text` of the one tensor that MPS refuses because it is larger than Metal's largest
/// buffer, however much memory is free: "Invalid buffer size: 9.75 GB". std::nullopt: it refused
/// none.
[[nodiscard]] std::optional<std::uint64_t> refusedBufferBytes(std::string_view text);

/// What the text of an OutOfMemory marker begins with where an evaluation was refused: the batch of
/// the training fits.
inline constexpr std::string_view kInEvaluation = "in the evaluation: ";

/// Reads the numbers of "MPS backend out of memory (MPS allocated: 1.10 GiB, other allocations:
/// 768.00 KiB, max allowed: 1.13 GiB). Tried to allocate 27.00 MiB on private pool." anywhere in
/// `text`. PyTorch writes the units bytes, KB, MB and GB in some versions and KiB, MiB and GiB in
/// others; all are powers of 1024.
[[nodiscard]] OutOfMemoryNumbers outOfMemoryNumbers(std::string_view text);

}  // namespace highwater
