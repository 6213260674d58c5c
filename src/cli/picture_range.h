#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "core/result.h"

namespace highwater::cli {

/// Parses a time since the start of the run and returns it in ns: "0:41.5" or "1:02:24.127" as the
/// ruler writes it, "41.5", "41.5 s" or "850 ms". Fails with kUsage; the message begins with
/// `option`.
[[nodiscard]] Result<std::int64_t> parseRunTime(const std::string& option, const std::string& text);

/// Parses "120-139", or "120" for a single step: the first step and the last. Fails with kUsage;
/// the message begins with `option`.
[[nodiscard]] Result<std::pair<std::uint32_t, std::uint32_t>> parseStepRange(
    const std::string& option, const std::string& text);

}  // namespace highwater::cli
