#include "cli/command_line_checks.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "core/option_values.h"

namespace highwater::cli {
namespace {

const CLI::App& commandOf(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : *parsed.front();
}

bool takesValue(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}
/// False where the value may be left out: CLI11 then reports an empty one.
bool needsValue(const CLI::Option& option) {
  return option.get_items_expected_min() > 0;
}

/// What to give for an option: "N: Steps to train".
std::string valueHelp(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return (type.empty() ? option.get_name() : type) + ": " + option.get_description();
}

bool isRepeated(const CLI::Option& option) {
  return option.get_items_expected_max() == 1 && option.count() > 1 &&
         option.get_multi_option_policy() == CLI::MultiOptionPolicy::Throw;
}

std::string repeatedText(const CLI::Option& option) {
  std::string values;
  for (const std::string& each : option.results()) {
    values += (values.empty() ? "" : " and ") + ("\"" + each + "\"");
  }
  return option.get_name() + " is given " + std::to_string(option.count()) + " times, with " +
         values + "; give it once";
}

/// The option that a message of CLI11 begins with; nullptr: none.
const CLI::Option* namedFirst(const CLI::App& app, const std::string& message) {
  return app.get_option_no_throw(message.substr(0, message.find(':')));
}

std::vector<std::string> namesOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* each : app.get_options()) {
    for (const std::string& name : each->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// "; did you mean --steps?" for the first unknown word that resembles an option; empty: none does.
std::string suggestion(const CLI::App& command) {
  for (const std::string& word : command.remaining()) {
    if (!word.starts_with("--")) continue;
    const auto near = nearestWords(word.substr(0, word.find('=')), namesOf(command));
    if (!near.empty()) return "; did you mean " + alternatives(near) + "?";
  }
  return {};
}

/// The word that was given in place of a command, where more follows it and it is no file: CLI11
/// takes it for the recording to open. Empty: there is none.
std::string misspelledCommand(const CLI::App& app) {
  const CLI::Option* file = app.get_option_no_throw("FILE");
  if (file == nullptr || file->count() == 0 || app.remaining().empty()) return {};
  const std::string& word = file->results().front();
  std::error_code ignored;
  return std::filesystem::exists(word, ignored) ? std::string() : word;
}

}  // namespace

std::vector<std::string> commandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* each : app.get_subcommands({})) names.push_back(each->get_name());
  return names;
}

std::string unknownCommandText(const std::string& word, std::span<const std::string> commands) {
  const auto near = nearestWords(word, commands);
  return "there is neither a recording nor a command \"" + word + "\"" +
         (near.empty() ? "" : "; did you mean " + alternatives(near) + "?") +
         "; 'highwater --help' lists commands and options";
}

void refuseValuesOfFlags(CLI::App& app) {
  for (CLI::Option* each : app.get_options()) {
    if (!takesValue(*each)) each->disable_flag_override();
  }
  for (CLI::App* each : app.get_subcommands({})) refuseValuesOfFlags(*each);
}

Result<void> checkPlausible(const CLI::App& app) {
  const CLI::App& command = commandOf(app);
  for (const CLI::Option* each : command.get_options()) {
    const auto& values = each->results();
    if (!needsValue(*each) || std::find(values.begin(), values.end(), "") == values.end()) continue;
    return refusedValue(each->get_name(), "", valueHelp(*each));
  }
  if (&command == &app) return {};
  for (const CLI::Option* each : app.get_options()) {
    if (each->count() == 0) continue;
    return usageError(each->get_name() + " stands before " + command.get_name() +
                      ", which does not see it there; give the command first");
  }
  return {};
}

std::string problemText(const CLI::App& app, const CLI::ParseError& wrong) {
  const CLI::App& command = commandOf(app);
  for (const CLI::Option* each : command.get_options()) {
    if (isRepeated(*each)) return repeatedText(*each);
  }
  if (&command == &app && dynamic_cast<const CLI::ExtrasError*>(&wrong) != nullptr) {
    if (const auto word = misspelledCommand(app); !word.empty()) {
      return unknownCommandText(word, commandNames(app));
    }
  }
  const std::string message = wrong.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&wrong) != nullptr) {
    const CLI::Option* option = namedFirst(command, message);
    if (option != nullptr && takesValue(*option) && option->count() == 0) {
      return option->get_name() + " has no value; give " + valueHelp(*option);
    }
    if (message.find("flag override") != std::string::npos) {
      return "--" + message.substr(0, message.find(' ')) +
             " takes no value; give it alone, or leave it out";
    }
  }
  const std::string listed =
      &command == &app ? "'highwater --help' lists commands and options"
                       : "'highwater " + command.get_name() + " --help' lists its options";
  const bool lacks = dynamic_cast<const CLI::RequiredError*>(&wrong) != nullptr;
  // CLI11 looks for what is missing first, but an unknown option is what was typed wrong.
  if (lacks || dynamic_cast<const CLI::ExtrasError*>(&wrong) != nullptr) {
    const std::vector<std::string> words = command.remaining();
    const auto unknown = std::find_if(words.begin(), words.end(), [](const std::string& word) {
      return word.size() > 1 && word.front() == '-' && word != "--";
    });
    if (unknown != words.end()) {
      return "unknown option " + *unknown + suggestion(command) + "; " + listed;
    }
  }
  if (lacks && message.starts_with("COMMAND")) {
    return "there is no program to run; give it after --, as in highwater run -- python3 train.py";
  }
  return message + suggestion(command) + "; " + listed;
}

}  // namespace highwater::cli
