#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace highwater::simmps {

/// A finite decimal number and what follows it.
struct Number {
  double value = 0;
  std::string_view rest;
};
/// The longest number that `text` begins with, with a point in every locale; its sign may be a
/// minus. nullopt where it begins with none, or with one that no double holds.
std::optional<Number> parseNumber(const char* text);

/// "1048576", "1024KiB", "1.5 GiB"; nullopt for what is none, is negative or over 1e18.
std::optional<std::uint64_t> parseBytes(const char* text);
/// "20" (microseconds), "20us", "0.5 ms", in ns; nullopt for what is none or negative.
std::optional<std::uint64_t> parseDurationNs(const char* text);
/// A whole decimal number without sign.
std::optional<std::uint64_t> parseCount(std::string_view text);
/// "kthvalue, aten::mode.values" with the namespace added where there is none; nullopt where an
/// element is no op's name.
std::optional<std::vector<std::string>> parseOpNames(std::string_view text);

/// VARIABLE: "value" is not allowed; give ALLOWED.
std::string refusal(std::string_view variable, std::string_view value, std::string_view allowed);

/// The one of `names` that takes the fewest changed letters.
std::string_view nearestName(std::string_view name, const std::vector<std::string_view>& names);

}  // namespace highwater::simmps
