#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"

namespace highwater::cli {

/// A tar archive (POSIX ustar) in memory.
class TarFile {
 public:
  /// `seconds`: the time of the files, since 1970.
  explicit TarFile(std::uint64_t seconds) : seconds_(seconds) {}

  /// Adds a file that its owner may write and all may read. `name` may have folders. Fails with
  /// kFailed for a name of 100 bytes or more, for which the format has no room.
  [[nodiscard]] Result<void> add(std::string_view name, std::string_view bytes);
  /// The whole archive. Call it once.
  [[nodiscard]] std::string finish();

 private:
  std::uint64_t seconds_;
  std::string bytes_;
};

}  // namespace highwater::cli
