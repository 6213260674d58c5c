#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace highwater::cli {

/// The group of the options that only --help-all shows.
inline constexpr char kSimulatedGroup[] = "Simulated device";
/// The same, of those that PyTorch defines.
inline constexpr char kMpsGroup[] = "MPS, real or simulated";
/// The same, of the settings of a training that few change.
inline constexpr char kKnobsGroup[] = "More knobs";
/// The group of the options of a run where another command's help describes them.
inline constexpr char kElsewhereGroup[] = "Described elsewhere";

/// Writes the help of a command in lines of 80 columns: an option a line where its description is
/// short. `--help` leaves out the groups above; `--help-all` (CLI11's mode "all") shows the first
/// three, too.
class HelpText final : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
};

}  // namespace highwater::cli
