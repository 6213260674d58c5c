#include "store/batch_codec.h"

#include <zstd.h>

#include <string>

#include "store/format.h"

namespace highwater::store {
namespace {

Error damaged(std::string why) {
  return {ErrorCode::kMalformed, std::move(why)};
}

}  // namespace

void FreeZstd::operator()(ZSTD_CCtx_s* context) const {
  ZSTD_freeCCtx(context);
}
void FreeZstd::operator()(ZSTD_DCtx_s* context) const {
  ZSTD_freeDCtx(context);
}

BatchPacker::BatchPacker() : context_(ZSTD_createCCtx()) {
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, 1);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_contentSizeFlag, 1);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
}

Result<std::span<const std::uint8_t>> BatchPacker::pack(std::span<const std::uint8_t> frames) {
  packed_.resize(ZSTD_compressBound(frames.size()));
  const std::size_t size =
      ZSTD_compress2(context_.get(), packed_.data(), packed_.size(), frames.data(), frames.size());
  if (ZSTD_isError(size)) return failure(std::string("zstd: ") + ZSTD_getErrorName(size));
  return std::span<const std::uint8_t>(packed_.data(), size);
}

BatchUnpacker::BatchUnpacker() : context_(ZSTD_createDCtx()) {}

Result<std::span<const std::uint8_t>> BatchUnpacker::unpack(std::span<const std::uint8_t> packed,
                                                            std::int64_t rawBytes) {
  if (rawBytes < 0 || rawBytes > static_cast<std::int64_t>(kMaxBatchBytes)) {
    return damaged("a batch of " + std::to_string(rawBytes) + " bytes is over the limit");
  }
  const auto size = static_cast<std::size_t>(rawBytes);
  // Also refuses ZSTD_CONTENTSIZE_UNKNOWN and _ERROR, which are larger than any batch.
  if (ZSTD_getFrameContentSize(packed.data(), packed.size()) != size) {
    return damaged("a batch is not of the size that its row says");
  }
  raw_.resize(size);
  const std::size_t got =
      ZSTD_decompressDCtx(context_.get(), raw_.data(), raw_.size(), packed.data(), packed.size());
  if (ZSTD_isError(got)) return damaged(std::string("zstd: ") + ZSTD_getErrorName(got));
  if (got != size) return damaged("a batch is shorter than its row says");
  return std::span<const std::uint8_t>(raw_);
}

}  // namespace highwater::store
