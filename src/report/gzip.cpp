#include "report/gzip.h"

#include <zlib.h>

#include <array>
#include <utility>

namespace highwater::report {
namespace {

constexpr int kWindowBits = 15 + 16;  ///< the largest window, and gzip's head rather than zlib's
constexpr int kMemory = 8;            ///< zlib's own choice
constexpr std::size_t kOutBytes = std::size_t{1} << 16;

}  // namespace

struct Gzip::Stream {
  z_stream zlib{};
  int state = Z_OK;
  std::array<unsigned char, kOutBytes> out{};
};

Gzip::Gzip(Write write) : write_(std::move(write)), stream_(std::make_unique<Stream>()) {
  // A trace is text that repeats itself: the fastest level takes a twelfth of its size.
  stream_->state = deflateInit2(&stream_->zlib, Z_BEST_SPEED, Z_DEFLATED, kWindowBits, kMemory,
                                Z_DEFAULT_STRATEGY);
}

Gzip::~Gzip() {
  deflateEnd(&stream_->zlib);
}

std::string Gzip::textOf(std::string_view head) {
  z_stream zlib{};
  if (inflateInit2(&zlib, kWindowBits) != Z_OK) return {};
  std::string text(kOutBytes, '\0');
  zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(head.data()));
  zlib.avail_in = static_cast<uInt>(head.size());
  zlib.next_out = reinterpret_cast<Bytef*>(text.data());
  zlib.avail_out = static_cast<uInt>(text.size());
  // The head ends in the middle: an error of no matter.
  (void)inflate(&zlib, Z_SYNC_FLUSH);
  text.resize(text.size() - zlib.avail_out);
  inflateEnd(&zlib);
  return text;
}

void Gzip::write(std::string_view piece) {
  deflate(piece, Z_NO_FLUSH);
}

Result<void> Gzip::finish() {
  deflate({}, Z_FINISH);
  if (stream_->state == Z_STREAM_END) return {};
  return failure("zlib could not compress the trace (error " + std::to_string(stream_->state) +
                 ")");
}

void Gzip::deflate(std::string_view piece, int flush) {
  Stream& stream = *stream_;
  if (stream.state != Z_OK) return;
  // zlib does not change what it reads; its interface is older than const.
  stream.zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
  stream.zlib.avail_in = static_cast<uInt>(piece.size());
  do {
    stream.zlib.next_out = stream.out.data();
    stream.zlib.avail_out = static_cast<uInt>(stream.out.size());
    stream.state = ::deflate(&stream.zlib, flush);
    const std::size_t made = stream.out.size() - stream.zlib.avail_out;
    write_({reinterpret_cast<const char*>(stream.out.data()), made});
  } while (stream.state == Z_OK && stream.zlib.avail_out == 0);
  // Nothing was left to do.
  if (stream.state == Z_BUF_ERROR) stream.state = Z_OK;
}

}  // namespace highwater::report
