#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/paired.h"

namespace highwater::bench {

/// One line of a bench's table.
struct Finding {
  std::string name;     ///< snake_case, for the JSON: "enqueue_over_execution"
  std::string setting;  ///< "small, 1 thread"
  std::string unit;     ///< "×", "ms"
  Estimate estimate;
  std::optional<double> goal;  ///< the most that is allowed; nothing where it is only reported
};

/// What a bench found, and where.
struct Findings {
  std::string bench;
  std::string command;
  std::string peer;  ///< what ran beside it
  std::vector<Finding> rows;
};

[[nodiscard]] std::string asTable(const Findings& findings);
/// With the machine's processor, cores and load; `schema` 1.
[[nodiscard]] std::string asJson(const Findings& findings);

/// Prints the table and writes the JSON. False, with a line on stderr, where that cannot be
/// written.
[[nodiscard]] bool publish(const Findings& findings, const std::string& jsonFile);

}  // namespace highwater::bench
