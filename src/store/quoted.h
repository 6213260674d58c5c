#pragma once

#include <filesystem>
#include <string>

namespace highwater::store {

/// A path in double quotes, as error messages name it.
[[nodiscard]] inline std::string quoted(const std::filesystem::path& path) {
  return '"' + path.string() + '"';
}

}  // namespace highwater::store
