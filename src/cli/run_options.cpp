#include "cli/run_options.h"

#include <CLI/CLI.hpp>

#include "cli/help_text.h"
#include "core/knobs.h"
#include "core/scenarios.h"

namespace highwater::cli {
namespace {

Result<void> readSchedule(const RunTexts& texts, session::LaunchOptions& options) {
  std::set<std::pair<std::uint32_t, events::MarkerKind>> named;
  for (const std::string& text : texts.set) {
    auto knobs = parseKnobChange(text);
    if (!knobs) return knobs.error();
    if (options.steps != 0 && knobs->atStep > options.steps) {
      return usageError("--set " + text + " names step " + std::to_string(knobs->atStep) +
                        ", but the run ends with step " + std::to_string(options.steps));
    }
    for (const Knob& knob : allKnobs()) {
      if (knob.requested(*knobs) && !named.emplace(knobs->atStep, knob.kind).second) {
        return usageError("--set " + text + " changes the same knob at the same step again");
      }
    }
    options.scheduledKnobs.push_back(*knobs);
  }
  return {};
}

/// Adds the option of a row.
void addRow(CLI::App& app, const OptionRow<RunOptions>& row, RunTexts& texts, const char* group) {
  addOption(app, row, texts.defaults, texts.options);
  CLI::Option* added = app.get_option(row.text.name);
  if (row.text.name == std::string_view("--scenario")) {
    added->description(row.text.help + (": " + scenarioNames()));
  }
  if (group != nullptr) {
    added->group(group);
  } else if (row.text.isRare) {
    added->group(kKnobsGroup);
  }
}

}  // namespace

void addRunOptions(CLI::App& app, RunTexts& texts, const OptionNames& without, const char* group) {
  for (const auto& row : runOptionRows()) {
    if (!without.contains(row.text.name)) addRow(app, row, texts, group);
  }
  texts.sim.addTo(app);
}

void addSomeRunOptions(CLI::App& app, RunTexts& texts, const OptionNames& names,
                       const char* group) {
  for (const auto& row : runOptionRows()) {
    if (names.contains(row.text.name)) addRow(app, row, texts, group);
  }
}

Result<session::LaunchOptions> readRunOptions(const RunTexts& texts) {
  session::LaunchOptions options;
  static_cast<RunOptions&>(options) = texts.defaults;
  if (auto read = readOptions(runOptionRows(), texts.options, options); !read) return read.error();
  auto environment = texts.sim.environment(options.device);
  if (!environment) return environment.error();
  options.environment = *environment;
  if (!options.scenario.empty()) {
    const auto scenario = findScenario(options.scenario);
    if (!scenario) return scenario.error();
    // A command that plans steps shows progress. The worker reads the rest of a scenario.
    if (options.steps > 0 && !isGiven(texts.options, "--steps")) {
      options.steps = (*scenario)->steps;
    }
  }
  if (auto read = readSchedule(texts, options); !read) return read.error();
  if (options.onAbort == "restart") options.afterAbort = session::AfterAbort::kRestart;
  if (options.onAbort == "stop") options.afterAbort = session::AfterAbort::kStop;
  return options;
}

}  // namespace highwater::cli
