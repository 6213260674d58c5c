#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/result.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

/// Compresses and decompresses batches of frames. For the sources of store/ only.
namespace highwater::store {

/// Deleter of zstd's contexts for std::unique_ptr.
struct FreeZstd {
  void operator()(ZSTD_CCtx_s* context) const;
  void operator()(ZSTD_DCtx_s* context) const;
};

/// Compresses batches of frames with zstd at level 1. The result holds the size of the content and
/// a checksum.
class BatchPacker {
 public:
  BatchPacker();
  /// Compresses `frames`. The returned bytes are valid until the next call. Fails with kFailed if
  /// zstd fails.
  [[nodiscard]] Result<std::span<const std::uint8_t>> pack(std::span<const std::uint8_t> frames);

 private:
  std::unique_ptr<ZSTD_CCtx_s, FreeZstd> context_;
  std::vector<std::uint8_t> packed_;
};

/// Decompresses batches of frames, which may be damaged or hostile.
class BatchUnpacker {
 public:
  BatchUnpacker();
  /// Decompresses `packed`, whose content should have `rawBytes` bytes. The returned bytes are
  /// valid until the next call. Fails with kMalformed if `rawBytes` is above kMaxBatchBytes, or if
  /// the packed bytes state another size or are damaged.
  [[nodiscard]] Result<std::span<const std::uint8_t>> unpack(std::span<const std::uint8_t> packed,
                                                             std::int64_t rawBytes);

 private:
  std::unique_ptr<ZSTD_DCtx_s, FreeZstd> context_;
  std::vector<std::uint8_t> raw_;
};

}  // namespace highwater::store
