#pragma once

#include <string_view>

namespace highwater {

/// The file name of a path with slashes or backslashes: "train.cpp" of "/home/me/train.cpp".
[[nodiscard]] constexpr std::string_view fileNameOf(std::string_view path) {
  const std::size_t separator = path.find_last_of("/\\");
  return separator == std::string_view::npos ? path : path.substr(separator + 1);
}

}  // namespace highwater
