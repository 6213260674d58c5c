#include "cli/help_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "report/text_wrap.h"

namespace highwater::cli {
namespace {

using report::hangingText;
using report::widthOf;

constexpr std::size_t kWidth = 80, kIndent = 2;
/// The widest column of names; a longer name pushes its description to the right.
constexpr std::size_t kWidestName = 22, kWidestDeviceName = 28;

using Rows = std::vector<std::pair<std::string, std::string>>;

bool isForHelpAll(const std::string& group) {
  return group == kSimulatedGroup || group == kMpsGroup || group == kKnobsGroup;
}

std::string nameOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return option.get_name(false, true) + (type.empty() ? "" : ' ' + type);
}

std::string describe(const CLI::Option& option) {
  const std::string& text = option.get_description();
  const std::string value = option.get_default_str();
  return value.empty() ? text : text + " (default " + value + ')';
}

std::string rowsText(const Rows& rows, std::size_t widest = kWidestName) {
  std::size_t column = 0;
  for (const auto& [name, meaning] : rows) {
    if (widthOf(name) <= widest) column = std::max(column, widthOf(name));
  }
  std::string text;
  for (const auto& [name, meaning] : rows) {
    const std::size_t padding = column - std::min(column, widthOf(name)) + 2;
    text += hangingText(std::string(kIndent, ' ') + name + std::string(padding, ' '), meaning,
                        kIndent + std::max(column, widthOf(name)) + 2, kWidth);
  }
  return text;
}

Rows optionsOf(const CLI::App& app, const std::string& group) {
  Rows rows;
  for (const CLI::Option* each : app.get_options()) {
    // Whoever reads this has found --help.
    if (each == app.get_help_ptr() || each->get_positional() || each->get_group() != group) {
      continue;
    }
    rows.emplace_back(nameOf(*each), describe(*each));
  }
  return rows;
}

std::string groupText(const CLI::App& app, const std::string& group, const std::string& title) {
  const Rows rows = optionsOf(app, group);
  return rows.empty()
             ? std::string()
             : title + rowsText(rows, isForHelpAll(group) ? kWidestDeviceName : kWidestName);
}

std::string commandsText(const CLI::App& app) {
  Rows rows;
  for (const CLI::App* each : app.get_subcommands({})) {
    rows.emplace_back(each->get_name(), each->get_description());
  }
  return rows.empty()
             ? std::string()
             : "\nCommands (highwater COMMAND --help lists the options of one):\n" + rowsText(rows);
}

std::string usageText(const CLI::App& app, const std::string& name) {
  std::string usage = "Usage: " + name + " [OPTIONS]";
  for (const CLI::Option* each : app.get_options()) {
    if (!each->get_positional()) continue;
    const std::string positional = each->get_name(true);
    const bool command = each->get_items_expected_max() > 1;
    const std::string words = command ? "-- " + positional + "..." : positional;
    usage += each->get_required() ? ' ' + words : " [" + words + ']';
  }
  return usage;
}

}  // namespace

std::string HelpText::make_help(const CLI::App* app, std::string name,
                                CLI::AppFormatMode mode) const {
  std::string text = app->get_description() + '\n' + usageText(*app, name) + '\n';
  text += commandsText(*app);
  // CLI11's own group, whose name depends on its version.
  const CLI::Option* help = app->get_help_ptr();
  const std::string plain = help == nullptr ? "Options" : help->get_group();
  for (const std::string& group : app->get_groups()) {
    // A group without a name is of options that only programs give.
    if (group.empty() || isForHelpAll(group) || group == kElsewhereGroup) continue;
    text += groupText(*app, group, group == plain ? "\n" : '\n' + group + ":\n");
  }
  for (const std::string& group : app->get_groups()) {
    const bool isShown = mode == CLI::AppFormatMode::All && isForHelpAll(group);
    if (isShown) text += groupText(*app, group, '\n' + group + ":\n");
  }
  if (!app->get_footer().empty()) text += '\n' + hangingText("", app->get_footer(), 0, kWidth);
  return text;
}

}  // namespace highwater::cli
