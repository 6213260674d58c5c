#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "core/messages.h"
#include "core/result.h"

/// Options as tables: a command line, its help and its checks, and the arguments of another program
/// are loops over the rows.
namespace highwater {

/// What an option is called, and which values it takes.
struct OptionText {
  const char* name;  ///< "--batch"
  const char* unit;  ///< of the value, for the help; empty: a flag
  const char* help;
  double least = 0, most = 0;                    ///< of a number; 0 and 0: any of its type
  std::span<const std::string_view> words = {};  ///< of a text; empty: any
  bool isRare = false;                           ///< few change it: apart in the help

  constexpr OptionText(const char* called, const char* of, const char* means, double from = 0,
                       double to = 0)
      : name(called), unit(of), help(means), least(from), most(to) {}
  constexpr OptionText(const char* called, const char* of, const char* means,
                       std::span<const std::string_view> choices)
      : name(called), unit(of), help(means), words(choices) {}
};

/// An option that few change.
template <typename... T>
[[nodiscard]] constexpr OptionText rareOption(const T&... parts) {
  OptionText text(parts...);
  text.isRare = true;
  return text;
}

/// The types that options may have. A value that is empty, 0 or unknown is one that was not given.
template <typename... T>
struct OptionTypes {
  using Value = std::variant<T*...>;
  template <typename Options>
  using Member = std::variant<T Options::*...>;
};
using AllOptionTypes = OptionTypes<bool, std::string, std::uint32_t, double,
                                   std::optional<std::uint64_t>, std::optional<double>,
                                   std::optional<events::ProbeLevel>, Precision, OutOfMemoryPolicy>;
using OptionValue = AllOptionTypes::Value;

/// An option, and the member of `Options` that has its value.
template <typename Options>
struct OptionRow {
  OptionText text;
  AllOptionTypes::Member<Options> member;

  [[nodiscard]] OptionValue in(Options& options) const {
    return std::visit([&](auto of) -> OptionValue { return &(options.*of); }, member);
  }
};

/// Reads the value of an option. Fails with kUsage; the message names the option and what it
/// allows.
[[nodiscard]] Result<void> readValue(const OptionText& option, const std::string& text,
                                     OptionValue value);
/// Writes a value so that readValue() reads it; empty: not given.
[[nodiscard]] std::string writtenValue(OptionValue value);
/// The help of an option, with its bounds: "Batch size, 1 to 4096".
[[nodiscard]] std::string optionHelp(const OptionText& option);

/// The values of options as given, by the options' names; empty: not given.
using OptionTexts = std::map<std::string, std::string, std::less<>>;

/// Whether an option was given.
[[nodiscard]] inline bool isGiven(const OptionTexts& texts, std::string_view name) {
  const auto found = texts.find(name);
  return found != texts.end() && !found->second.empty();
}

/// Adds an option to a CLI::App, whose parsing fills `texts`. The help tells its value in
/// `defaults`.
template <typename App, typename Row, typename Options>
void addOption(App& app, const Row& row, Options& defaults, OptionTexts& texts) {
  const OptionText& option = row.text;
  std::string& text = texts[option.name];
  if (*option.unit == '\0') {
    app.add_flag(option.name, text, option.help);
    return;
  }
  auto* added = app.add_option(option.name, text, optionHelp(option))->type_name(option.unit);
  added->default_str(writtenValue(row.in(defaults)));
}

/// Reads what was given into `options`. Fails as readValue().
template <typename Rows, typename Options>
[[nodiscard]] Result<void> readOptions(const Rows& rows, const OptionTexts& texts,
                                       Options& options) {
  for (const auto& row : rows) {
    if (!isGiven(texts, row.text.name)) continue;
    auto read = readValue(row.text, texts.find(row.text.name)->second, row.in(options));
    if (!read) return read;
  }
  return {};
}

}  // namespace highwater
