#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace highwater::simmps {

/// Parses a duration such as "20" (microseconds), "20us" or "0.5 ms", in nanoseconds. Returns
/// nullopt if it is malformed, negative or over 1e18 ns.
std::optional<std::uint64_t> parseDurationNs(std::string_view text);
/// Splits a list of op names such as "kthvalue, aten::mode.values", and adds "aten::" to names
/// without a namespace. Returns nullopt if an element is not spelled like an op's name.
std::optional<std::vector<std::string>> parseOpNames(std::string_view text);

/// Error text for an invalid setting: VARIABLE: "VALUE" is not allowed; give ALLOWED.
std::string refusal(std::string_view variable, std::string_view value, std::string_view allowed);

}  // namespace highwater::simmps
