#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/result.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace highwater::cli {

/// The names of the commands of `app`.
[[nodiscard]] std::vector<std::string> commandNames(const CLI::App& app);

/// The message for a word that is neither a file nor one of the commands, with those that resemble
/// it.
[[nodiscard]] std::string unknownCommandText(const std::string& word,
                                             std::span<const std::string> commands);

/// Makes `app` and its commands refuse a value given to a flag, as in "--force=false".
void refuseValuesOfFlags(CLI::App& app);

/// Refuses input that CLI11 accepts but is surely a mistake: an option that needs a value and got
/// an empty one, which would count as absent, and an option before the command, which the command
/// would not see. Call after parsing. Fails with kUsage; the message names the option.
[[nodiscard]] Result<void> checkPlausible(const CLI::App& app);

/// The message for a command line that CLI11 refused, and what to do. Replaces CLI11's own message
/// for options that are given twice, lack a value, or are misspelled, and for misspelled commands.
[[nodiscard]] std::string problemText(const CLI::App& app, const CLI::ParseError& wrong);

}  // namespace highwater::cli
