#include "core/option_table.h"

#include <limits>
#include <locale>
#include <sstream>
#include <type_traits>

#include "core/knobs.h"
#include "core/names.h"
#include "core/option_values.h"

namespace highwater {
namespace {

std::string digitsOf(double value) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text.precision(12);
  text << value;
  return text.str();
}

template <typename Number>
Result<Number> readNumber(const OptionText& option, const std::string& text) {
  if constexpr (std::is_floating_point_v<Number>) {
    return parseReal(option.name, text, option.least, option.most);
  } else {
    const bool isOpen = option.most == 0;
    return parseWhole(
        option.name, text, static_cast<Number>(option.least),
        isOpen ? std::numeric_limits<Number>::max() : static_cast<Number>(option.most));
  }
}

/// The number of a type that may be optional.
template <typename T>
struct NumberOf {
  using Type = T;
};
template <typename T>
struct NumberOf<std::optional<T>> {
  using Type = T;
};

std::string written(bool value) {
  return value ? "true" : "";
}
std::string written(const std::string& value) {
  return value;
}
std::string written(std::uint32_t value) {
  return value == 0 ? "" : std::to_string(value);
}
std::string written(double value) {
  return value == 0 ? "" : digitsOf(value);
}
std::string written(const std::optional<std::uint64_t>& value) {
  return value ? std::to_string(*value) : "";
}
std::string written(const std::optional<double>& value) {
  return value ? digitsOf(*value) : "";
}
std::string written(const std::optional<events::ProbeLevel>& value) {
  return value ? std::string(probeLevelKey(*value)) : "";
}
std::string written(Precision value) {
  return value == Precision::kUnknown ? "" : std::string(precisionName(value));
}
std::string written(OutOfMemoryPolicy value) {
  return value == OutOfMemoryPolicy::kUnknown ? "" : std::string(policyName(value));
}

}  // namespace

Result<void> readValue(const OptionText& option, const std::string& text, OptionValue value) {
  if (!option.words.empty()) {
    if (auto known = checkChoice(option.name, text, option.words); !known) return known;
  }
  const auto read = [&](auto* target) -> Result<void> {
    using T = std::remove_reference_t<decltype(*target)>;
    if constexpr (std::is_same_v<T, bool>) {
      *target = true;
    } else if constexpr (std::is_same_v<T, std::string>) {
      *target = text;
    } else if constexpr (std::is_same_v<T, Precision>) {
      *target = precisionFromName(text);
    } else if constexpr (std::is_same_v<T, OutOfMemoryPolicy>) {
      *target = policyFromName(text);
    } else if constexpr (std::is_same_v<T, std::optional<events::ProbeLevel>>) {
      *target = probeLevelFromKey(text);
    } else {
      const auto number = readNumber<typename NumberOf<T>::Type>(option, text);
      if (!number) return number.error();
      *target = *number;
    }
    return {};
  };
  return std::visit(read, value);
}

std::string writtenValue(OptionValue value) {
  return std::visit([](const auto* of) { return written(*of); }, value);
}

std::string optionHelp(const OptionText& option) {
  if (option.most == 0) return option.help;
  return std::string(option.help) + ", " + digitsOf(option.least) + " to " + digitsOf(option.most);
}

}  // namespace highwater
