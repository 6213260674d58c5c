#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/result.h"
#include "report/trace_events.h"

namespace highwater::report {

/// Compresses what it is given into one gzip member (RFC 1952), piece by piece.
class Gzip {
 public:
  explicit Gzip(Write write);
  ~Gzip();
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  /// The text that the first bytes of a compressed file stand for, as far as they tell; empty
  /// where they are of no such file.
  [[nodiscard]] static std::string textOf(std::string_view head);

  void write(std::string_view piece);
  /// Writes what is left and the end. Call it once. Fails with kFailed if zlib could not get the
  /// memory that it needs; what was written is then no whole member.
  [[nodiscard]] Result<void> finish();

 private:
  struct Stream;
  void deflate(std::string_view piece, int flush);

  Write write_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace highwater::report
