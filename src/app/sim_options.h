#pragma once

#include <QStringList>
#include <array>
#include <string>

#include "core/result.h"
#include "core/sim_knobs.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace highwater::app {

/// The options of core/sim_knobs.h on a command line. What their values may be only the device
/// knows: it refuses a wrong one by its variable when the worker starts (see namedAsGiven()).
class SimOptions {
 public:
  SimOptions() = default;
  SimOptions(const SimOptions&) = delete;
  SimOptions& operator=(const SimOptions&) = delete;

  /// Binds the options to this object, which must outlive the parsing.
  void addTo(CLI::App& app);

  /// NAME=VALUE for the worker. kUsage where an option has no value, or is none of the device asked
  /// for (auto, mps, sim or cpu), which would ignore it.
  [[nodiscard]] Result<QStringList> environment(const std::string& device) const;

 private:
  struct Entry {
    CLI::Option* option = nullptr;
    std::string text;
  };
  std::array<Entry, kSimKnobs.size()> entries_;
};

/// A worker's complaint with the options that the user gave in the place of the variables that they
/// set. `environment` is what SimOptions::environment() gave.
[[nodiscard]] std::string namedAsGiven(std::string message, const QStringList& environment);

}  // namespace highwater::app
