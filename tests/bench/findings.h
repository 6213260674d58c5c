#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/paired.h"

namespace highwater::bench {

/// One row of a bench's table.
struct Finding {
  std::string name;     ///< snake_case, for the JSON: "enqueue_over_execution"
  std::string setting;  ///< "small, 1 thread"
  std::string unit;     ///< "×", "ms"
  Estimate estimate;
  std::optional<double> goal;  ///< upper limit; none if the value is only reported
  bool exact = false;          ///< the value has no interval: see exact()
};

/// A row with one value, such as a count or a maximum: it has no interval.
[[nodiscard]] Finding exact(std::string name, std::string setting, std::string unit, double value,
                            std::optional<double> goal = {});
/// A row with the quantile `share` (0 to 1; 1 is the largest) of some values. Precondition: not
/// empty.
[[nodiscard]] Finding quantile(std::string name, std::string setting, std::string unit,
                               std::vector<double> values, double share,
                               std::optional<double> goal = {});

/// The results of a bench, and where they were measured.
struct Findings {
  std::string bench;
  std::string command;
  std::string peer;  ///< what it is compared with
  std::vector<Finding> rows;
};

[[nodiscard]] std::string asTable(const Findings& findings);
/// With the machine's processor, cores and load; `schema` 1.
[[nodiscard]] std::string asJson(const Findings& findings);

/// Prints the table and writes the JSON. False, with a message on stderr, if the JSON cannot be
/// written.
[[nodiscard]] bool publish(const Findings& findings, const std::string& jsonFile);

}  // namespace highwater::bench
