#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace highwater::worker {

/// Returns `json` as text in one line. Bytes that are not UTF-8, which a message of PyTorch may
/// hold, become U+FFFD.
[[nodiscard]] inline std::string jsonLine(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace highwater::worker
