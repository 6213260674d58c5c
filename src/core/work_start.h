#pragma once

#include <string_view>

#include "core/messages.h"

namespace highwater {

/// The name of a WorkStart for programs, as in JSON: "eager", "deferred" or "unknown".
[[nodiscard]] constexpr std::string_view workStartKey(WorkStart start) {
  switch (start) {
    case WorkStart::kEager:
      return "eager";
    case WorkStart::kDeferred:
      return "deferred";
    case WorkStart::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace highwater
