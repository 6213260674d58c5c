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

namespace highwater::cli {

/// Command-line options that control the simulated device, one for each entry of kSimKnobs. Their
/// values are checked by the device when the worker starts; session::withOptionNames() then
/// replaces its variables' names by the options'.
class SimOptions {
 public:
  SimOptions() = default;
  SimOptions(const SimOptions&) = delete;
  SimOptions& operator=(const SimOptions&) = delete;

  /// Adds the options to `app`; parsing fills this object, which must not be moved.
  void addTo(CLI::App& app);

  /// Converts the options to environment variables for the worker, as NAME=VALUE. Fails with kUsage
  /// where an option has an empty value, or where
  /// `device` (auto, mps, sim or cpu) would ignore it.
  [[nodiscard]] Result<QStringList> environment(const std::string& device) const;

 private:
  struct Entry {
    CLI::Option* option = nullptr;
    std::string text;
  };
  std::array<Entry, kSimKnobs.size()> entries_;
};

/// Warns on stderr before a run on `device` (auto, mps, sim or cpu) where `environment`,
/// NAME=VALUE, or else this process's environment lifts the memory limit of MPS. Not for `cpu`,
/// which has none; what `auto` selects, only the worker knows.
void warnOfLiftedLimit(const std::string& device, const QStringList& environment);

}  // namespace highwater::cli
