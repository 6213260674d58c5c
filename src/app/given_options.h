#pragma once

#include <string>

#include "core/result.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace highwater::app {

/// "--force=false" is refused, in `app` and its commands.
void refuseValuesOfFlags(CLI::App& app);

/// What CLI11 takes and a user cannot mean: an option with an empty value, which would count as not
/// given, and options before the command, which it would not see. kUsage names the option.
[[nodiscard]] Result<void> checkGiven(const CLI::App& app);

/// What was wrong with the command line and what to do, where CLI11's own words say too little:
/// options given twice, without a value, or misspelled.
[[nodiscard]] std::string problemText(const CLI::App& app, const CLI::ParseError& wrong);

}  // namespace highwater::app
