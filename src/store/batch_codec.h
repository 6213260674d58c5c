#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/result.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

/// Batches of frames to compressed bytes and back. For the sources of store/ only.
namespace highwater::store {

struct FreeZstd {
  void operator()(ZSTD_CCtx_s* context) const;
  void operator()(ZSTD_DCtx_s* context) const;
};

/// zstd level 1 with content size and checksum: the fastest that still packs events well.
class BatchPacker {
 public:
  BatchPacker();
  /// Valid until the next call.
  [[nodiscard]] Result<std::span<const std::uint8_t>> pack(std::span<const std::uint8_t> frames);

 private:
  std::unique_ptr<ZSTD_CCtx_s, FreeZstd> context_;
  std::vector<std::uint8_t> packed_;
};

class BatchUnpacker {
 public:
  BatchUnpacker();
  /// Allocates only what both `rawBytes` and the packed bytes claim, kMaxBatchBytes at most;
  /// kMalformed where they disagree or the bytes are damaged. Valid until the next call.
  [[nodiscard]] Result<std::span<const std::uint8_t>> unpack(std::span<const std::uint8_t> packed,
                                                             std::int64_t rawBytes);

 private:
  std::unique_ptr<ZSTD_DCtx_s, FreeZstd> context_;
  std::vector<std::uint8_t> raw_;
};

/// The size of the frame that `bytes` begin with, prefix included, or 0 where they begin with none:
/// the prefix is out of limits or says more than there is.
[[nodiscard]] std::size_t frameSize(std::span<const std::uint8_t> bytes);

}  // namespace highwater::store
