#include "cli/sim_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/help_text.h"
#include "cli/terminal.h"
#include "core/simulation.h"
#include "core/units.h"

namespace highwater::cli {
namespace {

bool isFlag(const SimKnob& knob) {
  return *knob.metavar == '\0';
}

Result<void> checkDevice(const SimKnob& knob, const std::string& device) {
  const std::string name = knob.option;
  if (knob.scope == SimKnob::Scope::PyTorch) {
    if (device != "cpu") return {};
    return usageError(name + " is for MPS; leave it out for --device cpu");
  }
  if (!kHasSimulation) {
    return usageError(
        name + " is for the simulated device, which this build does not have (macOS never does)");
  }
  if (device == "sim" || device == "auto") return {};
  return usageError(name + " is for the simulated device; leave it out for --device " + device);
}

}  // namespace

void SimOptions::addTo(CLI::App& app) {
  for (std::size_t i = 0; i < kSimKnobs.size(); ++i) {
    const SimKnob& knob = kSimKnobs[i];
    if (*knob.option == '\0') continue;
    Entry& entry = entries_[i];
    const bool simulated = knob.scope == SimKnob::Scope::Simulated;
    const std::string help = std::string(knob.help) + " (default " + knob.defaultValue + ")";
    if (isFlag(knob)) {
      entry.text = "1";
      entry.option = app.add_flag(knob.option, help)->disable_flag_override();
    } else {
      entry.option = app.add_option(knob.option, entry.text, help)->type_name(knob.metavar);
    }
    entry.option->group(simulated ? kSimulatedGroup : kMpsGroup);
  }
}

Result<QStringList> SimOptions::environment(const std::string& device) const {
  QStringList variables;
  for (std::size_t i = 0; i < kSimKnobs.size(); ++i) {
    const SimKnob& knob = kSimKnobs[i];
    const Entry& entry = entries_[i];
    if (!entry.option || entry.option->count() == 0) continue;
    if (auto fits = checkDevice(knob, device); !fits) return fits.error();
    // The device treats an empty variable as unset.
    if (entry.text.empty()) {
      return usageError(std::string(knob.option) + " is \"\"; give " + knob.metavar + ": " +
                        knob.help);
    }
    variables << QString::fromUtf8(knob.variable) + u'=' + QString::fromStdString(entry.text);
  }
  return variables;
}

void warnOfLiftedLimit(const std::string& device, const QStringList& environment) {
  if (device == "cpu") return;
  const QString prefix = QString::fromUtf8(kMpsHighWatermarkVariable) + u'=';
  std::string name = std::string(kMpsHighWatermarkVariable) + '=';
  QString value = qEnvironmentVariable(kMpsHighWatermarkVariable);
  for (const QString& entry : environment) {
    if (!entry.startsWith(prefix)) continue;
    name = "--high-watermark ";
    value = entry.mid(prefix.size());
  }
  const auto ratio = parseNumber(value.toStdString());
  if (!ratio || !ratio->rest.empty() || ratio->value != 0) return;
  printError(name + value.toStdString() +
             " lifts the memory limit: the training may take all memory of the machine and bring "
             "the system down");
}

}  // namespace highwater::cli
